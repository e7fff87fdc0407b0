// The keys a client, subscriber or worker connects with, for each socket it makes.
#pragma once

#include "endpoints.h"
#include "zplan_frame.h"

struct keys {
    bool used; // false: a connection without CURVE
    struct curve_keys own;
    char server_keys[SERVER_KEYS_SIZE]; // one for all endpoints, or one for each
};

// Copy what the caller gave. 0, or -1 with errno EINVAL: a key is invalid, or they do not belong
// together.
int keys_take (struct keys *self, const struct zplan_curve *curve);

// Read endpoints, NULL are none; with CURVE there must be a server key for each. 0, or -1 with
// errno, and `ret` is empty.
int keys_read_endpoints (const struct keys *self, const char *text, struct endpoints *ret);

// Before the socket connects to the endpoint with this index.
void keys_put (const struct keys *self, void *socket, size_t index);
