// The rules of a limit: how many runs at a time, and how often. Source: issue 8, point 7.
#pragma once

#include <jansson.h>

#include "limit_state.h"
#include "reason.h"

struct limit_use;

// {"concurrency": n, "rate": a second, "burst": n}; an absent member is no bound. False: the reason
// names the field and the rule.
bool limit_rule_read (json_t *object, struct limit *ret, struct reason *reason);

bool limit_is_none (const struct limit *limit);
bool limit_equal (const struct limit *a, const struct limit *b);

json_t *limit_rule_json (const struct limit *limit);

// "concurrency=4" of a target's settings: the limit takes the value.
bool limit_option_concurrency (const char *value, struct limit *limit);
bool limit_option_rate (const char *value, struct limit *limit);
bool limit_option_burst (const char *value, struct limit *limit);

// When its rate allows another run, by the clock of Redis in microseconds; the past: it does.
int64_t limit_next_us (const struct limit_use *use);
