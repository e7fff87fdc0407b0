// Rules for the addresses that callbacks may connect to. A submitter chooses the URL, but the
// sender runs in the operator's network: so each address is checked before the connection, no
// matter how it was resolved.
#pragma once

#include <stdbool.h>

#include "reason.h"

enum { NETWORKS_MAX = 256 };

// An IPv4 network is stored as ::ffff:a.b.c.d, with 96 added to its bits.
struct network {
    uint8_t bytes[16];
    int bits; // 0..128
};

struct networks {
    struct network at[NETWORKS_MAX];
    size_t count;
};

struct address_rules {
    struct networks allow; // networks that the settings allow
    struct networks deny;
    struct networks nat64; // prefixes: the embedded IPv4 address is checked
    struct networks own;   // addresses of this machine, and the networks on its links
};

enum address_verdict {
    ADDRESS_DENIED,
    ADDRESS_PUBLIC,
    ADDRESS_LISTED // allowed only because `allow` names its network
};

// Parse ADDRESS or ADDRESS/BITS; bits beyond these must be 0. 0, or -1 with the reason.
int network_read (const char *text, struct network *ret, struct reason *reason);

// Parse a network and add it to a list. 0, or -1 with the reason.
int networks_add (struct networks *self, const char *text, struct reason *reason);

// Parse a prefix of NAT64 (RFC 6052), 32, 40, 48, 56, 64 or 96 bits of IPv6, and add it to a list.
// 0, or -1 with the reason.
int networks_add_nat64 (struct networks *self, const char *text, struct reason *reason);

// Convert an IPv4 address to the form that is checked.
void address_of_ipv4 (const uint8_t ipv4[4], uint8_t ret[16]);

// Parse an IPv4 or IPv6 address into the form that is checked. False: invalid.
bool address_read (const char *text, uint8_t ret[16]);

enum address_verdict address_check (const struct address_rules *self, const uint8_t address[16]);
