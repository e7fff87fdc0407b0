// Internals that the files of the definition reader share.
#pragma once

#include "flow.h"

struct flow_reader {
    struct flow *flow;
    json_t *errors;
    const struct flow_world *world;
    json_t *defaults;              // NULL: none
    json_t *kinds;                 // name -> fields; NULL: none
    struct flow_edge_entry *edges; // all edges, in the order of reading
    size_t edge_count, edge_room;
    json_t *edge_set; // the edges read so far, as "SOURCE TARGET" indices
    bool cyclic;      // the edges have a cycle, so the steps have no order
};

// An edge as the definition has it.
struct flow_edge_entry {
    uint32_t source, target;
    uint8_t on;
};

// Add an error at a path; those beyond FLOW_ERRORS_MAX are dropped.
void flow_add_error (struct flow_reader *self, const char *path, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

// A path of a definition.
struct flow_path {
    char text[FLOW_PATH_SIZE];
};
// The path of the member `name` below `path`, which is "" for the flow itself.
struct flow_path flow_path_of (const char *path, const char *name);

// Add a warning, or a reason why a run is not bounded, to a list; those beyond FLOW_ERRORS_MAX are
// dropped.
void flow_add_warning (json_t *list, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));

// Whether a name is one of `names`, which end with NULL.
bool flow_is_one_of (const char *name, const char *const *names);

#define FLOW_VARIABLE_RULE                                                                         \
    "the name of a variable is a letter or _, then letters, digits and _, and not reserved"

// Check that every field of `defaults` may be a default.
void flow_check_defaults (struct flow_reader *self);

// Read `kinds`, the copies of plan kinds in the definition, and report errors in them.
void flow_read_kinds (struct flow_reader *self, json_t *kinds);

// Whether calls or undos may have the field of this name.
bool flow_is_call_field (const char *name);

// Read one step, completed with the fields of its kind and the defaults.
void flow_read_step (struct flow_reader *self, struct flow_step *step);
// Free what the step owns, but not the step itself.
void flow_step_clear (struct flow_step *step);

// Read an integer member; the fallback if it is absent, or out of bounds, which is reported.
int64_t flow_read_integer (struct flow_reader *self, const json_t *object, const char *path,
                           const char *name, int64_t min, int64_t max, int64_t fallback);

// Make the template of a member, which the caller owns; NULL if `json` is NULL. Reports its errors.
struct flow_template *flow_read_template (struct flow_reader *self, const json_t *json,
                                          const char *path, enum flow_template_mode mode);

// Read the edges of the `after` of step number `target`.
void flow_read_after (struct flow_reader *self, uint32_t target);
// Read the edges of the flow's `edges`.
void flow_read_edges (struct flow_reader *self);

// Make the arrays of edges, read the joins, sort the steps, and report cycles.
void flow_link_edges (struct flow_reader *self);
// Check what expressions refer to, and find the steps that may be skipped or never start.
void flow_check_references (struct flow_reader *self);

// Whether a reference is to how the run ends: run.outcome or run.failed.
bool flow_reads_outcome (const struct expr_ref *ref);

// Compute flow.report: steps_max, bounds and warnings.
void flow_compute_report (struct flow_reader *self);

// Whether params can have this type.
bool flow_param_type_valid (const char *type);

// Whether the default of a param has its type; a default with expressions always passes. False: the
// reason says why.
bool flow_default_has_type (const struct flow_param *param, struct reason *reason);

// Return what `world` knows of the target of a call.
struct flow_target flow_target_of (const struct flow_reader *self, const struct flow_call *call);
