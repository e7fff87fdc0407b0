#include "interfaces.h"

#include <errno.h>
#include <ifaddrs.h>

#include "log.h"

// The number of network bits in a mask, as in struct network; 128 if there is none. For IPv4 the 96
// bits of the prefix are added.
static int mask_length (const struct sockaddr *mask)
{
    uint8_t bytes[16];
    int bits = 0;
    if (!mask || !ip_of_socket (mask, bytes))
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
        if (!at->ifa_addr || !ip_of_socket (at->ifa_addr, network->bytes))
            continue;
        network->bits = mask_length (at->ifa_netmask);
        ret->count++;
    }
    if (at)
        log_event (LEVEL_ERROR, "interfaces.cut", "most=%d", NETWORKS_MAX);
    freeifaddrs (all);
}
