// Answers of runs that are over: they are counted and published as events, and change nothing.
// Source: proto 7.3.
#pragma once

#include "station_state.h"

struct late_answer {
    uint64_t plan_id, exec_id; // exec_id 0: it named no run
    struct span station;       // of the plan's key
    uint8_t status;            // in our numbers
};

void late_report (struct station *self, const struct late_answer *answer);

// A cancelled run was its plan's last one, and the plan is gone: later answers of the run are late
// all the same. The latest of such runs are remembered.
void late_remember (struct station *self, uint64_t plan_id, uint64_t exec_id, const char *station);

// The station of a remembered run, by its number, or by its plan where that is 0. Empty: there is
// none.
struct span late_station (const struct station *self, uint64_t plan_id, uint64_t exec_id);

void late_stop (struct station *self);
