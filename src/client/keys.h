// The keys a client, subscriber or worker connects with, for each socket it makes.
#pragma once

#include "curve.h"
#include "zplan_frame.h"

struct keys {
    bool used; // false: a connection without CURVE
    struct curve_keys own;
    char server_key[CURVE_KEY_SIZE];
};

// Copy what the caller gave. 0, or -1 with errno EINVAL: a key is none, or they do not belong
// together.
int keys_take (struct keys *self, const struct zplan_curve *curve);

// Before the socket connects.
void keys_put (const struct keys *self, void *socket);
