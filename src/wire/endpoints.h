// The addresses of a station, and its keys there. Of several stations on one database one, the
// owner, has its request socket bound; the others are standbys. So every client takes a list:
// "tcp://a:7920,tcp://b:7920".
#pragma once

#include "curve.h"

enum { ENDPOINTS_MAX = 8 };

struct endpoints {
    size_t count;
    const char *rows[ENDPOINTS_MAX]; // in `text`
    char *text;                      // owned
};

// Read 1 to ENDPOINTS_MAX endpoints (endpoint_check) with a comma between two of them. 0, or -1
// with errno: EINVAL and a reason, or ENOMEM; `self` is then empty.
int endpoints_read (struct endpoints *self, const char *text, struct reason *reason);

// Release it; what is empty or was cleared is fine.
void endpoints_clear (struct endpoints *self);

enum { ENDPOINT_SIZE = 512 };

// Where this machine reaches the socket that a process called NAME (HOST:PID) has bound to
// `bound`: that text, or with HOST in the place of a wildcard or an interface. `own_host` is the
// name of this machine. False: it does not, as only its own machine does.
bool endpoint_reach (struct span name, struct span bound, const char *own_host,
                     char out[ENDPOINT_SIZE]);

enum { SERVER_KEYS_SIZE = ENDPOINTS_MAX * CURVE_KEY_SIZE }; // commas, and a NUL at the end

// Whether the text has one public key, for all stations, or one for each of `count` endpoints in
// their order, with commas between. A `count` of 0: any number of keys. NULL has none.
bool server_keys_valid (const char *text, size_t count);

// The key of the endpoint with this index, of a text that is valid.
void server_key_of (const char *text, size_t index, char out[CURVE_KEY_SIZE]);
