// The terms of a plan besides its action and its times: windows, iterations, missed times, failures
// and long runs. Options to members of the PLAN frame. Pure.
#pragma once

#include <jansson.h>

#include "options.h"
#include "schedule.h"
#include "zone.h"

// The options that were given; NULL where none was.
struct terms {
    const char *gap, *overlap, *end, *iteration, *cycle;
    const char *misfire, *misfire_window, *jitter, *overlap_policy;
    const char *retry, *timeout, *log, *priority;
    const char *on_failure, *on_failure_target;
    const char *callback, *callback_on, *secret;
    const char *kind, *key, *if_exists, *group, *category, *traceparent, *tenant, *creator, *ext,
        *batch;
};

struct option_group terms_options (struct terms *terms);

// The names that a plan is found by, and shares with others.
struct option_group terms_names (struct terms *terms);

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
