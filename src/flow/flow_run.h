// A run of a flow: its state, and flow_step, which applies an event to it. Pure: the caller carries
// out the effects. The work of one call of flow_step is limited; `more` asks for another call.
#pragma once

#include "flow.h"

enum {
    FLOW_DECISIONS_MAX = 1024, // decisions of one call of flow_step
    FLOW_PLACED_MAX = 256,     // calls of steps that one call of flow_step places
    FLOW_RUN_STEPS_MAX =
        100000,              // limit of expression steps, of one scope and of one call of flow_step
    FLOW_SIGNALS_MAX = 1000, // signals of one run that wait for their steps
    FLOW_DATA_MAX = 16777216 // bytes of values of one run
};

enum flow_state {
    FLOW_NONE,    // its join is not decided, or blocks it
    FLOW_NEW,     // ready to start, or its call is in flight
    FLOW_RUNNING, // a wait, or a for_each that has started
    FLOW_FINISHED,
    FLOW_FAILED,
    FLOW_SKIPPED,
    FLOW_CANCELLED
};

// The name of a state: "none", "new", "running", ...
const char *flow_state_name (enum flow_state state);

enum {
    FLOW_BLOCKED = 1,             // a failure of a source blocks it; its state is FLOW_NONE
    FLOW_BY_PERSON = 2,           // an operator skipped or cancelled it
    FLOW_JOINED = 4,              // its join has passed
    FLOW_PLACED = 8,              // its call is in flight
    FLOW_END_COUNTED = 16,        // its end is counted in the edge counters of its targets
    FLOW_STOPPING = 32,           // a cancel of its calls in flight was requested
    FLOW_RESETTING = 64,          // a retry resets it once none of its calls is in flight
    FLOW_RESET_UNFINISHED = 128,  // the reset keeps the finished items of a for_each
    FLOW_READY = 256,             // it is in run.ready
    FLOW_DISPATCHED = 512,        // a call of it was placed, so it may have had effects
    FLOW_CHANGED = 1024,          // it is in effects.changed
    FLOW_TOUCHED = 2048,          // it is in run.touched
    FLOW_RETRIED = 4096,          // its next call retries the former run of the sub-flow
    FLOW_RESET_EVALUATION = 8192, // the reset drops its evaluated list or time
    FLOW_STARTED = 16384,         // it was taken from run.ready at least once
    FLOW_RAISE_GENERATION = 32768 // the reset raises its generation even if it had not finished
};

// The timer of a call with total_timeout: none, set, or expired.
enum flow_timer { FLOW_TIMER_NONE, FLOW_TIMER_SET, FLOW_TIMER_OVER };

struct flow_node {
    uint8_t state, timer;
    uint8_t logged; // the last state that a station logged
    uint16_t flags, generation;
    uint16_t live, dead, broken; // numbers of decided edges to it, by kind
    uint32_t ended;              // its position among all ends; 0: none
};

struct flow_item {
    uint8_t state, timer;
    bool dispatched, stopping;
    bool named; // a retry named it: it restarts, whatever its state and the number of failed items
    uint8_t touched; // FLOW_TOUCHED_...
    uint16_t generation;
    uint32_t ended;
    json_t *value;
    char *error;
};

struct flow_items {
    json_t *list; // NULL: for_each is a number, which is `count`
    uint32_t count, next, in_flight, finished, failed;
    uint32_t passes; // items started since the step became ready; part of its key in run.ready
    bool by_name;    // the reset restarts only the items with `named`
    uint32_t *touched, touched_count; // indices of items with rows to be written
    struct flow_item item[];
};

// The parts of a run, apart from nodes, that have changed since its rows were written
// (flow_rows.h).
enum {
    FLOW_TOUCHED_STATE = 1, // state of an item
    FLOW_TOUCHED_ENTRY = 2, // value, time or generation of a step or item
    FLOW_TOUCHED_ERROR = 4,
    FLOW_TOUCHED_LIST = 8, // list of a for_each
    FLOW_TOUCHED_PARAMS = 16,
    FLOW_TOUCHED_INPUT = 32,
    FLOW_TOUCHED_OUTPUT = 64,
    FLOW_TOUCHED_UNCAUGHT = 128
};

// Data that only few nodes have.
struct flow_data {
    json_t *value;
    bool not_kept; // the value was too large, and is dropped
    char *error;
    struct flow_items *items;
    int64_t at; // when its wait or signal timeout ends, in ms; 0: no end
    json_t *signals;
    unsigned touched;         // FLOW_TOUCHED_...
    uint32_t signals_written; // number of rows of `signals` in Redis
    uint32_t
        signals_to_delete;    // number of rows of former signals; those not overwritten are deleted
    uint32_t items_to_delete; // number of rows of former items to be deleted
};

