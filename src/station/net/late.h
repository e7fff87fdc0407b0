// Late answers, of runs that have ended: they are counted and published as events, and change
// nothing else. Source: proto 7.3.
#pragma once

#include "station_state.h"

struct late_answer {
    uint64_t plan_id, exec_id; // exec_id 0: the answer named no run
    struct span station;       // named by the plan's key
    uint8_t status;            // in the station's own numbers
};

// Count and publish a late answer.
void late_report (struct station *self, const struct late_answer *answer);

// Remember a cancelled run that was the last one of its plan, so that its later answers count as
// late although the plan is gone. Only the most recent of these runs are kept.
void late_remember (struct station *self, uint64_t plan_id, uint64_t exec_id, const char *station);

// The station of a remembered run of this plan; `exec_id` 0: of any run of the plan. Empty: not
// found.
struct span late_find_station (const struct station *self, uint64_t plan_id, uint64_t exec_id);

void late_stop (struct station *self);
