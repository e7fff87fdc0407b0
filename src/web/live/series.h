// The station's statistics of the last 24 hours, at intervals of 10 s, for the charts of a newly
// opened page. Missing reads leave a gap.
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { SERIES_STEP_S = 10, SERIES_POINTS = 24 * 3600 / SERIES_STEP_S, SERIES_STEP_MAX_S = 3600 };

struct series;

struct series *series_new (void);
void series_destroy (struct series **self);

// Store the reply of the command `stats` for this second.
void series_add (struct series *self, int64_t now_s, const json_t *stats);

// The series since `from_s`, in steps of `step_s`, a multiple of SERIES_STEP_S: an object with
// `from`, `step_s` and an array for each number. A step has the last value of a gauge, or the
// increase of a counter; null: unknown.
json_t *series_json (const struct series *self, int64_t now_s, int64_t from_s, int64_t step_s);
