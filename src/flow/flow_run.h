// A run of a flow: its state, and flow_step, which applies an event to it. Pure: actions outside
// are returned as effects. The work of one call is limited; `more` asks for another call.
#pragma once

#include "flow.h"

enum {
    FLOW_DECISIONS_MAX = 1024,   // of one call
    FLOW_PLACED_MAX = 256,       // calls placed by one call
    FLOW_RUN_STEPS_MAX = 100000, // steps of expressions of one call, and of one node
    FLOW_SIGNALS_MAX = 1000,     // of one run that wait for their step
    FLOW_DATA_MAX = 16777216     // bytes of values of one run
};

enum flow_state {
    FLOW_NONE,
    FLOW_NEW,
    FLOW_RUNNING,
    FLOW_FINISHED,
    FLOW_FAILED,
    FLOW_SKIPPED,
    FLOW_CANCELLED
};

// "none", "new", ...
const char *flow_state_name (enum flow_state state);

enum {
    FLOW_BLOCKED = 1,             // a failure blocks it: shown as none
    FLOW_BY_PERSON = 2,           // an operator skipped or cancelled it
    FLOW_JOINED = 4,              // its join has passed
    FLOW_PLACED = 8,              // its call is in flight
    FLOW_END_COUNTED = 16,        // its targets count its end
    FLOW_STOPPING = 32,           // a cancel of what is in flight was requested
    FLOW_RESETTING = 64,          // it restarts once nothing of it is in flight
    FLOW_RESET_UNFINISHED = 128,  // only unfinished items of a for_each restart
    FLOW_READY = 256,             // it is in run.ready
    FLOW_DISPATCHED = 512,        // it was placed once, so it may have had effects
    FLOW_CHANGED = 1024,          // in effects.changed
    FLOW_TOUCHED = 2048,          // in run.touched
    FLOW_RETRIED = 4096,          // the next call retries the run of the sub-flow
    FLOW_RESET_EVALUATION = 8192, // its for_each or wait is evaluated again
    FLOW_STARTED = 16384,         // it has left the list of ready steps
    FLOW_RAISE_GENERATION = 32768 // a restart: raise its generation even if it had not finished
};

// The timer of a call with total_timeout.
enum flow_timer { FLOW_TIMER_NONE, FLOW_TIMER_SET, FLOW_TIMER_OVER };

struct flow_node {
    uint8_t state, timer;
    uint8_t logged; // the last state that a station logged
    uint16_t flags, generation;
    uint16_t live, dead, broken; // numbers of edges to it
    uint32_t ended;              // its position among all ends; 0: none
};

struct flow_item {
    uint8_t state, timer;
    bool dispatched, stopping;
    bool named;      // it restarts, whatever its state and the number of failed items
    uint8_t touched; // FLOW_TOUCHED_...
    uint16_t generation;
    uint32_t ended;
    json_t *value;
    char *error;
};

struct flow_items {
    json_t *list; // NULL: for_each is a number, see `count`
    uint32_t count, next, in_flight, finished, failed;
    uint32_t passes;                  // items that were started since the step became ready
    bool by_name;                     // only named items restart
    uint32_t *touched, touched_count; // items
    struct flow_item item[];
};

// What, apart from nodes, has changed since the rows of the run were written: flow_rows.h.
enum {
    FLOW_TOUCHED_STATE = 1, // of an item
    FLOW_TOUCHED_ENTRY = 2, // value, time, generation
    FLOW_TOUCHED_ERROR = 4,
    FLOW_TOUCHED_LIST = 8, // of a for_each
    FLOW_TOUCHED_PARAMS = 16,
    FLOW_TOUCHED_INPUT = 32,
    FLOW_TOUCHED_OUTPUT = 64,
    FLOW_TOUCHED_UNCAUGHT = 128
};

// Data that only few nodes have.
struct flow_data {
    json_t *value;
    bool not_kept; // the value was too large
    char *error;
    struct flow_items *items;
    int64_t at; // when its wait or timeout is over, ms; 0: none
    json_t *signals;
    unsigned touched; // FLOW_TOUCHED_...
    // Numbers of rows in Redis: of `signals`; of former signals and items, which must be deleted.
    uint32_t signals_written, signals_to_delete, items_to_delete;
};

enum flow_phase { FLOW_UNBORN, FLOW_ACTIVE, FLOW_UNDOING, FLOW_FINAL, FLOW_ENDED };
enum flow_outcome { FLOW_OPEN, FLOW_WELL, FLOW_BADLY, FLOW_STOPPED, FLOW_LATE };

struct flow_value {
    json_t *json; // or a time:
    bool is_time;
    int64_t local;
};

