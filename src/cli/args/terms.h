// The terms of a plan besides its action and its times: windows, iterations, missed times, failures
// and long runs. Options to members of the PLAN frame, by plan/rules/policy_fields.def. Pure.
#pragma once

#include <jansson.h>

#include "options.h"
#include "schedule.h"
#include "zone.h"

// The options that were given; NULL where none was.
struct terms {
#define OPTION(heading, field, ...) const char *field;
#include "policy_fields.def"
};

// What a member is made of.
enum term_value {
    TERM_TEXT,
    TERM_NUMBER,  // or a text, where it is none
    TERM_SECONDS, // a duration
    TERM_INSTANT,
    TERM_OBJECT, // JSON
    TERM_RETRY,  // retry_words.h
    TERM_CYCLE,  // "5" runs, or the waits "2,3,5"
    TERM_PART,   // with other options
    TERM_VALUES
};

// The options and their members, in the order of the table.
struct term {
    const char *field, *option;
    enum term_value value;
    size_t offset; // of the text in struct terms
};
enum {
#define OPTION(heading, field, ...) TERM_OF_##field,
#include "policy_fields.def"
    TERMS
};
extern const struct term terms_table[TERMS];

struct option_group terms_options (struct terms *terms);

// The names that a plan is found by, and shares with others.
struct option_group terms_names (struct terms *terms);

// The same without the name and the kind, which a plan keeps, and --if-exists.
struct option_group terms_names_changed (struct terms *terms);

// Put the members into an object. Local times are in this zone; a list of --cycle is multiples of
// `step`, in the unit of the plan. TERMS_CHANGED: the value - takes a member away, which becomes
// null. 0, or -1 with a reason that names the option and the rule.
struct terms_reading {
    const struct zone *zone;
    int64_t step;
    enum { TERMS_NEW, TERMS_CHANGED } use;
};
int terms_read (const struct terms *terms, const struct terms_reading *reading, json_t *members,
                struct reason *reason);

// Put a member in, if it is right by itself. The value is taken. 0, or -1 with a reason that begins
// with the option that this member is said by.
int terms_put (json_t *members, const char *name, json_t *value, struct reason *reason);

// The reason of the rules of the PLAN frame, with the option in front where it names a member that
// an option says.
void terms_reason (const struct reason *why, struct reason *ret);
