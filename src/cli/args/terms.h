// The terms of a plan besides its action and its times: windows, iterations, missed times, failures
// and long runs. Options to members of the PLAN frame, by plan/rules/policy_fields.def. Pure.
#pragma once

#include <jansson.h>

#include "options.h"
#include "schedule.h"
#include "zone.h"

// The texts of the given options; NULL: not given.
struct terms {
#define OPTION(heading, field, ...) const char *field;
#include "policy_fields.def"
};

// How an option's text becomes a member.
enum term_value {
    TERM_TEXT,
    TERM_NUMBER,  // a number, or a text if it is none
    TERM_SECONDS, // a duration
    TERM_INSTANT,
    TERM_OBJECT, // JSON
    TERM_RETRY,  // retry_option.h
    TERM_CYCLE,  // "5" runs, or the waits "2,3,5"
    TERM_PART    // handled together with other options
};

// The options and their members, in the order of the table.
struct term {
    const char *field, *option;
    enum term_value value;
    size_t offset; // offset of the text in struct terms
};
enum {
#define OPTION(heading, field, ...) TERM_OF_##field,
#include "policy_fields.def"
    TERMS
};
extern const struct term terms_table[TERMS];

struct option_group terms_options (struct terms *terms);

// The names that identify a plan, or group it with others.
struct option_group terms_names (struct terms *terms);

// The options of terms_names that can be changed: all but the name, the kind and --if-exists.
struct option_group terms_names_changed (struct terms *terms);

// Add the members to an object. Local times are in this zone; the list of --cycle holds multiples
// of `step`, in the plan's unit. TERMS_CHANGED: a value "-" removes a member, which becomes null.
// 0, or -1 with a reason that names the option and the rule.
struct terms_context {
    const struct zone *zone;
    int64_t step;
    enum { TERMS_NEW, TERMS_CHANGED } use;
};
int terms_read (const struct terms *terms, const struct terms_context *context, json_t *members,
                struct reason *reason);

// A number, or a string if the text is not a number; NULL: the text is NULL.
json_t *terms_number (const char *text);

// Add a member if it is valid on its own. Takes ownership of the value. 0, or -1 with a reason that
// begins with the member's option.
int terms_put (json_t *members, const char *name, json_t *value, struct reason *reason);

// Convert a reason that the PLAN frame's rules gave: the name of a member is replaced by its
// option, if it has one.
void terms_reason (const struct reason *why, struct reason *ret);
