// The reader of definitions, shared by its files.
#pragma once

#include "flow.h"

struct flow_reader {
    struct flow *flow;
    json_t *errors;
    const struct flow_world *world;
    json_t *defaults;    // NULL: none
    json_t *kinds;       // name -> fields; NULL: none
    struct flow_in *ins; // edges by target, as they are read
    size_t in_count, in_room;
    json_t *seen; // "SOURCE TARGET" of each edge -> its place in `ins`
    bool cyclic;  // the steps have no order
};

struct flow_in {
    uint32_t source, target;
    uint8_t on;
};

// Report an error; those beyond FLOW_ERRORS_MAX are dropped.
void flow_add_error (struct flow_reader *self, const char *path, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

enum { FLOW_STEP_PATH_SIZE = 80 };
#define FLOW_VARIABLE_RULE                                                                         \
    "the name of a variable is a letter or _, then letters, digits and _, and not reserved"

// Check that every field of `defaults` may be a default.
void flow_check_defaults (struct flow_reader *self);

// Read the kinds, and report errors in them.
void flow_read_kinds (struct flow_reader *self, json_t *kinds);

// Whether calls or undos may have this field.
bool flow_is_call_field (const char *name);

// Read one step, completed with the fields of its kind and the defaults.
void flow_read_step (struct flow_reader *self, struct flow_step *step);
void flow_step_clear (struct flow_step *step);

// An integer member within bounds; the fallback if it is absent or not valid.
int64_t flow_read_integer (struct flow_reader *self, const json_t *object, const char *path,
                           const char *name, int64_t min, int64_t max, int64_t fallback);

// The template of a member; NULL if it is absent. Reports its errors.
struct flow_template *flow_read_template (struct flow_reader *self, const json_t *json,
                                          const char *path, enum flow_template_mode mode);

// Read the edges of a step's `after`, and of the flow's `edges`.
void flow_read_after (struct flow_reader *self, uint32_t target);
void flow_read_edges (struct flow_reader *self);

// Sort the edges and find cycles; check what expressions refer to.
void flow_link_edges (struct flow_reader *self);
void flow_check_references (struct flow_reader *self);

// Compute the report: steps_max, bounds and warnings.
void flow_compute_report (struct flow_reader *self);

// Whether a constant default has the type of its param.
bool flow_default_has_type (const struct flow_param *param, struct reason *reason);

// What is known of a call's target.
struct flow_target flow_target_of (const struct flow_reader *self, const struct flow_call *call);
