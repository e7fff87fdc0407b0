// The station's numbers of the last 24 hours, each 10 s, so that a page that is opened at night
// shows the evening. Missing reads leave a gap.
#pragma once

#include <jansson.h>
#include <stdint.h>

enum { SERIES_STEP_S = 10, SERIES_POINTS = 24 * 3600 / SERIES_STEP_S, SERIES_STEP_MAX_S = 3600 };

struct series;

struct series *series_new (void);
void series_destroy (struct series **self);

// Keep what `stats` of the station says at this second.
void series_add (struct series *self, int64_t now_s, const json_t *stats);

// The part from then on, in steps of this many seconds, a multiple of SERIES_STEP_S: an object with
// `from`, `step_s` and an array for each number. Of a gauge each step has its last value, of a
// counter what it grew by; null: nothing is known of it.
json_t *series_json (const struct series *self, int64_t now_s, int64_t from_s, int64_t step_s);
