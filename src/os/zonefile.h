// Time zones by name, from the system's zone files.
#pragma once

#include "reason.h"
#include "zone.h"

// The zone with this IANA name, from the folder $ZPLAN_ZONEINFO, or /usr/share/zoneinfo when that
// is not set. "UTC" needs no file. NULL with a reason; the name may be hostile.
struct zone *zonefile_load (const char *name, struct reason *reason);
