// Time zones by name, from the system's zone files.
#pragma once

#include "reason.h"
#include "zone.h"

// The zone with this IANA name, from the folder $ZPLAN_ZONEINFO, or /usr/share/zoneinfo when that
// is not set. "UTC" needs no file. NULL with a reason; the name may be hostile.
struct zone *zonefile_load (const char *name, struct reason *reason);

// The name of the zone of this machine's clock: $TZ, else what /etc/localtime links to, UTC without
// either; in `out`, or not. It need not be one that can be loaded. NULL with a reason.
enum { ZONEFILE_NAME_SIZE = 256 };
const char *zonefile_machine (char out[ZONEFILE_NAME_SIZE], struct reason *reason);
