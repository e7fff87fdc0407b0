// The URL that a callback is sent to: one strict grammar, a part of RFC 3986. A checked URL is
// rebuilt from its parts, so that the bytes that were checked are those that are signed and sent.
#pragma once

#include <stdbool.h>

#include "reason.h"
#include "station_name.h"

enum {
    CALLBACK_URL_MAX = 1024,
    CALLBACK_URL_SIZE = CALLBACK_URL_MAX + 16, // a rebuilt URL may be longer; and the NUL
    CALLBACK_HOST_SIZE = 254,
    CALLBACK_NAME_MAX = STATION_NAME_MAX
};

struct callback_url {
    bool https;
    bool literal;                  // the host is an IP address
    char host[CALLBACK_HOST_SIZE]; // lower-case; an IPv6 address without its brackets
    int port;
    size_t origin_size;           // bytes of scheme and host in `text`; port too unless default
    size_t path_size;             // bytes of the path after the origin; it begins with '/'
    char text[CALLBACK_URL_SIZE]; // rebuilt: origin, path, and '?' with the query, if any
};

// Parse and check a URL: ASCII of at most 1024 bytes; the scheme is https or http; the host is a
// name whose last label begins with a letter, or an IP address without a zone; no user, no
// fragment, no dot segment. 0, or -1 with the reason.
int callback_url_read (struct span text, struct callback_url *ret, struct reason *reason);

// Whether this can be the name of a secret, or of a URL that only the sender knows (@NAME): 1..64
// of A-Z a-z 0-9 _ . -, and no dot at the start.
bool callback_name_valid (struct span name);
