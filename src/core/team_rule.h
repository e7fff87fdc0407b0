// What the stored message of a plan says about its team: which workers may take it, and which run
// it is. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

struct team_rule {
    int64_t count;             // how many workers run the plan, each once
    int64_t ping_s, timeout_s; // heartbeat interval; time without heartbeat until a worker is late
    bool again;                // a worker that failed may take its retry
    char **only;               // names of the workers that may take it; NULL = any worker
    size_t only_count;
    int64_t plan_time, error_count, priority, state;
    int64_t run_timeout_s; // timeout of the whole run, 0 = none
    bool extra;            // the run is a manual one, outside the schedule
};

// Replace the rule by that of a message. A member that is missing or invalid gets its default, so a
// message that was edited by hand still works.
void team_rule_read (struct team_rule *self, struct span message);
void team_rule_free (struct team_rule *self);

// Whether this worker may take the plan.
bool team_rule_allows (const struct team_rule *self, struct span worker);
