// One cron expression as sets of the values of its fields, and the local times that match it.
#pragma once

#include "wall.h"

enum { CRON_NTH_MAX = 5 }; // MON#5: no month has a sixth Monday

// Sets are bits: bit n is second n, day n, weekday n (Sunday 0), ...
struct cron_rule {
    uint64_t seconds, minutes;
    uint32_t hours;
    uint32_t months;           // 1..12
    uint32_t days;             // 1..31
    uint32_t days_before_last; // L, L-3: 0 is the last day
    uint32_t nearest_weekdays; // 15W
    bool last_weekday;         // LW
    uint8_t weekdays;          // each such day of the month: MON
    uint8_t nth[CRON_NTH_MAX]; // nth[0] contains MON#1
    uint8_t last;              // MONL
    bool either; // a day matches if its number or its weekday matches; else both must match
};

// The local time of the rule that is nearest to this one, as struct wall_rule finds it: in seconds
// since 1970-01-01T00:00:00 of the clock. There is none before the year 1969 or after 10000.
int64_t cron_rule_find (const struct cron_rule *self, int64_t local, enum wall_step step);

// Whether any day can match the rule.
bool cron_rule_can_match (const struct cron_rule *self);
