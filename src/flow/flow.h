// The definition of a flow: steps that wait for each other. A definition is JSON, is validated as a
// whole, and is immutable. Pure. Fields and rules: proto/flows.md.
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
    FLOW_VALUE_MAX = 65536,       // bytes of a value, or of the input
    FLOW_VALUE_LIST_MAX = 524288, // of a value that a for_each reads
    FLOW_CALLS_MAX = 1000000,     // steps_max
    FLOW_SECONDS_MAX = 31536000,  // of a timeout, a wait
    FLOW_PARALLEL = 5
};

enum flow_kind { FLOW_COMPUTE, FLOW_CALL, FLOW_WAIT, FLOW_SIGNAL };

// The states of its source that make an edge live: a set.
enum {
    FLOW_ON_FINISHED = 1,
    FLOW_ON_FAILED = 2,
    FLOW_ON_CAUGHT = 4,
    FLOW_ON_ENDED = 8,
    FLOW_ON_SKIPPED = 16
};

struct flow_edge {
    uint32_t step; // the other end
    uint8_t on;
};

enum flow_collect_items { FLOW_COLLECT_LIST, FLOW_COLLECT_COUNT, FLOW_COLLECT_NONE };
enum flow_no_signal_action { FLOW_NO_SIGNAL_FAIL, FLOW_NO_SIGNAL_SKIP, FLOW_NO_SIGNAL_VALUE };

struct flow_let {
    const char *name;
    struct expr *expr;
};

// What a call sends.
struct flow_call {
    const char *target, *command; // `command` is NULL when it is an expression or absent
    struct flow_template *frames; // {"command", "args", "json", "text"}, those that are present
    bool is_flow;                 // the target is a flow
    const char *title;            // of the plan; NULL = FLOW/STEP
    int64_t total_timeout_s;      // 0 = none
    json_t *plan;                 // fields of the plan: retry, timeout, vote ...; NULL = none
};

struct flow_step {
    const char *name;
    enum flow_kind kind;
    uint32_t in_first, in_count, out_first, out_count; // in flow.in and flow.out
    bool join_all;
    uint32_t need;           // live edges, when not join_all
    bool continues_on_error; // on_error: continue
    bool has_on_error;
    bool has_caught;
    bool read_by_for_each; // so its value may be larger
    bool may_be_skipped;   // by rule, not by an operator
    bool edges_may_die;    // it may be skipped because too few edges are live
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
    bool has_undo, undo_inner, undo_started;
    struct flow_call undo;
    json_t *json; // the step with its defaults
};

struct flow_param {
    const char *name;
    const char *type;            // "any"
    struct flow_template *value; // NULL: none
    bool required;
};

// What check reports in addition to errors.
struct flow_report {
    uint64_t steps_max; // calls of a run, sub-flows included
    unsigned depth;
    bool bounded;
    uint64_t seconds_max;       // when bounded
    bool has_tail;              // the time of undo or finally is not included
    json_t *because, *warnings; // lists of texts
};

struct flow {
    const char *name;
    json_t *json;
    struct flow_param *params;
    size_t param_count;
    struct flow_step *steps; // in the order of the definition
    uint32_t step_count, edge_count;
    struct flow_edge *in, *out;
    uint32_t *order; // the steps, sources before targets
    int64_t final;   // the step that runs last; -1: none
    uint32_t parallel;
    bool parallel_own; // the definition has max_parallel
    bool fail_fast;
    int64_t timeout_s; // 0: none
    struct flow_template *output;
    json_t *names; // step -> index
    struct flow_report report;
};

// What is known of a target.
struct flow_target {
    bool is_flow;
    const struct flow_report *report; // of the version in use; NULL: not known
    bool reaches;                     // it leads back to the flow that is checked
};

struct flow_world {
    // False: there is no such target.
    bool (*target) (void *context, const char *name, struct flow_target *ret);
    void *context;
};

// Parse a definition. NULL: `ret_errors` is a new list of {"path", "reason"}, at most
// FLOW_ERRORS_MAX. `world` NULL: every target exists, and none is a flow.
struct flow *flow_parse (struct span text, const struct flow_world *world, json_t **ret_errors);

// The same for JSON, which is not changed.
struct flow *flow_read (const json_t *json, const struct flow_world *world, json_t **ret_errors);
void flow_destroy (struct flow **self);

// Whether two definitions are the same except for white space between tokens.
bool flow_text_equal (struct span one, struct span other);

// The kinds that calls of a flow name: name -> the path of one such call. flow_kind_fields: those
// fields of a kind that calls may have. New references.
json_t *flow_named_kinds (const struct flow *self);
json_t *flow_kind_fields (const json_t *kind);

// {"steps_max", "depth", "bounded", "because", "seconds_max", "warnings"}, a new reference.
json_t *flow_report_json (const struct flow *self);

// The maximum number of calls of a step: the items of its for_each; 1 without one.
uint64_t flow_items_max (const struct flow_step *step);

// The step of this name, or -1.
int64_t flow_find (const struct flow *self, const char *name);

// Whether a name has 1..64 characters of A-Z a-z 0-9 _ . - ; a step name has no dot.
bool flow_name_valid (const char *name);
bool flow_step_name_valid (const char *name);
