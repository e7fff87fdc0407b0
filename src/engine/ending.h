// How a run ends and what follows: the occurrence is retried, the next one is queued, or the plan
// leaves the queue. Calls that return a decision change the plan to match it. For the files of this
// folder.
#pragma once

#include "engine.h"

// The policy by which its failures are retried; NULL: the default, after growing delays.
const struct retry_policy *ending_retry_policy (const struct plan *plan);

// The delay from the present failure, or from the moment when the target did not take the run, to
// the retry.
int64_t ending_retry_delay_ms (const struct plan *plan);

// Complete a decision, as the last step of each: if the plan was paused or closed during the run,
// it stays so; a failed call of a flow and a manual run end. `was` is the plan's state before the
// event.
struct decision ending_finish (struct plan *plan, enum plan_state was, struct decision decision);

// End the plan of a flow's call that has failed permanently; its flow continues from there. Any
// other decision is returned unchanged.
struct decision ending_close_step (struct plan *plan, struct decision decision);

// Drop a run outside the schedule, with its input.
void ending_drop_manual_run (struct plan *plan);

// End a run outside the schedule: whatever its result, the plan returns to its former state.
struct decision ending_finish_manual_run (struct plan *plan, struct decision decision);

// Whether a run without a result counts as a failure: only if its plan has its own retry strategy
// or a timeout. Otherwise a call of a flow is resent, so the crash of a station does not fail a
// flow.
bool ending_lost_is_failure (const struct plan *plan);

// The target did not take the run.
struct decision ending_not_taken (struct plan *plan, uint8_t status, enum commit commit);

// The run failed with this status.
struct decision ending_failed (struct plan *plan, const struct zone *zone, int64_t now,
                               uint8_t status, struct advice advice);

// The occurrence after the present one and after those to be skipped. False: there is none.
bool ending_next (const struct plan *plan, const struct zone *zone, int64_t now,
                  struct misses *ret_misses, struct occurrence *ret);

// Move the plan to the occurrence `next`; NULL: there is none, and the plan ends.
void ending_move_to_next (struct plan *plan, const struct occurrence *next,
                          struct decision *decision);

// Nothing ran: queue the plan again, due in `delay_ms`; park it if it was paused or closed since.
struct decision ending_requeue_or_park (struct plan *plan, int64_t delay_ms);
