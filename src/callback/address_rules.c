// The first match decides: metadata services are denied, then networks in `deny`; those in `allow`
// are allowed; this machine, its links and other addresses that are not public are denied. NAT64
// and mapped addresses are checked by the IPv4 address inside.
#include "address_rules.h"

#define IPV4(a, b, c, d, length)                                                                   \
    {                                                                                              \
        {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, 96 + (length)                      \
    }

// Always denied: metadata services of clouds, and the link-local networks that contain them.
static const struct network metadata_networks[] = {
    IPV4 (169, 254, 0, 0, 16),
    IPV4 (100, 100, 100, 200, 32),
    IPV4 (168, 63, 129, 16, 32),
    IPV4 (192, 0, 0, 192, 32),
    {{0xfe, 0x80}, 10},
    {{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128},
    {{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128},
};

// The special-purpose address registries of IANA.
static const struct network special_networks[] = {
    IPV4 (0, 0, 0, 0, 8),           IPV4 (10, 0, 0, 0, 8),      IPV4 (100, 64, 0, 0, 10),
    IPV4 (127, 0, 0, 0, 8),         IPV4 (172, 16, 0, 0, 12),   IPV4 (192, 0, 0, 0, 24),
    IPV4 (192, 0, 2, 0, 24),        IPV4 (192, 31, 196, 0, 24), IPV4 (192, 52, 193, 0, 24),
    IPV4 (192, 88, 99, 0, 24),      IPV4 (192, 168, 0, 0, 16),  IPV4 (192, 175, 48, 0, 24),
    IPV4 (198, 18, 0, 0, 15),       IPV4 (198, 51, 100, 0, 24), IPV4 (203, 0, 113, 0, 24),
    IPV4 (224, 0, 0, 0, 4),         IPV4 (240, 0, 0, 0, 4),     {{0x20, 0x01}, 23},
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, {{0x20, 0x02}, 16},         {{0x3f, 0xff}, 20},
};

static const struct network ipv4_any = IPV4 (0, 0, 0, 0, 0);
static const struct network ipv6_public = {{0x20}, 3};
static const struct network nat64_known = {{0x00, 0x64, 0xff, 0x9b}, 96};

static bool any_network_has (const struct network *at, size_t count, const uint8_t address[16])
{
    for (size_t i = 0; i < count; i++)
        if (network_has (&at[i], address))
            return true;
    return false;
}

// -- as text

int network_read (const char *text, struct network *ret, struct reason *reason)
{
    struct network network;
    if (!network_parse (span_text (text), &network))
        return reason_set (reason, "want ADDRESS or ADDRESS/BITS, got %s",
                           quoted (span_text (text)));
    for (int i = network.bits; i < 128; i++)
        if (network.bytes[i / 8] & (0x80 >> i % 8))
            return reason_set (reason, "%s: bits beyond the first %s must be 0",
                               quoted (span_text (text)), strchr (text, '/') + 1);
    *ret = network;
    return 0;
}

int networks_add (struct networks *self, const char *text, struct reason *reason)
{
    if (self->count == NETWORKS_MAX)
        return reason_set (reason, "want at most %d networks", NETWORKS_MAX);
    if (network_read (text, &self->at[self->count], reason))
        return -1;
    self->count++;
    return 0;
}

int networks_add_nat64 (struct networks *self, const char *text, struct reason *reason)
{
    if (networks_add (self, text, reason))
        return -1;
    const struct network *last = &self->at[self->count - 1];
    bool known = last->bits == 32 || last->bits == 40 || last->bits == 48 || last->bits == 56 ||
                 last->bits == 64 || last->bits == 96;
    if (known && !network_has (&ipv4_any, last->bytes))
        return 0;
    self->count--;
    return reason_set (reason, "want an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits, got %s",
                       quoted (span_text (text)));
}

// -- checks

// Extract the IPv4 address of a NAT64 address: it follows the prefix, skipping byte 8 (RFC 6052,
// 2.2). False: the address has another prefix.
static bool nat64_extract (const struct network *prefix, const uint8_t address[16], uint8_t ret[16])
{
    size_t at = (size_t)prefix->bits / 8;
    if (!network_has (prefix, address))
        return false;
    memcpy (ret, ipv4_any.bytes, IP_SIZE);
    for (size_t i = 12; i < IP_SIZE; i++, at++) {
        at += at == 8;
        ret[i] = address[at];
    }
    return true;
}

enum address_verdict address_check (const struct address_rules *self, const uint8_t address[16])
{
    uint8_t judged[16];
    memcpy (judged, address, sizeof judged);
    if (any_network_has (metadata_networks, sizeof metadata_networks / sizeof *metadata_networks,
                         address) ||
        any_network_has (self->deny.at, self->deny.count, address))
        return ADDRESS_DENIED;
    bool inside = nat64_extract (&nat64_known, address, judged);
    for (size_t i = 0; i < self->nat64.count && !inside; i++)
        inside = nat64_extract (&self->nat64.at[i], address, judged);
    if (any_network_has (metadata_networks, sizeof metadata_networks / sizeof *metadata_networks,
                         judged) ||
        any_network_has (self->deny.at, self->deny.count, judged))
        return ADDRESS_DENIED;
    if (any_network_has (self->allow.at, self->allow.count, judged))
        return ADDRESS_LISTED;
    if (any_network_has (self->own.at, self->own.count, judged) ||
        any_network_has (special_networks, sizeof special_networks / sizeof *special_networks,
                         judged))
        return ADDRESS_DENIED;
    return network_has (&ipv4_any, judged) || network_has (&ipv6_public, judged) ? ADDRESS_PUBLIC
                                                                                 : ADDRESS_DENIED;
}
