// The addresses of a station, and its key at each. Of several stations on one database only the
// owner binds its request socket; the others are standbys. So every client takes a list:
// "tcp://a:7920,tcp://b:7920".
#pragma once

#include "curve.h"

enum { ENDPOINTS_MAX = 8 };

struct endpoints {
    size_t count;
    const char *rows[ENDPOINTS_MAX]; // point into `text`
    char *text;                      // owned
};

// Parse a comma-separated list of 1 to ENDPOINTS_MAX endpoints (endpoint_check). 0, or -1 with
// errno: EINVAL and a reason, or ENOMEM; `self` is then empty.
int endpoints_read (struct endpoints *self, const char *text, struct reason *reason);

// Free the memory; an empty or cleared `self` is accepted.
void endpoints_clear (struct endpoints *self);

enum { ENDPOINT_SIZE = 512 };

// The endpoint at which this machine reaches a socket that the process `name` (HOST:PID) has bound
// to `bound`: the same text, with HOST in place of a wildcard or an interface. `own_host` is the
// name of this machine. False: only the process's own machine can reach it.
bool endpoint_reach (struct span name, struct span bound, const char *own_host,
                     char out[ENDPOINT_SIZE]);

enum {
    SERVER_KEYS_SIZE = ENDPOINTS_MAX * CURVE_KEY_SIZE
}; // each key with the comma after it, or the NUL at the end

// Whether the text is one public key for all stations, or a comma-separated list of one key for
// each of `count` endpoints, in their order. `count` 0: any number of keys. NULL is not valid.
bool server_keys_valid (const char *text, size_t count);

// Get the key of the endpoint with this index from a valid text.
void server_key_of (const char *text, size_t index, char out[CURVE_KEY_SIZE]);
