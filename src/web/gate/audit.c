#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "json_values.h"
#include "log.h"
#include "memory.h"
#include "plan_document.h"
#include "server.h"
#include "users.h"

enum { KEY_MAX = 255, WRONG_EVERY_US = 1000000 };

struct audit {
    int fd;
    char *path;
    int64_t wrong, wrong_next_us; // wrong tokens since the last line; time of the next
};

static int open_audit_file (const char *path)
{
    return open (path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

struct audit *audit_open (const char *path, struct reason *reason)
{
    int fd = open_audit_file (path);
    if (fd < 0) {
        reason_set (reason, "audit: %s: %s", quoted (span_text (path)), strerror (errno));
        return NULL;
    }
    struct audit *self = memory_new (sizeof *self);
    self->fd = fd;
    self->path = memory_text (path);
    return self;
}

void audit_close (struct audit **self)
{
    if (!*self)
        return;
    close ((*self)->fd);
    free ((*self)->path);
    free (*self);
    *self = NULL;
}

// Open a new file if the current one was renamed or removed by log rotation. If that fails the old
// one stays in use.
static void reopen_if_rotated (struct audit *self)
{
    struct stat current, at_path;
    bool same = fstat (self->fd, &current) == 0 && stat (self->path, &at_path) == 0 &&
                current.st_ino == at_path.st_ino && current.st_dev == at_path.st_dev;
    int fd = same ? -1 : open_audit_file (self->path);
    if (fd < 0)
        return;
    close (self->fd);
    self->fd = fd;
}

// Append a line, whose reference is taken. False: it was not fully written, which is logged.
static bool audit_append (struct audit *self, json_t *line)
{
    char *text = json_dumps (line, JSON_COMPACT);
    json_decref (line);
    size_t size = strlen (text);
    text[size] = '\n'; // replaces the NUL
    reopen_if_rotated (self);
    bool written = write (self->fd, text, size + 1) == (ssize_t)size + 1;
    free (text);
    if (!written)
        log_event (LEVEL_ERROR, "audit.failed", "reason=%s", quoted (span_text (strerror (errno))));
    return written;
}

// The revision of a plan in its ETag; NULL: there is none.
static json_t *revision_of (const char *etag)
{
    int64_t revision;
    return etag && plan_etag_read (etag, &revision) == 0 ? json_integer (revision) : NULL;
}

bool audit_exchange (struct audit *self, const struct exchange *exchange)
{
    const struct route *route = exchange->routed.route;
    if (!self)
        return true;
    const char *etag = NULL, *repeated = exchange_request_header (exchange, "Idempotency-Key");
    for (size_t i = 0; exchange->status && i < exchange->header_count; i++)
        if (strcmp (exchange->headers[i].name, "ETag") == 0)
            etag = exchange->headers[i].value;
    json_t *line = json_pack (
        "{s:o, s:s, s:s*, s:s*, s:s, s:s, s:s, s:s*, s:s*, s:s*, s:o*, s:o*, s:o*, s:o*}", "at",
        json_instant_ms (clock_wall_us () / 1000), "event", exchange->status ? "answered" : "asked",
        "user", exchange->user, "key", users_key_name (exchange->key), "address", exchange->address,
        "method", route->method, "route", route->path, "name", exchange->routed.args[0], "id",
        exchange->id[0] ? exchange->id : NULL, "step",
        json_string_value (json_object_get (exchange->json, "step")), "revision_before",
        revision_of (exchange_request_header (exchange, "If-Match")), "idempotency_key",
        repeated ? json_stringn (repeated, strnlen (repeated, KEY_MAX)) : NULL, "status",
        exchange->status ? json_integer (exchange->status) : NULL, "revision", revision_of (etag));
    return audit_append (self, line);
}

void audit_wrong_token (struct audit *self, const struct exchange *exchange)
{
    int64_t now_us = clock_mono_us ();
    if (!self)
        return;
    self->wrong++;
    if (now_us < self->wrong_next_us)
        return;
    audit_append (self, json_pack ("{s:o, s:s, s:s, s:s, s:I}", "at",
                                   json_instant_ms (clock_wall_us () / 1000), "event",
                                   "wrong_token", "address", exchange->address, "route",
                                   exchange->routed.route->path, "count", (json_int_t)self->wrong));
    self->wrong = 0;
    self->wrong_next_us = now_us + WRONG_EVERY_US;
}

void audit_each (struct audit *self, const char *user, const char *action, const char *id,
                 const char *outcome)
{
    if (self)
        audit_append (self,
                      json_pack ("{s:o, s:s, s:s, s:s, s:s, s:s}", "at",
                                 json_instant_ms (clock_wall_us () / 1000), "event", "bulk", "user",
                                 user, "action", action, "name", id, "outcome", outcome));
}
