// Rules for the addresses that callbacks may connect to. A submitter chooses the URL, but the
// sender runs in the operator's network: so each address is checked before the connection, no
// matter how it was resolved.
#pragma once

#include "ip.h"
#include "reason.h"

enum { NETWORKS_MAX = 256 };

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

// Parse ADDRESS or ADDRESS/BITS; the host bits must be 0. 0, or -1 with the reason.
int network_read (const char *text, struct network *ret, struct reason *reason);

// Parse a network and add it to a list. 0, or -1 with the reason.
int networks_add (struct networks *self, const char *text, struct reason *reason);

// Parse a prefix of NAT64 (RFC 6052), 32, 40, 48, 56, 64 or 96 bits of IPv6, and add it to a list.
// 0, or -1 with the reason.
int networks_add_nat64 (struct networks *self, const char *text, struct reason *reason);

enum address_verdict address_check (const struct address_rules *self,
                                    const uint8_t address[IP_SIZE]);