enum flow_phase {
    FLOW_UNBORN,  // not begun
    FLOW_ACTIVE,  // steps run
    FLOW_UNDOING, // undos run
    FLOW_FINAL,   // `finally` runs
    FLOW_ENDED
};
enum flow_outcome {
    FLOW_OPEN,    // none yet
    FLOW_WELL,    // finished
    FLOW_BADLY,   // failed
    FLOW_STOPPED, // cancelled
    FLOW_LATE     // the timeout of the run expired
};

// "running", "finished", "failed", "cancelled", "timeout".
extern const char *const flow_outcome_names[FLOW_LATE + 1];

struct flow_run {
    const char *id; // borrowed
    int version;
    enum flow_phase phase;
    enum flow_outcome outcome;
    bool suspended;   // a command suspended it: nothing starts until it is resumed
    bool stop;        // cancelled or failed as a whole: undecided steps are cancelled
    bool fast;        // a step failed and the flow has fail_fast: steps in progress were cancelled
    bool undone;      // its undos have begun: the only retry it accepts is a restart
    bool undo_parked; // an undo failed, and waits for an operator
    bool forced;      // cancelled with force: it ends without undos and without `finally`
    bool continues_on_error; // on_error of steps without one is continue; set before the run begins
    struct flow_node *nodes;
    struct flow_data **data;
    struct flow_value *params;
    json_t *input, *output;
    char *error;
    // Times in seconds on the wall clock.
    int64_t fire; // nominal time
    int64_t start, created;
    int64_t batch; // loadDate; INT64_MIN: the date of `fire`
    const struct zone *zone;
    uint32_t parallel;          // maximum of calls in flight; 0: none
    uint32_t in_flight;         // number of calls in flight
    uint32_t waiting;           // number of steps that wait
    uint32_t resetting;         // number of steps to be reset
    uint32_t sequence;          // number of ends so far
    uint32_t waiting_signals;   // number of signals that wait for their steps
    size_t signals_size;        // bytes of these signals
    size_t data_size;           // bytes of values
    size_t error_bytes;         // bytes of the errors of items
    struct flow_heap *ready;    // steps that can start
    struct flow_heap *todo;     // decisions that are due
    struct flow_undo *undos;    // undos to run, in reverse order of ends
    size_t undo_count, undo_at; // `undo_at`: index of the next undo, or of that in flight or parked
    json_t *uncaught;           // names of the steps with a failure that nothing handles
    uint32_t *touched, touched_count; // indices of steps with rows to be written
    unsigned touched_fields;          // FLOW_TOUCHED_...
    bool written;                     // its rows exist in Redis
    char head[160], state[160];       // the fields run.head and run.state as last written
};

struct flow_undo {
    uint32_t step;
    int64_t item; // -1: none
    uint32_t ended;
};

enum flow_event_kind {
    FLOW_BEGIN,
    FLOW_CALL_ENDED,
    FLOW_TIMER_DUE, // a timer has expired; for a call its total_timeout, with its last failure or
                    // NULL as `text`
    FLOW_SIGNALLED,
    FLOW_REJECTED, // a signal that fails its step
    FLOW_SKIP,
    FLOW_RETRY,
    FLOW_SUSPEND,
    FLOW_RESUME,
    FLOW_CANCEL,
    FLOW_TIMEOUT,    // the timeout of the run has expired
    FLOW_CHECK,      // no event: continue the work that `more` announced
    FLOW_UNDO_DONE,  // an operator has done the parked undo
    FLOW_UNDO_RESET, // repeat the parked undo
    FLOW_UNDO        // undo a sub-flow's run that has ended; its caller's undo is "inner"
};

enum flow_status { FLOW_OK, FLOW_NOT_OK, FLOW_CALL_CANCELLED };

struct flow_event {
    enum flow_event_kind kind;
    uint32_t step;
    int64_t item; // -1: none
    unsigned generation;
    bool undo;           // FLOW_CALL_ENDED: the call is an undo
    bool force;          // FLOW_CANCEL
    bool fresh, restart; // FLOW_RETRY
    enum flow_status status;
    json_t *value;    // result, signal, value of a skip, or input; borrowed
    const char *text; // error of a call, or reason of a rejection or command
    // The key that sent a signal (NULL: unknown) or a command ("": unknown; NULL: no command).
    const char *key;
    const json_t *steps; // steps that a retry names; NULL: the default ones
    // Params of the flow plan, for FLOW_BEGIN and a fresh retry: an object, a text of lines, or a
    // list of these, in which later ones override earlier ones.
    const json_t *params;
    // For a retry that switches to another version: the definition of the former version, and the
    // number of the new one, whose definition is passed to flow_step.
    const struct flow *former;
    int version;
};

