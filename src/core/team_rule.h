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

// Read it anew. A member that is absent or broken has its default: so a message that somebody
// edited is served.
void team_rule_read (struct team_rule *self, struct span message);
void team_rule_free (struct team_rule *self);

// Whether it lets this worker have the plan.
bool team_rule_allows (const struct team_rule *self, struct span worker);

// The first number that stands behind this name in the text of a message; 0: there is none. Quotes
// inside of strings are escaped, so no text of a client is taken for it.
int64_t message_number (struct span message, const char *name);

// The same of exec_id, 0: there is none. Replace its digits, exec_time and plan_state: the message
// says that this run is in progress. Returns memory to be freed.
uint64_t message_exec_id (struct span message);
uint8_t *message_as_running (struct span message, uint64_t exec_id, size_t *ret_size);
