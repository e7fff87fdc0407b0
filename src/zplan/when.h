// The times of a plan as people say them: options to a rule. Pure: no clock, no files.
#pragma once

#include "options.h"
#include "schedule.h"

// The types of plans, with blanks between, for the option tables.
#define TYPE_WORDS "none time second minute hour day week month"

// What was said; NULL and false where nothing was.
struct when_words {
    const char *in, *at, *every, *weekly, *monthly; // the kinds of time; one at most is given,
    const char *type;                               // and so is this one,
    bool now;                                       // or this one
    const char *value, *time;                       // with --type
    const char *start;                              // with --every
    const char *repeat, *skip, *timezone;
    bool keep;
};

// The rule of a plan, as it goes into its PLAN frame.
struct when {
    struct schedule rule;
    int64_t skip; // occurrences to skip
};

// The option rows that fill the words; all but --now, which `zplan next` uses otherwise.
struct option_group when_options (struct when_words *words);

// Whether a kind of time was said at all.
bool when_is_given (const struct when_words *words);

// The rule that the words mean at this moment (Unix microseconds), local times in this zone; no
// kind of time means at once. 0, or -1 with a reason that names the option and the rule.
int when_read (const struct when_words *words, const struct zone *zone, int64_t now_us,
               struct when *ret, struct reason *reason);

// A duration as 5s, 1h30m or 2d, to seconds. 0, or -1 with a reason that names the option.
int when_duration (const char *option, const char *text, int64_t *ret_s, struct reason *reason);

// An instant: Unix seconds, or a date as 2026-12-24, 2026-12-24T18:00, 2026-12-24T18:00:00+01:00;
// without an offset it is local. 0, or -1 with a reason.
int when_instant (const char *text, const struct zone *zone, int64_t *ret_time,
                  struct reason *reason);
