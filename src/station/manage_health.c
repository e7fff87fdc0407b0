// health: whether the station does its work, what is wrong, and what an acknowledgement is worth.
// Answered from memory, so that it answers when Redis is away.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "json.h"
#include "log.h"
#include "manage_private.h"
#include "permit.h"
#include "redis_info.h"

enum { RECENT_US = 60000000 }; // a refusal that is older says nothing of now

static void tell (json_t *list, const char *format, ...) __attribute__ ((format (printf, 2, 3)));

static void tell (json_t *list, const char *format, ...)
{
    char text[REASON_MAX];
    va_list args;
    va_start (args, format);
    vsnprintf (text, sizeof text, format, args);
    va_end (args);
    json_t *line = json_string (text);
    json_array_append_new (list, line ? line : json_string ("(not UTF-8)"));
}

static size_t count_connected (const struct station *self)
{
    size_t connected = 0;
    for (size_t i = 0; i < self->target_count; i++)
        connected += target_connection (self->targets[i]) != 0;
    return connected;
}

// What keeps the station from its work.
static json_t *find_problems (const struct station *self)
{
    json_t *list = json_array ();
    const struct link *link = store_link (self->store);
    if (!station_store_up (self))
        tell (list, "%s: plans are refused, and none runs, until it is back",
              link_trouble (link)[0] ? link_trouble (link) : "Redis is not there");
    else if (self->refusing.text[0] && clock_mono_us () - self->refusing_us < RECENT_US)
        tell (list, "the last plan was refused: %s", self->refusing.text);
    if (self->memory_full)
        tell (list, "max_memory: the station uses more than %lld MiB; requests are refused",
              (long long)self->settings->limits.memory_mib);
    return list;
}

// What an operator should know of.
static json_t *find_warnings (const struct station *self, const struct peer *peer)
{
    json_t *list = json_array ();
    const char *fsync = link_fsync (store_link (self->store));
    if (station_store_up (self) && strcmp (fsync, "always") != 0)
        tell (list, "appendfsync is %s: an acknowledged plan is %s", fsync,
              durability_text (fsync));
    for (size_t i = 0; i < self->target_count; i++)
        if (!target_connection (self->targets[i]) &&
            permits_station (self, peer->user, span_text (target_name (self->targets[i]))))
            tell (list, "station %s is not connected", target_name (self->targets[i]));
    if (self->target_count == 0)
        tell (list, "no target stations are known: every plan is refused");
    if (self->counters.lost_data)
        tell (list, "Redis has lost data since this station started");
    if (log_dropped ())
        tell (list, "lines of the log were lost: stderr does not take them");
    if (geteuid () == 0)
        tell (list, "runs as root: give it a user of its own (--user)");
    return list;
}

static json_t *redis_json (const struct station *self)
{
    const struct link *link = store_link (self->store);
    json_t *object = json_object ();
    json_object_set_new (object, "state", json_string (link_state_name (link_state (link))));
    json_object_set_new (object, "trouble", json_from_frame (span_text (link_trouble (link))));
    json_object_set_new (object, "fsync", json_from_frame (span_text (link_fsync (link))));
    json_object_set_new (object, "acknowledged", json_string (durability_text (link_fsync (link))));
    json_object_set_new (object, "replicas", json_integer (self->settings->replicas));
    return object;
}

void manage_health (struct station *self, struct request *request,
                    const struct arguments *arguments)
{
    json_t *object = json_object (), *problems = find_problems (self);
    (void)arguments;
    json_object_set_new (object, "healthy", json_boolean (json_array_size (problems) == 0));
    json_object_set_new (object, "problems", problems);
    json_object_set_new (object, "warnings", find_warnings (self, &request->peer));
    json_object_set_new (object, "redis", redis_json (self));
    json_object_set_new (object, "targets", json_integer ((json_int_t)self->target_count));
    json_object_set_new (object, "connected", json_integer ((json_int_t)count_connected (self)));
    json_object_set_new (object, "attending", json_integer (self->attending));
    json_object_set_new (object, "version", json_string (ZPLAN_VERSION));
    json_object_set_new (object, "uptime_s",
                         json_integer ((clock_mono_us () - self->started_us) / 1000000));
    char *text = json_write (object);
    manage_reply (self, &request->peer, 0, text);
    free (text);
    json_decref (object);
}
