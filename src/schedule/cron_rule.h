// One cron expression as sets of the values of its fields, and the local times that match it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CRON_NTH_MAX = 5 }; // MON#5: no month has a sixth

// Sets are bits: bit n is second n, day n, weekday n (Sunday 0), ...
struct cron_rule {
    uint64_t seconds, minutes;
    uint32_t hours;
    uint32_t months;           // 1..12
    uint32_t days;             // 1..31
    uint32_t days_before_last; // 0 is the last day: L, L-3
    uint32_t nearest_weekdays; // 15W
    bool last_weekday;         // LW
    uint8_t weekdays;          // every one in the month
    uint8_t nth[CRON_NTH_MAX]; // nth[0] contains MON#1
    uint8_t last;              // MONL
    bool either;               // a match of day or weekday is enough; else both must match
};

// The first local time of the rule not before this one, in seconds since 1970-01-01T00:00:00 of the
// clock; INT64_MAX when there is none up to the end of the year 9999 or some days later.
int64_t cron_rule_next (const struct cron_rule *self, int64_t local);

// The last one not after this one; INT64_MIN when there is none from 1969 on.
int64_t cron_rule_previous (const struct cron_rule *self, int64_t local);

// Whether any day can match the rule.
bool cron_rule_can_match (const struct cron_rule *self);
