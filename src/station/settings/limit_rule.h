// The rules of a limit: how many concurrent runs, and how many starts per second. Source: issue 8,
// point 7.
#pragma once

#include <jansson.h>

#include "limit_state.h"
#include "reason.h"

struct limit_use;

// Read {"concurrency": n, "rate": starts per second, "burst": n}; without a member there is no such
// bound. False: the reason names the field and the rule.
bool limit_rule_read (json_t *object, struct limit *ret, struct reason *reason);

bool limit_equal (const struct limit *a, const struct limit *b);

// The limit as a new object that limit_rule_read reads.
json_t *limit_rule_json (const struct limit *limit);

// Set the limit from an option of a target's settings, such as "concurrency=4"; the names are those
// of limit_rule_read. False: the value is invalid.
bool limit_option_read (const char *name, const char *value, struct limit *limit);

// When the rate allows the next run, in microseconds of Redis' clock; a time in the past, or 0:
// now.
int64_t limit_next_us (const struct limit_use *use);
