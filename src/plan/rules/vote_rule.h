// When a vote is over: the `vote` object of a plan for a vote target. The PLAN frame and the stored
// message share the reader and the writer. Source: proto 7.5.
#pragma once

#include <jansson.h>

#include "reason.h"

enum vote_need {
    VOTE_NONE,     // the plan has no `vote`: a vote target applies VOTE_ALL
    VOTE_ALL,      // every voter
    VOTE_ANY,      // one voter
    VOTE_MAJORITY, // more than half of the voters
    VOTE_COUNT     // `count` voters
};

enum { VOTE_COUNT_MAX = 1000000, VOTE_DEADLINE_MAX_S = 31536000 };

struct vote_rule {
    enum vote_need need;
    int32_t count;      // VOTE_COUNT
    int32_t deadline_s; // seconds after the dispatch; 0 = none
};

// Read {"rule": "all" | "any" | "majority" | n, "deadline": seconds}; both may be absent. False:
// the reason names the field and the rule.
bool vote_rule_read (const json_t *object, struct vote_rule *ret, struct reason *reason);

// A new `vote` object; NULL for VOTE_NONE.
json_t *vote_rule_write (const struct vote_rule *self);

// How many of the voters must be in favour. `voters`: their number.
size_t vote_rule_needed (const struct vote_rule *self, size_t voters);
