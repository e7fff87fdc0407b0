// The keys a client, subscriber or worker connects with, for each socket it makes.
#pragma once

#include "endpoints.h"
#include "zplan_frame.h"

struct keys {
    bool used; // false: a connection without CURVE
    struct curve_keys own;
    char server_keys[SERVER_KEYS_SIZE]; // one for all endpoints, or one for each
};

// Copy what the caller gave. 0, or -1 with errno EINVAL: a key is none, or they do not belong
// together.
int keys_take (struct keys *self, const struct zplan_curve *curve);

// Whether there is a server key for each of these endpoints; without CURVE none is wanted.
bool keys_fit (const struct keys *self, const struct endpoints *endpoints);

// Before the socket connects to the endpoint with this index.
void keys_put (const struct keys *self, void *socket, size_t index);

// The same keys for another object. They are borrowed.
struct zplan_curve keys_borrow (const struct keys *self);
