// Time zones for targets that need one: UTC, and one with daylight saving time.
#pragma once

#include "fuzz.h"
#include "zone.h"

static inline const struct zone *fuzz_zone (unsigned index)
{
    static struct zone *zones[2];
    // The header of both blocks; one type, UTC, whose offset the footer's rule goes over.
    static const uint8_t head[44] = "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                                    "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\4";
    static const char footer[] = "\nCET-1CEST,M3.5.0,M10.5.0/3\n";
    if (!zones[0]) {
        uint8_t file[2 * (44 + 10) + sizeof footer - 1] = {0};
        struct reason reason;
        memcpy (file, head, sizeof head);
        memcpy (file + 54, head, sizeof head);
        memcpy (file + 108, footer, sizeof footer - 1);
        zones[0] = zone_new_utc ();
        zones[1] = zone_new (span_of (file, sizeof file), &reason);
        HOLDS (zones[1]);
    }
    return zones[index % 2];
}
