// The cells of a table of plans, for people; shared by list and status.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

// Write the plan's name, or else its id.
void write_plan_name (FILE *out, const json_t *plan);

// Write the schedule: "daily 02:00 Europe/Berlin"; without the time of day if the zone is unknown
// here.
void write_plan_schedule (FILE *out, const json_t *plan);

// Whether the plan waits for a time: its state is queued.
bool plan_waits (const json_t *plan);

// Write when the plan runs next; "-" if it does not wait for a time.
void write_plan_next (FILE *out, const json_t *plan);

// Write how the plan's last run ended, and when it was started: "ok 2 h ago".
void write_plan_last (FILE *out, const json_t *plan);
