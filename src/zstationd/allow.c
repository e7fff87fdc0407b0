// A refusal is the status 300, not 400: after that one libzmq's client gives up for the life of its
// socket, after 300 it tries again when its handshake's time is over. A key that is allowed later
// then works without a restart of who has it.
#include "allow.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zmq.h>

#include "clock.h"
#include "context.h"
#include "curve.h"
#include "log.h"
#include "memory.h"
#include "packet.h"

enum { TOLD_A_SECOND = 10, SECOND_US = 1000000, KEY_BYTES = 32 };

// The frames of a question.
enum { VERSION, REQUEST_ID, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, FRAMES };

struct allow {
    char *folder;
    void *socket;      // REP
    int64_t second_us; // when the present second of the log began, monotonic
    int told;          // in it
};

// -- the log: who tries again and again must not fill it

static bool may_tell (struct allow *self)
{
    int64_t now_us = clock_mono_us ();
    if (now_us - self->second_us >= SECOND_US) {
        self->second_us = now_us;
        self->told = 0;
    }
    return self->told++ < TOLD_A_SECOND;
}

// -- the folder

static bool is_certificate (const char *folder, const char *name, char path[CURVE_PATH_SIZE])
{
    static const char secret[] = "_secret";
    size_t size = strlen (name), end = sizeof secret - 1;
    struct stat entry;
    if (*name == '.' || (size >= end && strcmp (name + size - end, secret) == 0))
        return false;
    snprintf (path, CURVE_PATH_SIZE, "%s/%s", folder, name);
    return stat (path, &entry) || S_ISREG (entry.st_mode);
}

// Look for the certificate with this key; "" is the key of none. 1: it is there, with its name in
// `ret_name`. 0: it is not. -1 with a reason: nor is it known, since this one cannot be read.
static int find (const char *folder, const char *key, char ret_name[CURVE_NAME_SIZE],
                 struct reason *reason)
{
    char path[CURVE_PATH_SIZE];
    DIR *entries = opendir (folder);
    if (!entries) {
        reason_set (reason, "%s: %s", folder, strerror (errno));
        return -1;
    }
    int found = 0;
    for (struct dirent *entry; found != 1 && (entry = readdir (entries));) {
        struct curve_cert cert;
        if (!is_certificate (folder, entry->d_name, path))
            continue;
        if (curve_cert_load (path, CURVE_PUBLIC, &cert, reason)) {
            found = -1;
        } else if (strcmp (cert.keys.public_key, key) == 0) {
            memcpy (ret_name, cert.name, sizeof cert.name);
            found = 1;
        }
    }
    closedir (entries);
    return found;
}

// -- questions

static bool judge (struct allow *self, const struct packet *question)
{
    const struct span *frames = question->frames;
    char key[CURVE_KEY_SIZE], name[CURVE_NAME_SIZE];
    struct reason reason;
    if (question->fault || question->count != FRAMES || !span_is (frames[VERSION], "1.0") ||
        !span_is (frames[MECHANISM], "CURVE") || frames[KEY].size != KEY_BYTES)
        return false;
    zmq_z85_encode (key, frames[KEY].data, KEY_BYTES);
    int found = find (self->folder, key, name, &reason);
    if (found == 1) {
        log_event (LEVEL_DEBUG, "key_allowed", "socket=%s address=%s name=%s",
                   quoted (frames[DOMAIN]), quoted (frames[ADDRESS]), quoted (span_text (name)));
    } else if (may_tell (self)) {
        log_event (LEVEL_WARN, "key_refused", "socket=%s address=%s key=%s",
                   quoted (frames[DOMAIN]), quoted (frames[ADDRESS]), quoted (span_text (key)));
        if (found < 0)
            log_event (LEVEL_ERROR, "allow_unsound", "reason=\"%s\"", reason.text);
    }
    return found == 1;
}

enum allow_answer allow_answer (struct allow *self)
{
    struct packet question;
    if (!packet_recv (&question, self->socket, &packet_of_peers))
        return ALLOW_NOT_ASKED;
    bool in = judge (self, &question);
    const struct span answer[] = {
        span_text ("1.0"),
        question.count > REQUEST_ID ? question.frames[REQUEST_ID] : (struct span){0},
        span_text (in ? "200" : "300"),
        span_text (in ? "OK" : "refused"),
        span_text (""), // user id
        span_text (""), // metadata
    };
    packet_send (self->socket, answer, sizeof answer / sizeof *answer);
    packet_clear (&question);
    return in ? ALLOW_LET_IN : ALLOW_REFUSED;
}

void *allow_socket (const struct allow *self)
{
    return self->socket;
}

// -- life

struct allow *allow_new (const char *folder, struct reason *reason)
{
    char name[CURVE_NAME_SIZE];
    struct reason why;
    // The folder's path is at most SETTING_TEXT_MAX long: that and any name fit a path.
    if (find (folder, "", name, &why) < 0) {
        reason_set (reason, "--allow: %s", why.text);
        return NULL;
    }
    struct allow *self = memory_new (sizeof *self);
    self->folder = memory_text (folder);
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
    free (self->folder);
    free (self);
    *allow = NULL;
}
