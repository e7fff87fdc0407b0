// Instants for people: as a date, as a distance from now, or both. Pure.
#pragma once

#include <stdint.h>

enum moment_style {
    MOMENT_ABSOLUTE, // 2026-12-24T18:00:00Z
    MOMENT_RELATIVE, // in 3 min, 2 h ago, now
    MOMENT_BOTH,     // 2026-12-24T18:00:00Z (in 3 min)
    MOMENT_UNIX      // 1798135200
};

enum { MOMENT_SIZE = 48 };

// Format `time` in this style; both times are Unix seconds, 0..9999-12-31. A distance is truncated
// to whole units; a unit is used until the distance reaches two of the next larger one: 119 s, 119
// min, 47 h. Returns `out`.
const char *moment_text (int64_t time, int64_t now, enum moment_style style, char out[MOMENT_SIZE]);
