// The times of a plan as people say them: options to a rule. Pure: no clock, no files.
#pragma once

#include "duration.h"
#include "options.h"
#include "policy.h"
#include "schedule.h"
#include "terms.h"

// For the option tables.
#define TYPE_WORDS SCHEDULE_TYPE_NAMES (" ")

// The options that were given; NULL and false where none was.
struct when_words {
    const char *in, *at, *every, *daily, *weekly,
        *monthly;             // the kinds of time; one at most is given,
    struct option_texts cron; // and so are these,
    const char *type;         // this one, also beside --cron,
    bool now;                 // or this one
    const char *value, *time; // with --type
    const char *start;
    const char *repeat, *skip, *timezone;
    bool keep, wall_clock;
    struct terms terms;
};

// The rule of a plan, as it goes into its PLAN frame.
struct when {
    struct schedule rule;  // borrows from the policy
    int64_t skip;          // occurrences to skip
    json_t *members;       // what the PLAN frame says beyond the rule and the skip
    struct policy *policy; // the same, read; NULL = nothing
};

// The option rows that fill the words; all but --now, which `zplan next` uses otherwise.
struct option_group when_options (struct when_words *words);

// Whether a kind of time was said at all.
bool when_is_given (const struct when_words *words);

// The rule that the words mean at this moment (Unix microseconds), local times in this zone; no
// kind of time means at once. 0, and when_clear gives back what it owns; or -1 with a reason that
// names the option and the rule.
int when_read (const struct when_words *words, const struct zone *zone, int64_t now_us,
               struct when *ret, struct reason *reason);

// Reject two options that set the same; the value - takes one away and sets nothing. 0, or -1 with
// a reason.
int when_check_doubles (const struct when_words *words, struct reason *reason);

// A duration as 5s, 1h30m or 2d. 0, or -1 with a reason that names the option.
int when_duration (const char *option, const char *text, struct duration *ret,
                   struct reason *reason);

void when_clear (struct when *self);

// The first occurrence. False: there is none, a submission would be rejected.
bool when_first (const struct when *self, const struct zone *zone, struct occurrence *ret);

// The members of the PLAN frame that say it, without title and vote.
json_t *when_frame (const struct when *self);
