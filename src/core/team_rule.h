// What the stored message of a plan says to its team: who may fetch it, and which run it is. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

struct team_rule {
    int64_t count;             // workers that do it, each once
    int64_t ping_s, timeout_s; // between heartbeats of a worker; until it is late
    bool again;                // who failed may take it when it is tried again
    char **only;               // names; NULL = any worker
    size_t only_count;
    int64_t plan_time, error_count, priority, state;
    int64_t run_timeout_s; // of the whole run, 0 = none
    bool extra;            // it is run outside its schedule
};

// Read it again. A member that is absent or broken has its default: so a message that was edited by
// hand is served.
void team_rule_read (struct team_rule *self, struct span message);
void team_rule_free (struct team_rule *self);

// Whether it lets this worker have the plan.
bool team_rule_allows (const struct team_rule *self, struct span worker);
