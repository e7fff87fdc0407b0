// Where Redis is: the setting redis_addr, parsed.
#pragma once

#include <stddef.h>

#include "reason.h"

enum { SENTINELS_MAX = 9 };

enum address_kind { ADDRESS_EMBEDDED, ADDRESS_TCP, ADDRESS_UNIX, ADDRESS_SENTINEL };

struct endpoint {
    char host[256];
    int port;
};

struct address {
    enum address_kind kind;
    char host[256]; // ADDRESS_UNIX: the path; ADDRESS_SENTINEL: the master's name
    int port;
    char password[256]; // empty = none; never printed
    struct endpoint sentinels[SENTINELS_MAX];
    size_t sentinel_count;
};

// Parse "embedded", "HOST:PORT[:PASSWORD]", "unix:PATH" or
// "sentinel:MASTER@HOST:PORT,HOST:PORT,...". 0, or -1 with a reason that never contains the
// password.
int address_parse (const char *text, struct address *ret, struct reason *reason);

// The address for people, without the password. Returns `out`.
const char *address_text (const struct address *self, char out[300]);
