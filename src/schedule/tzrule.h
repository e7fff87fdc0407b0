// The POSIX TZ string of a TZif footer (RFC 9636 3.3.2): the offsets of a zone after the last
// transition of its table, for ever. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

enum tzrule_form {
    TZRULE_JULIAN,  // Jn: day 1..365, February 29 is never counted
    TZRULE_ORDINAL, // n: day 0..365, February 29 is counted
    TZRULE_MONTH    // Mm.w.d: weekday d of week w of month m, week 5 is the last
};

struct tzrule_date {
    enum tzrule_form form;
    int month, week; // TZRULE_MONTH
    int day;         // of the year; TZRULE_MONTH: the weekday 0..6
    int32_t time;    // seconds after 00:00 of that day; may be negative or more than a day
};

struct tzrule {
    int32_t standard; // seconds east of UTC
    int32_t daylight; // seconds east of UTC during daylight saving time; may be less than standard
    bool has_daylight;
    struct tzrule_date start, end; // start by the standard clock, end by the daylight clock
};

// Parse a TZ string, which may be hostile. False: it is invalid.
bool tzrule_parse (struct span text, struct tzrule *ret_rule);

// The time between two transitions of a rule.
struct tzrule_stretch {
    int64_t begin, end; // INT64_MIN, INT64_MAX: the offset never changes
    int32_t offset;     // seconds east of UTC
};

// The stretch that contains this instant.
struct tzrule_stretch tzrule_stretch (const struct tzrule *self, int64_t instant);
