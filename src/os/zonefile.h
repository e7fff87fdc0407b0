// Time zones by name, from the system's zone files.
#pragma once

#include "reason.h"
#include "zone.h"

// Load the zone with this IANA name from the folder $ZPLAN_ZONEINFO, by default
// /usr/share/zoneinfo. "UTC" needs no file. NULL with a reason. The name is checked, as it may come
// from an untrusted source.
struct zone *zonefile_load (const char *name, struct reason *reason);

// The name of this machine's time zone: $TZ, else the target of the link /etc/localtime, else UTC
// if there is no such link. `out` is a buffer that the result may point into. The name may be
// invalid. NULL with a reason.
enum { ZONEFILE_NAME_SIZE = 256 };
const char *zonefile_machine (char out[ZONEFILE_NAME_SIZE], struct reason *reason);
