// The way to the plan proxy station's request socket, for results whose requester has gone. Of
// several stations on one database it is the one that is connected: the others, which wait to take
// over, have that socket closed. While none is, results wait here.
#pragma once

#include "dealers.h"
#include "message.h"

struct plan_link {
    const struct curve_keys *own; // for `server_keys`; borrowed
    const char *server_keys;      // borrowed; "" = without CURVE
    struct endpoints endpoints;
    struct dealers dealers;
    struct late_answer *first; // those that wait, oldest first
    struct late_answer **end;
    size_t count; // of them
    size_t bytes;
};

// Connect to the endpoints of the list; `self` is all zero before, and both texts stay. 0, or -1
// with a reason. Close it in any case.
int plan_link_open (struct plan_link *self, const char *endpoints, const char *server_keys,
                    const struct curve_keys *own, struct reason *reason);

// The last results get so long to leave.
void plan_link_close (struct plan_link *self, int linger_ms);

// Whether it was opened.
bool plan_link_is_open (const struct plan_link *self);

// Send a result, or keep it until a station is connected. False: neither can be done now.
bool plan_link_send (struct plan_link *self, const struct message *answer);

// Something happened to one of the sockets: send what waits, and read what came, which is not
// expected, so that it does not pile up. Returns the number of messages that came.
size_t plan_link_read (struct plan_link *self);
