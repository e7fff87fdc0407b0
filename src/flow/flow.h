// The definition of a flow: steps, each of which may wait for others. A definition is JSON, is
// validated as a whole, and is immutable. Pure. Fields and rules: proto/flows.md.
#pragma once

#include "flow_template.h"

enum {
    FLOW_TEXT_MAX = 1000000, // bytes of a definition
    FLOW_STEPS_MAX = 10000,
    FLOW_EDGES_MAX = 50000,
    FLOW_DEPTH_MAX = 16,   // nesting of flows
    FLOW_ERRORS_MAX = 100, // errors that one check reports
    FLOW_NAME_MAX = 64,
    FLOW_ITEMS_MAX = 10000,
    FLOW_VALUE_MAX = 65536,       // bytes of a step's value, or of the input, as JSON
    FLOW_VALUE_LIST_MAX = 524288, // bytes of a value that a for_each reads
    FLOW_CALLS_MAX = 1000000,     // limit of steps_max, the calls of one run
    FLOW_SECONDS_MAX = 31536000,  // the longest timeout or wait, in seconds
    FLOW_PARALLEL = 5             // default of max_parallel
};

enum flow_kind { FLOW_COMPUTE, FLOW_CALL, FLOW_WAIT, FLOW_SIGNAL };

// The states of an edge's source that make the edge live: a set.
enum {
    FLOW_ON_FINISHED = 1,
    FLOW_ON_FAILED = 2,
    FLOW_ON_CAUGHT = 4,
    FLOW_ON_ENDED = 8,
    FLOW_ON_SKIPPED = 16
};

struct flow_edge {
    uint32_t step; // index of the step at the other end
    uint8_t on;
};

enum flow_collect_items { FLOW_COLLECT_LIST, FLOW_COLLECT_COUNT, FLOW_COLLECT_NONE };
enum flow_no_signal_action { FLOW_NO_SIGNAL_FAIL, FLOW_NO_SIGNAL_SKIP, FLOW_NO_SIGNAL_VALUE };

struct flow_let {
    const char *name;
    struct expr *expr;
};

// What a call sends to its target.
struct flow_call {
    const char *target, *command; // `command` is NULL when it is an expression or absent
    struct flow_template *frames; // {"command", "args", "json", "text"}, those that are present
    bool is_flow;                 // the target is a flow
    const char *title;            // title of the call's plan; NULL: FLOW/STEP
    int64_t total_timeout_s;      // 0: none
    json_t *plan; // other fields of the call's plan: retry, timeout, vote ...; NULL: none
};

struct flow_step {
    const char *name;
    enum flow_kind kind;
    uint32_t in_first, in_count, out_first, out_count; // the step's edges in flow.in and flow.out
    bool join_all;
    uint32_t need;           // number of live edges that the join needs, unless join_all
    bool continues_on_error; // on_error: continue
    bool has_on_error;
    bool has_caught;
    bool read_by_for_each; // its value may have FLOW_VALUE_LIST_MAX bytes
    bool may_be_skipped;   // its if, on_timeout or dead edges may skip it
    bool edges_may_die;    // dead edges may skip it
    struct expr *condition;
    struct flow_let *lets;
    size_t let_count;
    struct flow_template *output;
    struct flow_call call;
    struct flow_template *for_each; // NULL: one call
    uint32_t parallel;              // 0: no own limit
    uint32_t max_items;
    uint32_t tolerate; // number of failed items, or percent
    bool tolerate_percent;
    enum flow_collect_items collect;
    struct flow_template *wait;
    uint32_t signal_count;
    const json_t *signal_who; // NULL: everybody
    int64_t signal_timeout_s; // 0: none
    enum flow_no_signal_action on_timeout;
    struct flow_template *no_signal_value;
    bool has_undo;
    bool undo_inner;   // undo: "inner"
    bool undo_started; // undo.on: started
    struct flow_call undo;
    json_t *json; // the step's JSON, with what its kind and the defaults add
};

struct flow_param {
    const char *name;
    const char
        *type; // "string", "integer", "decimal", "boolean", "list", "object", "time" or "any"
    struct flow_template *value; // default; NULL: none
    bool required;
};

// What check reports in addition to errors.
struct flow_report {
    uint64_t steps_max; // calls of a run, sub-flows included
    unsigned depth;
    bool bounded;
    uint64_t seconds_max; // maximum duration of a run; only if bounded
    bool has_tail;        // undos or `finally` take more time, not included in seconds_max
    json_t *because;      // texts: why it is not bounded
    json_t *warnings;     // texts
};

struct flow {
    const char *name;
    json_t *json;
    struct flow_param *params;
    size_t param_count;
    struct flow_step *steps; // in the order of the definition
    uint32_t step_count, edge_count;
    struct flow_edge *in, *out;
    uint32_t *order; // indices of the steps, sources before their targets
    int64_t final;   // the step of `finally`; -1: none
    uint32_t parallel;
    bool has_own_parallel; // `parallel` is from the definition, not the default
    bool fail_fast;
    int64_t timeout_s; // 0: none
    struct flow_template *output;
    json_t *names; // name of a step -> its index
    struct flow_report report;
    void *cached; // entry of this flow in the flow_cache that owns it; NULL: none
};

// What is known of a target.
struct flow_target {
    bool is_flow;
    const struct flow_report *report; // the report of its version in use; NULL: not known
    bool reaches;                     // its calls lead back to the flow that is checked
};

struct flow_world {
    // Whether the target exists; `ret`: what is known of it.
    bool (*target) (void *context, const char *name, struct flow_target *ret);
    void *context;
};

// Parse a definition. Returns a flow for flow_destroy, or NULL with a new list of {"path",
// "reason"} in `ret_errors`, at most FLOW_ERRORS_MAX. `world` NULL: every target exists, and none
// is a flow.
struct flow *flow_parse (struct span text, const struct flow_world *world, json_t **ret_errors);

// Parse the text of a definition to JSON, a new reference. NULL: not valid, with `ret_errors`.
json_t *flow_read_text (struct span text, json_t **ret_errors);

// Like flow_parse, for a definition that is JSON already; it is not changed.
struct flow *flow_read (const json_t *json, const struct flow_world *world, json_t **ret_errors);
void flow_destroy (struct flow **self);

// Whether two definitions are the same except for white space between tokens.
bool flow_text_equal (struct span left, struct span right);

// The kinds of plans that the calls of a flow name, a new object: name -> the path of one such
// call.
json_t *flow_named_kinds (const struct flow *self);
// The fields of a kind that calls may have, a new object.
json_t *flow_kind_fields (const json_t *kind);

// The report as {"steps_max", "depth", "bounded", "because", "seconds_max", "warnings"}, a new
// object.
json_t *flow_report_json (const struct flow *self);

// The maximum number of calls of a step: the items of its for_each; 1 without one.
uint64_t flow_items_max (const struct flow_step *step);

// The index of the step with this name; -1: there is none.
int64_t flow_find (const struct flow *self, const char *name);

// Whether a flow can have this name: 1..64 characters of A-Z a-z 0-9 _ . -
bool flow_name_valid (const char *name);
// Whether a step can have this name: as for a flow, but without dots.
bool flow_step_name_valid (const char *name);
