// Internals that the files of flow runs share.
#pragma once

#include "station_state.h"
#include "flow_run.h"
#include "plan_step.h"
#include "table.h"

enum {
    FLOW_CHECK_S = 3600,
    FLOW_KEY_SIZE = 80,
    FLOW_LOG_MAX = 1000,    // lines kept in the log of a run
    FLOW_FAILED_SHOWN = 10, // failed items of a step that the log and `show` list
    CANCEL_US = 2000000     // when to check whether a cancelled call has ended
};

// A run in memory.
struct flow_live {
    struct table_node node; // by its number
    struct station *station;
    uint64_t id;
    char name[IDENT_SIZE];   // the number as text
    const struct flow *flow; // held
    int version;
    struct flow_run *run;
    uint64_t plan_id, exec_id; // its flow plan and that plan's run: see flow_live_await_plan
    char flow_name[STATION_NAME_MAX + 1]; // the target of the flow plan
    char parent[PLAN_STEP_SIZE];          // the call that started this sub-flow, "" = none
    char timezone[ZONE_NAME_MAX + 1];     // that of the root's flow plan, "" = the station's
    char *caller;                         // who submitted the flow plan
    json_t *inherit;                      // fields of the flow plan that the plans of calls inherit
    json_t *subs;                         // runs of sub-flows, by their call
    int depth;
    int64_t log_room; // lines until the log is trimmed
    int64_t began_ms, ended_ms, updated_ms;
    int64_t timeout_ms;              // when it times out, 0 = never
    int64_t used_us;                 // monotonic
    int64_t batch;                   // the last batch of the store that wrote a part of it
    size_t bytes;                    // in memory, approximately
    struct flow_live *older, *newer; // by their last use
    const char *shown;               // the state that Redis has for lists; NULL = unknown
    bool unwritten;                  // nothing of it is in Redis
    bool never_retried; // began in this process, was never retried: no id of a call is used twice
    struct flow_event_queue
        *event_queue; // events to publish when this turn is written; NULL = none
};

// Whether a command concerns a step rather than the run.
static inline bool flow_command_has_step (enum flow_event_kind kind)
{
    return kind == FLOW_SIGNALLED || kind == FLOW_REJECTED || kind == FLOW_SKIP;
}

// A run to begin, as its flow plan describes it.
struct flow_begin {
    uint64_t run, plan_id, exec_id;
    const struct plan *plan;
    const struct flow *flow; // flow_live_begin holds it
    int version;
};

// Create a run in memory, without writing anything. It replaces a run of the same number.
struct flow_live *flow_live_begin (struct station *self, const struct flow_begin *begin);

struct flow_live *flow_live_find (struct station *self, uint64_t run);
// Keep the run in memory; this may evict others.
void flow_live_add (struct station *self, struct flow_live *live);
void flow_live_forget (struct flow_live *live);
void flow_live_update_size (struct flow_live *live); // update its size after a change

// -- events: flow_carry.c

// Apply an event to the run. False: it was rejected, with the reason.
bool flow_live_carry (struct flow_live *live, const struct flow_event *event,
                      struct reason *reason);

// The same for a retry that continues with `flow`, another version of the run's definition.
bool flow_live_carry_version (struct flow_live *live, const struct flow_event *event,
                              const struct flow *flow, int version, struct reason *reason);

// Continue a run that had ended: place a new flow plan, unless its own is still in progress.
void flow_live_reopen (struct flow_live *live);

// Make this the flow plan of the run; live->exec_id is the run of that plan.
void flow_live_adopt (struct flow_live *live, uint64_t plan_id);

// The same when a command has reopened the run: exec_id is 0 until the plan is claimed. If the run
// has ended again by then, the plan ends with it.
void flow_live_await_plan (struct flow_live *live, uint64_t plan_id);

// The time zone of its local times.
const struct zone *flow_live_zone (const struct flow_live *live);

// "running", "suspended", "undoing", "finished", "failed", "cancelled", "timeout".
const char *flow_live_state (const struct flow_live *live);