// FLOW_REMOVE cancels a call, FLOW_REMOVE_TIMER removes a timer that has not expired.
enum flow_effect_kind { FLOW_PLACE, FLOW_TIMER, FLOW_REMOVE, FLOW_REMOVE_TIMER };

struct flow_effect {
    enum flow_effect_kind kind;
    uint32_t step;
    int64_t item; // -1: none
    unsigned generation;
    bool undo;  // the call is an undo
    bool inner; // FLOW_PLACE: the call continues or undoes the former run of the sub-flow
    int64_t at; // FLOW_TIMER: when it expires, in ms
    const struct flow_call *call; // FLOW_PLACE: what to call
    json_t *frames;               // FLOW_PLACE: its frames, owned
};

struct flow_effects {
    struct flow_effect *items;
    size_t count, room, placed;
    uint32_t *changed; // indices of steps that changed
    size_t changed_count, changed_room;
    bool more;               // call again with FLOW_CHECK
    bool dropped;            // the event was ignored
    bool run_changed;        // fields of the run have changed
    bool parked;             // an undo has failed permanently: run.undos[run.undo_at]
    struct reason rejected;  // why the event was rejected; empty: it was not
    size_t decisions, steps; // decisions and expression steps used by this call
};

// The items of a step; NULL: it has none, or none yet.
static inline struct flow_items *flow_items_of (const struct flow_run *run, uint32_t step)
{
    return run->data[step] ? run->data[step]->items : NULL;
}

// An item of a step; NULL: there is no such item, as for -1.
static inline struct flow_item *flow_item_of (const struct flow_run *run, uint32_t step,
                                              int64_t item)
{
    struct flow_items *items = flow_items_of (run, step);
    return items && item >= 0 && item < items->count ? &items->item[item] : NULL;
}

// The generation of an item, or else of its step: part of the plan id of its call.
static inline unsigned flow_generation_of (const struct flow_run *run, uint32_t step, int64_t item)
{
    const struct flow_item *found = flow_item_of (run, step, item);
    return found ? found->generation : run->nodes[step].generation;
}

// Whether a step is a wait or signal step in progress.
static inline bool flow_step_waits (const struct flow *flow, const struct flow_run *run,
                                    uint32_t step)
{
    enum flow_kind kind = flow->steps[step].kind;
    return (kind == FLOW_WAIT || kind == FLOW_SIGNAL) && run->nodes[step].state == FLOW_RUNNING;
}

// Whether a run can begin with these params (as in an event) and this input: checks names, required
// params, types of constants, and expressions. False: the reason names the param.
bool flow_check_params (const struct flow *flow, const json_t *params, const json_t *input,
                        struct reason *reason);

// Make a run that has not begun; `id` is borrowed.
struct flow_run *flow_run_new (const struct flow *flow, const char *id);
void flow_run_destroy (struct flow_run **self, const struct flow *flow);

// The number of steps that failed, handled failures included.
uint32_t flow_run_failures (const struct flow *flow, const struct flow_run *run);

// The undo that is next, in flight or parked; NULL: none, as the run is not being undone.
const struct flow_undo *flow_current_undo (const struct flow_run *run);

// The undo that has failed permanently, so that the run waits for an operator; NULL: none.
const struct flow_undo *flow_undo_parked (const struct flow_run *run);

// The state of the undo of a step or item (-1: no item), in a run that is being undone or was
// undone. FLOW_UNDO_NONE also after a forced cancel: the state is unknown then.
enum flow_undo_state {
    FLOW_UNDO_NONE,
    FLOW_UNDO_OVER,
    FLOW_UNDO_WAITS,
    FLOW_UNDO_RUNS,
    FLOW_UNDO_PARKED
};
enum flow_undo_state flow_undo_state (const struct flow *flow, const struct flow_run *run,
                                      uint32_t step, int64_t item);

// Apply an event to the run at `now`, in ms. Effects are appended to `effects`.
void flow_step (const struct flow *flow, struct flow_run *run, const struct flow_event *event,
                int64_t now, struct flow_effects *effects);
// Free what the effects own, and make them empty.
void flow_effects_clear (struct flow_effects *self);
