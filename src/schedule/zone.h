// A time zone, from the bytes of a TZif file (RFC 9636): converts local times to instants and back.
// Pure: the caller reads the file. A zone never changes. Instants are Unix seconds.
#pragma once

#include <stdint.h>

#include "reason.h"
#include "span.h"

struct zone;

// No zone's clock is further from UTC than this, in seconds (RFC 9636 3.2 gives -25..26 hours).
enum { ZONE_OFFSET_MAX = 26 * 3600 };

// The instant of a local time in the gap of a clock change.
enum zone_gap {
    ZONE_GAP_SHIFT, // the first instant after the gap
    ZONE_GAP_SKIP   // no instant: it is skipped
};

// The instant of a local time that occurs twice because of a clock change.
enum zone_overlap { ZONE_OVERLAP_FIRST, ZONE_OVERLAP_LAST, ZONE_OVERLAP_BOTH };

// The value with this name, "shift" or "skip"; -1: there is none.
int zone_gap_parse (const char *name);

// The value with this name, "first", "last" or "both"; -1: there is none.
int zone_overlap_parse (const char *name);

// Make a zone from the bytes of a TZif file, version 1 to 4, footer included. The bytes are copied.
// NULL with a reason: they are not a TZif file (they may be hostile), or memory is exhausted.
struct zone *zone_new (struct span tzif, struct reason *reason);

// UTC, which needs no file. NULL: memory is exhausted.
struct zone *zone_new_utc (void);

void zone_destroy (struct zone **self);

// Seconds east of UTC in force at this instant.
int32_t zone_offset (const struct zone *self, int64_t instant);

// The instant of a local wall-clock time, given as seconds since 1970-01-01T00:00:00 local. A time
// that occurs twice maps to its first instant; a time in a gap maps to the first instant after the
// gap.
int64_t zone_instant (const struct zone *self, int64_t local);

// The instants of a local wall-clock time, ascending: none (a gap that is skipped), 1 or 2. Of a
// time that a clock shows more than twice, ZONE_OVERLAP_BOTH returns the first and the last.
size_t zone_instants (const struct zone *self, int64_t local, enum zone_gap gap,
                      enum zone_overlap overlap, int64_t ret[2]);

// A period without a clock change. The next stretch may have the same offset.
struct zone_stretch {
    int64_t begin, end; // the instants from begin on, before end; both within +-2^43
    int32_t offset;     // seconds east of UTC
};

// The stretch that contains this instant.
struct zone_stretch zone_stretch (const struct zone *self, int64_t instant);