// The state of a step or item as commands show it; for a call in flight, the state of its plan.
const char *flow_live_step_state (const struct flow_live *live, uint32_t step, int64_t item);

// Start the timeout of the run, which the flow plan or else the definition sets.
void flow_live_time (struct flow_live *live, const struct plan *plan);

// Check the run at this time: its flow plan is claimed then.
void flow_live_due (struct flow_live *live, int64_t due_us);
// When to check the run if no event comes: at its timeout, or after FLOW_CHECK_S.
int64_t flow_live_next_us (const struct flow_live *live);

// Cancel this run of a call's plan a little later; other runs of the plan are not affected.
void flow_queue_cancel (const struct flow_live *live, uint64_t plan_id, uint64_t exec_id);

// -- calls: flow_calls.c

// Place the plan of a call. False: the plan was rejected, with the reason.
bool flow_call_place (struct flow_live *live, const struct flow_effect *effect,
                      struct reason *reason);
void flow_timer_place (struct flow_live *live, const struct flow_effect *effect);
void flow_timer_remove (struct flow_live *live, const struct flow_effect *effect);

// The plan of the call that a total_timeout timer limits; for a wait, the timer itself.
uint64_t flow_timer_call (const struct plan_step *step);

// Check the calls in flight: fail those whose plan is gone, take back those being cancelled.
void flow_calls_check (struct flow_live *live);

// Check one call. False: it is not in flight.
bool flow_call_check (struct flow_live *live, uint32_t step, int64_t item);

// Take back a placed call. True: its plan is removed, and the caller must report its end. False:
// the run `ret_exec_id` of the plan `ret_id` must be cancelled; 0: nothing is left to do.
bool flow_call_withdraw (struct flow_live *live, const struct flow_effect *effect, uint64_t *ret_id,
                         uint64_t *ret_exec_id);
// The plan of the current call, or of its undo while the run is undone.
uint64_t flow_call_id (const struct flow_live *live, uint32_t step, int64_t item);
// Whether its call was placed and has not ended; while the run is undone, the same of its undo.
bool flow_call_in_flight (const struct flow_live *live, uint32_t step, int64_t item);
// The target of its call or undo.
const char *flow_call_target (const struct flow_step *step, bool undo);
// Whether its undo has failed permanently and needs an operator.
bool flow_undo_is_parked (const struct flow_live *live, uint32_t step, int64_t item);
unsigned flow_call_generation (const struct flow_live *live, uint32_t step, int64_t item);

// The run of the sub-flow that the call started; 0 = none.
uint64_t flow_call_run (const struct flow_live *live, uint32_t step, int64_t item);
void flow_call_set_run (struct flow_live *live, uint32_t step, int64_t item, uint64_t run);

// -- events for subscribers: flow_news.c

// Add the event that a plan of the run was placed, or taken back.
void flow_news_placed (struct flow_live *live, struct plan *plan);
void flow_news_taken_back (struct flow_live *live, struct span station, uint64_t plan_id);

// Add the events for the outcome of flow_step with this event.
void flow_news_carried (struct flow_live *live, const struct flow_event *event,
                        const struct flow_effects *effects, bool had_ended);

// Publish the added events when the current batch is written. Call it after the last addition.
void flow_news_send (struct flow_live *live);

// -- rows: flow_stored.c

// Write the new version of its definition.
void flow_live_write_version (struct flow_live *live);

// Append the outcome of flow_step with this event to the log of the run. Call it before the rows
// are written. flow_run_log.c.
void flow_live_log (struct flow_live *live, const struct flow_event *event,
                    const struct flow_effects *effects);

// Write what flow_step changed with this event.
void flow_live_write (struct flow_live *live, const struct flow_event *event,
                      const struct flow_effects *effects);

// Read a run from Redis. `call` gets NULL if there is none, if Redis was lost (`lost`), or if the
// stored run is damaged (`damage` says why).
typedef void flow_read_fn (struct station *self, uint64_t run, struct flow_live *live, bool lost,
                           const char *damage);
void flow_live_read (struct station *self, uint64_t run, flow_read_fn *call);
