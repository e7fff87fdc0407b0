// The CURVE keys of the connections of a client, subscriber or worker.
#pragma once

#include "endpoints.h"
#include "zplan_frame.h"

struct keys {
    bool used; // false: a connection without CURVE
    struct curve_keys own;
    char server_keys[SERVER_KEYS_SIZE]; // one key for all endpoints, or one for each
};

// Copy the caller's keys. 0, or -1 with errno EINVAL: a key is invalid, or the public key does not
// belong to the secret one.
int keys_copy (struct keys *self, const struct zplan_curve *curve);

// Parse a list of endpoints; NULL is invalid. With CURVE there must be one server key, or one for
// each. 0, or -1 with errno, and `ret` is empty.
int keys_read_endpoints (const struct keys *self, const char *text, struct endpoints *ret);

// Set the keys of a socket before it connects to the endpoint with this index.
void keys_set_socket (const struct keys *self, void *socket, size_t index);
