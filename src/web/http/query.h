// Convert the fields of a query to the station's filter. Pure.
#pragma once

#include <jansson.h>

#include "request_target.h"

// Convert all fields but `after`, which is a cursor, to the station's names and values: a new
// object. NULL with a reason that names the field.
json_t *query_filter (const struct request_target *target, struct reason *reason);

// Parse an instant, RFC 3339 with an offset or Unix seconds, to Unix seconds. 0, or -1 with a
// reason.
int query_instant (const char *name, const char *text, int64_t *ret, struct reason *reason);

// Read a decimal number within bounds; without the field it is `fallback`. 0, or -1 with a reason.
int query_number (const struct request_target *target, const char *name, int64_t min, int64_t max,
                  int64_t fallback, int64_t *ret, struct reason *reason);

// Read a flag: 1, true, 0 or false; without the field it is false. 0, or -1 with a reason.
int query_flag (const struct request_target *target, const char *name, bool *ret,
                struct reason *reason);
