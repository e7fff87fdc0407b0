// A rejection is the status 300, not 400: after 400 a libzmq client never retries with that socket,
// after 300 it retries when the handshake has timed out. So a key that is allowed later works
// without a restart of its client.
#include "allow.h"

#include <czmq.h>
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "context.h"
#include "key_folder.h"
#include "log.h"
#include "memory.h"
#include "packet.h"

enum { LOGGED_A_SECOND = 10, SECOND_US = 1000000, KEY_BYTES = 32 };

// The frames of a ZAP request.
enum { VERSION, REQUEST_ID, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, FRAMES };

struct allow {
    char *folder;
    zhashx_t *names;       // names of the keys that may connect, by the key's text
    uint64_t mark;         // key_folder_mark when the folder was read; 0 = read it again
    int64_t next_check_us; // when the folder may be checked next, monotonic
    struct reason trouble; // reason for the first invalid file, or for the folder; empty = none
    void *socket;          // REP
    int64_t second_us;     // when the current second of the log limit began, monotonic
    int logged;            // messages logged in that second
};

// -- the log: repeated attempts must not fill it

// Count a message of the current second. True: it may be logged.
static bool count_log_line (struct allow *self)
{
    int64_t now_us = clock_mono_us ();
    if (now_us - self->second_us >= SECOND_US) {
        self->second_us = now_us;
        self->logged = 0;
    }
    return self->logged++ < LOGGED_A_SECOND;
}

// -- the folder

static int add_allowed_key (void *owner, const struct curve_cert *cert, struct reason *reason)
{
    (void)reason; // duplicate keys are harmless here
    zhashx_update (owner, cert->keys.public_key, (void *)cert->name);
    return 0;
}

// Read the keys. If the folder cannot be read, no key may connect, and the next check reads it
// again.
static void read_folder (struct allow *self)
{
    struct key_folder_wrong wrong = {0};
    self->mark = key_folder_mark (self->folder); // before it is read
    zhashx_purge (self->names);
    self->trouble = (struct reason){""};
    if (key_folder_read (self->folder, add_allowed_key, self->names, &wrong, &self->trouble))
        self->mark = 0;
    else if (wrong.count)
        self->trouble = wrong.first;
    log_event (LEVEL_INFO, "allow.read", "keys=%zu wrong=%zu", zhashx_size (self->names),
               wrong.count);
}

static void reread_changed_folder (struct allow *self)
{
    int64_t before_us = clock_mono_us ();
    if (before_us < self->next_check_us)
        return;
    if (!self->mark || key_folder_mark (self->folder) != self->mark)
        read_folder (self);
    int64_t now_us = clock_mono_us ();
    self->next_check_us = now_us + key_folder_pause_us (now_us - before_us);
}

// -- ZAP requests

static bool authenticate (struct allow *self, const struct packet *request)
{
    const struct span *frames = request->frames;
    char key[CURVE_KEY_SIZE];
    if (request->fault || request->count != FRAMES || !span_is (frames[VERSION], "1.0") ||
        !span_is (frames[MECHANISM], "CURVE") || frames[KEY].size != KEY_BYTES)
        return false;
    zmq_z85_encode (key, frames[KEY].data, KEY_BYTES);
    reread_changed_folder (self);
    const char *name = zhashx_lookup (self->names, key);
    if (name) {
        log_event (LEVEL_DEBUG, "key.allowed", "socket=%s address=%s name=%s",
                   quoted (frames[DOMAIN]), quoted (frames[ADDRESS]), quoted (span_text (name)));
    } else if (count_log_line (self)) {
        log_event (LEVEL_WARN, "key.refused", "socket=%s address=%s key=%s",
                   quoted (frames[DOMAIN]), quoted (frames[ADDRESS]), quoted (span_text (key)));
        if (self->trouble.text[0])
            log_event (LEVEL_ERROR, "allow.unsound", "reason=\"%s\"", self->trouble.text);
    }
    return name != NULL;
}

size_t allow_process (struct allow *self, int most)
{
    struct packet request;
    size_t refused = 0;
    for (int i = 0; i < most && packet_recv (&request, self->socket, &packet_of_peers); i++) {
        bool allowed = authenticate (self, &request);
        const struct span answer[] = {
            span_text ("1.0"),
            request.count > REQUEST_ID ? request.frames[REQUEST_ID] : (struct span){0},
            span_text (allowed ? "200" : "300"),
            span_text (allowed ? "OK" : "refused"),
            span_text (""), // user id
            span_text (""), // metadata
        };
        packet_send (self->socket, answer, sizeof answer / sizeof *answer);
        packet_clear (&request);
        refused += !allowed;
    }
    return refused;
}

void *allow_socket (const struct allow *self)
{
    return self->socket;
}

// -- start and end

static void *copy_name (const void *name)
{
    return memory_text (name);
}

static void free_name (void **name)
{
    free (*name);
    *name = NULL;
}

struct allow *allow_new (const char *folder, struct reason *reason)
{
    struct allow *self = memory_new (sizeof *self);
    self->folder = memory_text (folder);
    self->names = zhashx_new ();
    zhashx_set_duplicator (self->names, copy_name);
    zhashx_set_destructor (self->names, free_name);
    read_folder (self);
    if (self->trouble.text[0]) {
        reason_set (reason, "--allow: %s", self->trouble.text);
        allow_destroy (&self);
        return NULL;
    }
    self->socket = wire_socket (ZMQ_REP);
    if (self->socket && zmq_bind (self->socket, "inproc://zeromq.zap.01") == 0)
        return self;
    reason_set (reason, "--curve: no ZAP handler: %s", zmq_strerror (errno));
    allow_destroy (&self);
    return NULL;
}

void allow_destroy (struct allow **allow)
{
    struct allow *self = *allow;
    if (!self)
        return;
    if (self->socket)
        zmq_close (self->socket);
    zhashx_destroy (&self->names);
    free (self->folder);
    free (self);
    *allow = NULL;
}
