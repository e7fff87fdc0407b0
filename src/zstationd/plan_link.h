// The connection to zpland's request socket, for results whose requester has disconnected. When
// several stations share a database, the connected one is used: standbys keep that socket closed.
// While none is connected, results wait here.
#pragma once

#include <sys/queue.h>

#include "dealers.h"
#include "message.h"

struct plan_link {
    const struct curve_keys *own; // our own keys, used if there are `server_keys`; borrowed
    const char *server_keys;      // borrowed; "" = without CURVE
    struct endpoints endpoints;   // none without --plan
    struct dealers dealers;
    STAILQ_HEAD (, unsent_answer) waiting; // oldest first
    size_t count;                          // number of waiting answers
    size_t bytes;
};

// Connect to the endpoints of the list; `self` must be zeroed, and both texts must outlive it. 0,
// or -1 with a reason. Close it in any case.
int plan_link_open (struct plan_link *self, const char *endpoints, const char *server_keys,
                    const struct curve_keys *own, struct reason *reason);

// Close the connection. libzmq has `linger_ms` to send its pending results.
void plan_link_close (struct plan_link *self, int linger_ms);

// Send an answer. While none of several stations is connected a result is kept until one is, and a
// heartbeat is dropped, as the next one follows. False: a result that can neither be sent nor kept.
bool plan_link_send (struct plan_link *self, const struct message *answer);

// A socket or monitor is readable: send the waiting results, and discard messages that arrived,
// which are not expected, so that they do not pile up. Returns the number of messages read.
size_t plan_link_process (struct plan_link *self);
