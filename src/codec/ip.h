// IP addresses and networks, both families in one form of 128 bits: an IPv4 address is
// ::ffff:a.b.c.d, and 96 is added to the bits of its network. Pure.
#pragma once

#include <sys/socket.h>

#include "span.h"

enum { IP_SIZE = 16, IP_TEXT_SIZE = 48 };

struct network {
    uint8_t bytes[IP_SIZE];
    int bits; // 0..128
};

// The address in a socket address. False: it is of another family.
bool ip_of_socket (const struct sockaddr *from, uint8_t ret[IP_SIZE]);

// Parse an address. False: invalid.
bool ip_read (struct span text, uint8_t ret[IP_SIZE]);

// Write an address. Returns `out`.
const char *ip_text (const uint8_t address[IP_SIZE], char out[IP_TEXT_SIZE]);

// Parse ADDRESS or ADDRESS/BITS; the host bits may be set. False: invalid.
bool network_parse (struct span text, struct network *ret);

bool network_has (const struct network *self, const uint8_t address[IP_SIZE]);
