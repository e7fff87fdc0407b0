// A time zone: local wall clock to instant and back, from the bytes of a TZif file (RFC 9636).
// Pure: the caller reads the file. A zone is immutable once made.
#pragma once

#include <stdint.h>

#include "reason.h"
#include "span.h"

struct zone;

// Make a zone from the bytes of a TZif file, version 1 to 4, footer included. The bytes are copied.
// NULL with a reason when they are not one, for the bytes may be hostile, or memory lacks.
struct zone *zone_new (struct span tzif, struct reason *reason);

// UTC, which needs no file. NULL: there is no memory.
struct zone *zone_new_utc (void);

void zone_destroy (struct zone **self);

// Seconds east of UTC in force at this instant.
int32_t zone_offset (const struct zone *self, int64_t instant);

// The instant of a local wall-clock time, given as seconds since 1970-01-01T00:00:00 local. A time
// that exists twice is the first one; a time that does not exist is the first instant after the
// gap.
int64_t zone_instant (const struct zone *self, int64_t local);