struct flow_run {
    const char *id; // borrowed
    int version;
    enum flow_phase phase;
    enum flow_outcome outcome;
    bool suspended;   // by a command: nothing starts until it is resumed
    bool stop;        // cancelled or failed as a whole: undecided steps are cancelled
    bool fast;        // a step failed and the flow has fail_fast: undecided steps are cancelled
    bool undone;      // its undos have begun: the only retry it accepts is a restart
    bool undo_parked; // an undo failed, and waits for an operator
    bool forced;      // cancelled with force: it ends without undos and without `finally`
    bool continues_on_error; // default of steps without on_error: continue; set before it begins
    struct flow_node *nodes;
    struct flow_data **data;
    struct flow_value *params;
    json_t *input, *output;
    char *error;
    int64_t fire, start, created; // local seconds
    int64_t batch;                // local seconds; INT64_MIN: the date of `fire`
    const struct zone *zone;
    uint32_t parallel, in_flight, waiting, resetting, sequence, waiting_signals;
    size_t error_bytes; // errors of items
    size_t data_size, signals_size;
    struct flow_heap *ready;
    struct flow_heap *todo;
    struct flow_undo *undos; // what to undo, in reverse order of ends
    size_t undo_count, undo_at;
    json_t *uncaught;                 // names
    uint32_t *touched, touched_count; // steps with rows to be written
    unsigned touched_fields;          // FLOW_TOUCHED_...
    bool written;                     // its rows exist in Redis
    char head[160], state[160];       // two fields as last written
};

struct flow_undo {
    uint32_t step;
    int64_t item; // -1: none
    uint32_t ended;
};

enum flow_event_kind {
    FLOW_BEGIN,
    FLOW_CALL_ENDED,
    FLOW_TIMER_DUE, // a timer; of a call its total_timeout: `text` is its last failure, or NULL
    FLOW_SIGNALLED,
    FLOW_REJECTED,
    FLOW_SKIP,
    FLOW_RETRY,
    FLOW_SUSPEND,
    FLOW_RESUME,
    FLOW_CANCEL,
    FLOW_TIMEOUT,
    FLOW_CHECK,
    FLOW_UNDO_DONE,
    FLOW_UNDO_RESET,
    FLOW_UNDO // of a sub-flow that has ended, whose caller is undone by "inner"
};

enum flow_status { FLOW_OK, FLOW_NOT_OK, FLOW_CALL_CANCELLED };

struct flow_event {
    enum flow_event_kind kind;
    uint32_t step;
    int64_t item; // -1: none
    unsigned generation;
    bool undo, force, fresh, restart;
    enum flow_status status;
    json_t *value;       // result, signal, value of a skip, input; borrowed
    const char *text;    // an error, the reason of a rejection or of a command
    const char *key;     // who signals; NULL: no allow-list. Else: who sent the command,
                         // "": not known; NULL: nobody
    const json_t *steps; // of a retry; NULL: by default
    // Params of the flow plan, for a begin and a fresh retry. An object, a text of lines, or a list
    // of these; later ones override earlier ones.
    const json_t *params;
    // If a retry switches to a newer version, which is the flow of this call: the former flow, and
    // the new version number.
    const struct flow *was;
    int version;
};

// FLOW_REMOVE cancels a call, FLOW_REMOVE_TIMER a timer that has not fired.
enum flow_effect_kind { FLOW_PLACE, FLOW_TIMER, FLOW_REMOVE, FLOW_REMOVE_TIMER };

struct flow_effect {
    enum flow_effect_kind kind;
    uint32_t step;
    int64_t item; // -1: none
    unsigned generation;
    bool undo, inner;             // for FLOW_REMOVE only `undo`
    int64_t at;                   // of a timer, ms
    const struct flow_call *call; // of a call
    json_t *frames;               // of a call
};

struct flow_effects {
    struct flow_effect *items;
    size_t count, room, placed;
    uint32_t *changed; // steps
    size_t changed_count, changed_room;
    bool more, dropped, run_changed;
    bool parked; // an undo has failed permanently: run.undos[run.undo_at]
    struct reason rejected;
    size_t decisions, steps; // used of the budget
};

// Whether a run can begin with these params (as in an event) and this input: checks names, required
// params, types of constants, and expressions. False: the reason names the param.
bool flow_check_params (const struct flow *flow, const json_t *params, const json_t *input,
                        struct reason *reason);

struct flow_run *flow_run_new (const struct flow *flow, const char *id);
void flow_run_destroy (struct flow_run **self, const struct flow *flow);

// How many of its steps failed, handled failures included.
uint32_t flow_run_failures (const struct flow *flow, const struct flow_run *run);

// The undo that has failed permanently, and that the run waits for; NULL: none.
const struct flow_undo *flow_undo_parked (const struct flow_run *run);

// The state of the undo of a step or item (-1: none) in a run that is being undone, or was. Not
// known after a forced cancel.
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
void flow_effects_clear (struct flow_effects *self);
