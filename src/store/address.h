// Where Redis is: the setting redis_addr, parsed.
#pragma once

#include "reason.h"

enum address_kind { ADDRESS_EMBEDDED, ADDRESS_TCP, ADDRESS_UNIX };

struct address {
    enum address_kind kind;
    char host[256]; // ADDRESS_TCP; for ADDRESS_UNIX the path
    int port;
    char password[256]; // empty = none; never printed
};

// "embedded", "HOST:PORT[:PASSWORD]" or "unix:PATH". 0, or -1 with a reason that never holds the
// password.
int address_parse (const char *text, struct address *ret, struct reason *reason);

// For people: without the password. The text is `out`.
const char *address_text (const struct address *self, char out[300]);
