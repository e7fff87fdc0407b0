// Internals that the files of flow runs share.
#pragma once

#include "station_state.h"
#include "flow_run.h"
#include "plan_step.h"
#include "table.h"

enum {
    FLOW_CHECK_S = 3600, // seconds between checks of a run without events
    FLOW_KEY_SIZE = 80,
    FLOW_LOG_MAX = 1000,    // lines kept in the log of a run
    FLOW_FAILED_SHOWN = 10, // failed items of a step that the log and `show` list
    CANCEL_US = 2000000     // time until the check whether a cancelled call has ended
};

// A run in memory.
struct flow_live {
    struct table_node node; // in flow_runs.lives, by its number
    struct station *station;
    uint64_t id;
    char name[IDENT_SIZE];   // `id` as text
    const struct flow *flow; // held in the flow book
    int version;
    struct flow_run *run;
    uint64_t plan_id, exec_id; // its flow plan, and the run of that plan: see flow_live_await_plan
    char flow_name[STATION_NAME_MAX + 1]; // the target of the flow plan
    char parent[PLAN_STEP_SIZE];          // the call that started this sub-flow, "" = none
    char timezone[ZONE_NAME_MAX + 1]; // zone of the outermost run's flow plan; "": the station's
    char *caller;                     // who submitted the flow plan
    json_t *inherit;                  // fields of the flow plan that the plans of calls inherit
    json_t *subs;                     // ids of the runs of sub-flows, by the call that started them
    int depth;
    int64_t log_room; // lines to append until the log is trimmed
    int64_t began_ms, ended_ms, updated_ms;
    int64_t timeout_ms;              // when the run times out; 0: never
    int64_t used_us;                 // last use, monotonic
    int64_t batch;                   // number of the last batch of the store with rows of the run
    size_t bytes;                    // approximate bytes in memory
    struct flow_live *older, *newer; // list of runs by last use
    const char *shown;               // the state that Redis has for lists; NULL = unknown
    bool unwritten;                  // no row of the run was written
    bool calls_are_first; // no call reuses a plan id; false: unknown after a read or restart
    struct flow_event_queue *event_queue; // events to publish when this turn is written; NULL: none
};

// Whether a command concerns a step rather than the run.
static inline bool flow_command_has_step (enum flow_event_kind kind)
{
    return kind == FLOW_SIGNALLED || kind == FLOW_REJECTED || kind == FLOW_SKIP;
}

// What flow_live_begin needs to begin a run.
struct flow_begin {
    uint64_t run, plan_id, exec_id;
    const struct plan *plan;
    const struct flow *flow; // flow_live_begin holds it
    int version;
};

// Create a run in memory, without writing anything. It replaces a run of the same number.
struct flow_live *flow_live_begin (struct station *self, const struct flow_begin *begin);

// Find a run in memory and mark it as used; NULL: it is not in memory.
struct flow_live *flow_live_find (struct station *self, uint64_t run);
// Keep the run in memory; this may evict others.
void flow_live_add (struct station *self, struct flow_live *live);
// Free a run that is not in flow_runs.lives. Its parts may be missing.
void flow_live_free (struct flow_live *live);
// Remove a run from memory, and free it.
void flow_live_forget (struct flow_live *live);
void flow_live_update_size (struct flow_live *live); // Update the size of a run after a change.

// -- events: flow_apply.c

// Apply an event to the run. False: it was rejected, with the reason.
bool flow_live_apply (struct flow_live *live, const struct flow_event *event,
                      struct reason *reason);

// Like flow_live_apply, for a retry that continues with `flow`, another version of the run's
// definition.
bool flow_live_apply_version (struct flow_live *live, const struct flow_event *event,
                              const struct flow *flow, int version, struct reason *reason);

// Continue a run that had ended: place a new flow plan, unless its own is still in progress.
void flow_live_reopen (struct flow_live *live);

// Set the flow plan of the run; live->exec_id must be the run of that plan.
void flow_live_adopt (struct flow_live *live, uint64_t plan_id);

// Set the flow plan of a run that a command has reopened: exec_id is 0 until the plan is claimed.
// If the run has ended by then, the plan ends with it.
void flow_live_await_plan (struct flow_live *live, uint64_t plan_id);

// The time zone of the run's local times.
const struct zone *flow_live_zone (const struct flow_live *live);

// The state of a run as commands show it: "running", "suspended", "undoing", "finished", "failed",
// "cancelled" or "timeout".
const char *flow_live_state (const struct flow_live *live);

