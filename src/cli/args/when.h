// The times of a plan: converts options to a schedule rule. Pure: no clock, no files.
#pragma once

#include "duration.h"
#include "options.h"
#include "policy.h"
#include "schedule.h"
#include "terms.h"

// The words of --type, for the option tables.
#define TYPE_WORDS SCHEDULE_TYPE_NAMES (" ")

// The given options; NULL or false: not given.
struct when_words {
    // The kinds of time, `in` to `now`: at most one is given, but `type` and `cron` may be
    // combined.
    const char *in, *at, *every, *daily, *weekly, *monthly;
    struct option_texts cron;
    const char *type;
    bool now;
    const char *value, *time; // options of --type
    const char *start;
    const char *repeat, *skip, *timezone;
    bool keep, wall_clock;
    struct terms terms;
};

// The rule of a plan, as it goes into its PLAN frame.
struct when {
    struct schedule rule;  // borrows from the policy
    int64_t skip;          // occurrences to skip
    json_t *members;       // the members of the PLAN frame besides the rule and the skip
    struct policy *policy; // the parsed `members`; NULL = none
};

// The options that fill `words`, except --now, which has another meaning in `zplan next`.
struct option_group when_options (struct when_words *words);

// Whether any kind of time was given.
bool when_is_given (const struct when_words *words);

// Convert the options to a rule, as of `now_us` (Unix microseconds), local times in this zone;
// without a kind of time the plan runs at once. 0: free the result with when_clear; -1 with a
// reason that names the option and the rule.
int when_read (const struct when_words *words, const struct zone *zone, int64_t now_us,
               struct when *ret, struct reason *reason);

// Reject two options that set the same thing; the value - removes a setting and does not count. 0,
// or -1 with a reason.
int when_check_conflicts (const struct when_words *words, struct reason *reason);

// Parse --start into the member start_time. 0, or -1 with a reason.
int when_put_start (const char *text, const struct zone *zone, json_t *members,
                    struct reason *reason);

// Parse a duration such as 5s, 1h30m or 2d. 0, or -1 with a reason that names the option.
int when_duration (const char *option, const char *text, struct duration *ret,
                   struct reason *reason);

void when_clear (struct when *self);

// Find the first occurrence. False: there is none, and the station would reject the plan.
bool when_first (const struct when *self, const struct zone *zone, struct occurrence *ret);

// Make the PLAN frame of these times, without title and vote.
json_t *when_frame (const struct when *self);
