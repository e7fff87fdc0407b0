// Durations as people write them: "1h30m". Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define DURATION_MAX_S INT64_C (253402300799) // the seconds from 1970 to the end of 9999

struct duration {
    int64_t seconds;
    int64_t unit_s; // seconds of the smallest unit in the text
};

// Parse numbers with the units d, h, m and s, each at most once, largest first; at most
// DURATION_MAX_S. False: invalid.
bool duration_parse (const char *text, struct duration *ret);

// Parse a text as duration_parse does, or a bare number of seconds. `ret` is in seconds.
bool duration_seconds (const char *text, int64_t *ret);

// Parse a text as duration_parse does, or one like "500ms", or a bare number in units of `unit_ms`
// (1 or 1000) milliseconds. `ret` is in these units. False: invalid, or not a whole number of
// units.
bool duration_count (const char *text, int64_t unit_ms, int64_t *ret);

// The duration for people: "30 s", "2 min", "1 h 30 min". Returns `out`.
enum { DURATION_SIZE = 64 };
const char *duration_text (int64_t seconds, char out[DURATION_SIZE]);

// The duration in the form that duration_parse reads: "30s", "2m", "1h30m". Returns `out`.
const char *duration_option (int64_t seconds, char out[DURATION_SIZE]);