// The state of a step or item as commands show it; for a call in flight, the state of its plan.
const char *flow_live_step_state (const struct flow_live *live, uint32_t step, int64_t item);

// Start the timeout of the run, which its flow plan or else its definition sets.
void flow_live_start_timeout (struct flow_live *live, const struct plan *plan);

// Make the flow plan of the run due at this time: the run is checked when the plan is claimed.
void flow_live_set_due (struct flow_live *live, int64_t due_us);
// When to check the run if no event comes: at its timeout, or after FLOW_CHECK_S.
int64_t flow_live_next_us (const struct flow_live *live);

// Cancel this run of a call's plan a little later; other runs of the plan are not affected.
void flow_queue_cancel (const struct flow_live *live, uint64_t plan_id, uint64_t exec_id);

// -- calls: flow_calls.c

// Place the plan of a call. False: the plan was rejected, with the reason.
bool flow_call_place (struct flow_live *live, const struct flow_effect *effect,
                      struct reason *reason);
// Place the plan of a timer.
void flow_timer_place (struct flow_live *live, const struct flow_effect *effect);
// Remove the plan of a timer.
void flow_timer_remove (struct flow_live *live, const struct flow_effect *effect);

// The id of the plan that a timer belongs to: for a total_timeout the plan of the call, for a wait
// the timer itself.
uint64_t flow_timer_call (const struct plan_step *step);

// Check the calls in flight: fail those whose plan is lost, withdraw those that are being
// cancelled.
void flow_calls_check (struct flow_live *live);

// Check one call. Returns whether it is in flight.
bool flow_call_check (struct flow_live *live, uint32_t step, int64_t item);

// Withdraw a placed call. True: its plan is removed, and the caller must report its end. False: the
// plan `ret_id` is running, and the caller must cancel its run `ret_exec_id`; 0: nothing is left to
// do.
bool flow_call_withdraw (struct flow_live *live, const struct flow_effect *effect, uint64_t *ret_id,
                         uint64_t *ret_exec_id);
// The id of the plan of the current call, or of its undo while the run is undone.
uint64_t flow_call_id (const struct flow_live *live, uint32_t step, int64_t item);
// Whether the call of a step or item is in flight; while the run is undone, whether its undo is in
// flight or parked.
bool flow_call_in_flight (const struct flow_live *live, uint32_t step, int64_t item);
// The target of a step's call or undo.
const char *flow_call_target (const struct flow_step *step, bool undo);
// Whether the undo of a step or item has failed permanently and needs an operator.
bool flow_undo_is_parked (const struct flow_live *live, uint32_t step, int64_t item);

// The run of the sub-flow that the call started; 0 = none.
uint64_t flow_call_run (const struct flow_live *live, uint32_t step, int64_t item);
// Set the run of the sub-flow that the call started, and write it.
void flow_call_set_run (struct flow_live *live, uint32_t step, int64_t item, uint64_t run);

// -- events for subscribers: flow_events.c

// Queue the event that a plan of the run was placed.
void flow_events_plan_placed (struct flow_live *live, struct plan *plan);
// Queue the event that a plan of the run was withdrawn.
void flow_events_plan_deleted (struct flow_live *live, struct span station, uint64_t plan_id);

// Queue the events for the outcome of flow_step with this event.
void flow_events_applied (struct flow_live *live, const struct flow_event *event,
                          const struct flow_effects *effects, bool had_ended);

// Publish the queued events when the current batch is written. Call this after the last addition.
void flow_events_publish (struct flow_live *live);

// -- rows: flow_stored.c

// Write the version of the definition that the run uses now.
void flow_live_write_version (struct flow_live *live);

// Append the outcome of flow_step with this event to the log of the run. Call it before the rows
// are written. flow_run_log.c.
void flow_live_log (struct flow_live *live, const struct flow_event *event,
                    const struct flow_effects *effects);

// Write what flow_step changed with this event.
void flow_live_write (struct flow_live *live, const struct flow_event *event,
                      const struct flow_effects *effects);

// Receives a run, or NULL: there is none, Redis was lost (`lost`), or the stored run is damaged
// (`damage` says why).
typedef void flow_read_fn (struct station *self, uint64_t run, struct flow_live *live, bool lost,
                           const char *damage);
// Read a run from Redis, without keeping it in memory: `call` decides.
void flow_live_read (struct station *self, uint64_t run, flow_read_fn *call);
