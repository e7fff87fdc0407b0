// The connection to zpland's request socket, for results whose requester has
// disconnected. Of several stations on one database the connected one counts: standbys have that
// socket closed. While none is connected, results wait here.
#pragma once

#include "dealers.h"
#include "message.h"

struct plan_link {
    const struct curve_keys *own; // for `server_keys`; borrowed
    const char *server_keys;      // borrowed; "" = without CURVE
    struct endpoints endpoints;
    struct dealers dealers;
    struct unsent_answer *first; // those that wait, oldest first
    struct unsent_answer **end;
    size_t count; // of waiting answers
    size_t bytes;
};

// Connect to the endpoints of the list; `self` is all zero before, and both texts stay. 0, or -1
// with a reason. Close it in any case.
int plan_link_open (struct plan_link *self, const char *endpoints, const char *server_keys,
                    const struct curve_keys *own, struct reason *reason);

// Pending results of libzmq get so long to be sent.
void plan_link_close (struct plan_link *self, int linger_ms);

// Whether it was opened.
bool plan_link_is_open (const struct plan_link *self);

// Send an answer. While none of several stations is connected a result is kept until one is, and a
// heartbeat is dropped, as the next one follows. False: a result that can neither be sent nor kept.
bool plan_link_send (struct plan_link *self, const struct message *answer);

// A socket or monitor is readable: send the results that wait, and read what arrived, which is not
// expected, so that it does not pile up. Returns the number of messages read.
size_t plan_link_read (struct plan_link *self);
