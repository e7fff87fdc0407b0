#include "interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "log.h"

static bool read_sockaddr (const struct sockaddr *from, uint8_t ret[16])
{
    if (from && from->sa_family == AF_INET) {
        address_of_ipv4 ((const void *)&((const struct sockaddr_in *)(const void *)from)->sin_addr,
                         ret);
        return true;
    }
    if (!from || from->sa_family != AF_INET6)
        return false;
    memcpy (ret, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    return true;
}

// The number of network bits in a mask, as in struct network; 128 if there is none. For IPv4 the 96
// bits of the prefix are added.
static int mask_length (const struct sockaddr *mask)
{
    uint8_t bytes[16];
    int bits = 0;
    if (!read_sockaddr (mask, bytes))
        return 128;
    if (mask->sa_family == AF_INET)
        memset (bytes, 0xff, 12);
    while (bits < 128 && (bytes[bits / 8] & (0x80 >> bits % 8)))
        bits++;
    return bits;
}

void interfaces_read (struct networks *ret)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs (&all)) { // the previous networks are kept
        log_event (LEVEL_ERROR, "interfaces.unknown", "error=\"%s\"", strerror (errno));
        return;
    }
    ret->count = 0;
    const struct ifaddrs *at = all;
    for (; at && ret->count < NETWORKS_MAX; at = at->ifa_next) {
        struct network *network = &ret->at[ret->count];
        if (!read_sockaddr (at->ifa_addr, network->bytes))
            continue;
        network->bits = mask_length (at->ifa_netmask);
        ret->count++;
    }
    if (at)
        log_event (LEVEL_ERROR, "interfaces.cut", "most=%d", NETWORKS_MAX);
    freeifaddrs (all);
}
