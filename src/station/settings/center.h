// Discovery: asks a MicroZero center for its stations, whenever one of its events reports a change,
// and periodically. The stations found are candidates; the caller decides about them. The center is
// not trusted: all that it sends is bounded, and a fake center can do no more than name stations.
#pragma once

#include "center_list.h"
#include "watch.h"

struct center;

enum { CENTER_HOST_MAX = 200, CENTER_KEY_MAX = 255 };

struct center_settings {
    char host[CENTER_HOST_MAX + 1];
    int port;                     // for requests to SystemManage; its events use the next port
    char key[CENTER_KEY_MAX + 1]; // the service key of MicroZero 1.1 and later; empty: none
};

// tcp://HOST[:PORT][,key=TEXT]; PORT is 8000 by default. 0, or -1 with a reason that never holds
// the key.
int center_settings_parse (const char *text, struct center_settings *ret, struct reason *reason);

// Called after each good answer with all stations that the center has now, usually the same list as
// before. The list is borrowed for the call. While the center is away there is no call, as its
// stations may still work.
typedef void center_found_fn (void *owner, const struct found_station *list, size_t count);

// Begin to ask the center for its stations. Never NULL: a center that cannot be reached is retried.
struct center *center_new (const struct center_settings *settings, struct reactor *reactor,
                           center_found_fn *found, void *owner);

struct center_state {
    char endpoint[sizeof ((struct found_station *)0)->endpoint]; // tcp://HOST:PORT
    bool known;               // the center has given a good answer
    char trouble[REASON_MAX]; // why the last request got no good answer; empty: it got one, or the
                              // first request is in flight
};

const struct center_state *center_state (const struct center *self);

// Destroy the center; may be called from within `found`.
void center_destroy (struct center **self);
