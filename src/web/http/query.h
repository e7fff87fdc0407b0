// Convert the fields of a query to the station's filter. Pure.
#pragma once

#include <jansson.h>

#include "request_target.h"

// An object with the station's names and values of all fields but `after`, which is a cursor. NULL
// with a reason that names the field.
json_t *query_filter (const struct request_target *target, struct reason *reason);

// An instant: RFC 3339 with an offset, or Unix seconds. 0, or -1 with a reason.
int query_instant (const char *name, const char *text, int64_t *ret, struct reason *reason);

// A decimal number within bounds, or the default without the field. 0, or -1 with a reason.
int query_number (const struct request_target *target, const char *name, int64_t min, int64_t max,
                  int64_t fallback, int64_t *ret, struct reason *reason);

// A flag: 1, true, 0 or false. 0, or -1 with a reason.
int query_flag (const struct request_target *target, const char *name, bool *ret,
                struct reason *reason);
