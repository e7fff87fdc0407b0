// How a run of a plan ends, and what follows: its occurrence is tried again, the next one's turn
// comes, or the plan leaves the queue. Each call changes the plan and returns what is to be done.
// For the files of this folder.
#pragma once

#include "engine.h"

// Whether the plan says itself how its failures are retried.
bool ending_says_retry (const struct plan *plan);

// How its failures are retried; NULL: as those of plans that say nothing, at a growing pace.
const struct retry_policy *ending_retry (const struct plan *plan);

// How long the present failure waits for its retry.
int64_t ending_delay_ms (const struct plan *plan);

// Whether the present occurrence has failed, or was not taken by its target, and is tried again;
// and milliseconds from then to that.
bool ending_is_retry (const struct plan *plan);
int64_t ending_wait_ms (const struct plan *plan);

// Respect that the plan was paused or closed during its run. `was` is its state before the event.
// Every path ends with this.
struct decision ending_settle (struct plan *plan, enum plan_state was, struct decision decision);

// A call of a flow that has failed for good is over. Any other decision stays as it is.
struct decision ending_of_step (struct plan *plan, struct decision decision);

// A run outside the schedule is over, whatever its result.
struct decision ending_of_extra (struct plan *plan, struct decision decision);

// Whether a run without a result is a failure: its plan says what is to be done about failures. A
// call of a flow without such a rule is sent again: a station that dies fails no flow.
bool ending_lost_is_failure (const struct plan *plan);

// The target did not take it.
struct decision ending_not_taken (struct plan *plan, uint8_t status, enum commit commit);

// The run failed with this status.
struct decision ending_failed (struct plan *plan, const struct zone *zone, int64_t now,
                               uint8_t status, struct advice advice);

// The occurrence after the present one, and after those that were to be skipped then. False: there
// is none.
bool ending_next (const struct plan *plan, const struct zone *zone, int64_t now,
                  struct misses *ret_misses, struct occurrence *ret);

// To the next occurrence, or NULL: that was the last.
void ending_go_on (struct plan *plan, const struct occurrence *next, struct decision *decision);

// Nothing was run: back to the queue, due in `delay_ms`.
struct decision ending_put_back (struct plan *plan, int64_t delay_ms);
