// Private to the files of flow runs.
#pragma once

#include "station_state.h"
#include "flow_run.h"
#include "plan_step.h"
#include "table.h"

enum {
    FLOW_CHECK_S = 3600,
    FLOW_KEY_SIZE = 80,
    FLOW_LOG_MAX = 1000,    // lines of a run's log that are kept
    FLOW_FAILED_SHOWN = 10, // failed items of a step that its log and `show` name
    CANCEL_US = 2000000     // after which it is looked whether a call that is to end has
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
    uint64_t plan_id, exec_id; // its flow plan, and the run of that: flow_live_await_plan
    char flow_name[STATION_NAME_MAX + 1]; // the target of the flow plan
    char parent[PLAN_STEP_SIZE];          // the call that a sub-flow is run for, "" = none
    char timezone[ZONE_NAME_MAX + 1];     // of the root's flow plan, "" = the station's own
    char *caller;                         // who submitted the flow plan
    json_t *inherit;                      // fields of it for the plans of calls
    json_t *subs;                         // runs of sub-flows, by their call
    int depth;
    int64_t log_room; // lines that it takes until it is cut
    int64_t began_ms, ended_ms, updated_ms;
    int64_t timeout_ms;              // when it times out, 0 = never
    int64_t used_us;                 // monotonic
    int64_t batch;                   // of the store: something of it was written with it last
    size_t bytes;                    // in memory, approximately
    struct flow_live *older, *newer; // by their last use
    const char *shown;               // the state that Redis has for lists; NULL = not known
    bool unwritten;                  // nothing of it is in Redis
    bool straight; // it began in this process and was never retried: no id of a call is used twice
    struct flow_news *news; // what is published when this turn is written; NULL = nothing
};

// Whether a command is about a step; else it is about the run.
static inline bool flow_command_has_step (enum flow_event_kind kind)
{
    return kind == FLOW_SIGNALLED || kind == FLOW_REJECTED || kind == FLOW_SKIP;
}

// What a flow plan says of a run that begins.
struct flow_begin {
    uint64_t run, plan_id, exec_id;
    const struct plan *plan;
    const struct flow *flow; // kept
    int version;
};

// One that begins: it is in memory, and nothing is written. One of this number that was there is
// forgotten.
struct flow_live *flow_live_begin (struct station *self, const struct flow_begin *begin);

struct flow_live *flow_live_find (struct station *self, uint64_t run);
// It is in memory from now on; others may be forgotten for it.
void flow_live_add (struct station *self, struct flow_live *live);
void flow_live_forget (struct flow_live *live);
void flow_live_weigh (struct flow_live *live); // it has changed

// -- events: flow_carry.c

// Carry it over an event. False: it was rejected, with the reason.
bool flow_live_carry (struct flow_live *live, const struct flow_event *event,
                      struct reason *reason);

// The same of a retry that goes on by this definition, another version of the run's.
bool flow_live_carry_version (struct flow_live *live, const struct flow_event *event,
                              const struct flow *flow, int version, struct reason *reason);

// A run that had ended goes on: a flow plan is placed for it, if its own has ended with it.
void flow_live_reopen (struct flow_live *live);

// Its flow plan is this one from now on, in its run `exec_id`.
void flow_live_adopt (struct flow_live *live, uint64_t plan_id);

// The same by a command, which has reset the run: `exec_id` is 0 until the plan is claimed. Should
// the run have ended again by then, the plan ends with it.
void flow_live_await_plan (struct flow_live *live, uint64_t plan_id);

// The zone that its times are of.
const struct zone *flow_live_zone (const struct flow_live *live);

// "running", "suspended", "undoing", "finished", "failed", "cancelled", "timeout".
const char *flow_live_state (const struct flow_live *live);

// The state of a step, or item, as commands show it: of a call in flight that of its plan.
const char *flow_live_step_state (const struct flow_live *live, uint32_t step, int64_t item);

// Start the run's timeout, as its flow plan sets it.
void flow_live_time (struct flow_live *live, const struct plan *plan);

// Look at it again then: its flow plan is claimed.
void flow_live_due (struct flow_live *live, int64_t due_us);
// When nothing happens: at its timeout, or after FLOW_CHECK_S.
int64_t flow_live_next_us (const struct flow_live *live);

// End this run of a call's plan a little later; another one of it is left alone.
void flow_cancel_later (const struct flow_live *live, uint64_t plan_id, uint64_t exec_id);

// -- calls: flow_calls.c

// False: its plan is rejected, with the reason.
bool flow_call_place (struct flow_live *live, const struct flow_effect *effect,
                      struct reason *reason);
void flow_timer_place (struct flow_live *live, const struct flow_effect *effect);
void flow_timer_remove (struct flow_live *live, const struct flow_effect *effect);

// The plan of the call whose total_timeout a timer is; of a wait the timer itself.
uint64_t flow_timer_call (const struct plan_step *step);

// Look at the calls in flight: one whose plan is gone has failed, one that is to end is taken back.
void flow_calls_check (struct flow_live *live);

// One of them. False: it is not in flight.
bool flow_call_check (struct flow_live *live, uint32_t step, int64_t item);

// Take back a placed call. True: its plan is gone, and nothing else reports its end. Else `ret_out`
// is the run of the plan `ret_id` that has to be ended; 0: nothing is left to do.
bool flow_call_take_back (struct flow_live *live, const struct flow_effect *effect,
                          uint64_t *ret_id, uint64_t *ret_out);
// The plan of the present call.
uint64_t flow_call_id (const struct flow_live *live, uint32_t step, int64_t item);
// Whether a call of it was placed and has not ended; of its undo, while that goes on.
bool flow_call_in_flight (const struct flow_live *live, uint32_t step, int64_t item);
// Where its call goes, or its undo.
const char *flow_call_target (const struct flow_step *step, bool undo);
// Whether its undo has failed permanently, and its run waits for an operator.
bool flow_undo_is_parked (const struct flow_live *live, uint32_t step, int64_t item);
unsigned flow_call_generation (const struct flow_live *live, uint32_t step, int64_t item);

// The run of a sub-flow; 0 = none.
uint64_t flow_call_run (const struct flow_live *live, uint32_t step, int64_t item);
void flow_call_set_run (struct flow_live *live, uint32_t step, int64_t item, uint64_t run);

// -- what subscribers of events get: flow_news.c

// A plan of it was placed, or taken back.
void flow_news_placed (struct flow_live *live, struct plan *plan);
void flow_news_taken_back (struct flow_live *live, struct span station, uint64_t plan_id);

// What a call of flow_step that took this event came to.
void flow_news_carried (struct flow_live *live, const struct flow_event *event,
                        const struct flow_effects *effects, bool had_ended);

// Publish all that as soon as it is written. Call it at the end of what added to it.
void flow_news_send (struct flow_live *live);

// -- rows: flow_stored.c

// It goes on by another version of its definition.
void flow_live_write_version (struct flow_live *live);

// Lines of the log about the outcome of a call of flow_step that took this event, before its rows
// are written: flow_run_log.c.
void flow_live_log (struct flow_live *live, const struct flow_event *event,
                    const struct flow_effects *effects);

// What a call of flow_step that took this event changed.
void flow_live_write (struct flow_live *live, const struct flow_event *event,
                      const struct flow_effects *effects);

// Read a run; `call` gets NULL when there is none, or when Redis is away (`lost`).
typedef void flow_read_fn (struct station *self, uint64_t run, struct flow_live *live, bool lost,
                           const char *damage);
void flow_live_read (struct station *self, uint64_t run, flow_read_fn *call);
