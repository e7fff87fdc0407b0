// JSON whose strings may be expressions: a string that begins with = is an expression; a string
// that begins with == is text that begins with a single =.
#pragma once

#include "expr.h"

enum { FLOW_TEMPLATE_SCALAR_MAX = 4096, FLOW_PATH_SIZE = 256 };

struct flow_template;

// FLOW_TEMPLATE_ALWAYS: if the whole template is a string, it is an expression with or without =.
enum flow_template_mode { FLOW_TEMPLATE_MARKED, FLOW_TEMPLATE_ALWAYS };

// Append an error, {"path", "reason"}, to a list; those beyond FLOW_ERRORS_MAX are dropped.
void flow_errors_add (json_t *errors, const char *path, const char *reason);

// Make a template of the JSON at this path, and keep a reference to the JSON. An expression that is
// not valid is added to the errors, and is null in the template.
struct flow_template *flow_template_new (const json_t *json, enum flow_template_mode mode,
                                         const char *path, json_t *errors);
void flow_template_destroy (struct flow_template **self);

// Call `visit` for every expression of the template, with its JSON path below `path`.
typedef void flow_template_visitor (void *context, const struct expr *expr, const char *text,
                                    const char *path);
void flow_template_visit (const struct flow_template *self, const char *path,
                          flow_template_visitor *visit, void *context);

// Whether the template contains an expression.
bool flow_template_has_expression (const struct flow_template *self);

// Evaluate the template. Returns a new reference to a value of at most `max` bytes as JSON, or NULL
// with a reason that begins with `path` and the path of the part that failed.
json_t *flow_template_evaluate (const struct flow_template *self, const char *path,
                                const struct expr_env *env, size_t max, struct reason *reason);

// A value that may be a time, which is not JSON.
struct flow_value {
    json_t *json; // NULL: a time, or no value
    bool is_time;
    int64_t local; // seconds on the wall clock
};

// Evaluate an expression. `ret` has a new reference to JSON of at most `max` bytes, or a time.
// False: failed, with the reason.
bool flow_evaluate (const struct expr *expr, const struct expr_env *env, size_t max,
                    struct flow_value *ret, struct reason *reason);

// The value as JSON, a new reference: a time as text; NULL: no value.
json_t *flow_value_json (const struct flow_value *value);

// Like flow_template_evaluate, but a template that is one expression may return a time, and other
// values of it have at most FLOW_TEMPLATE_SCALAR_MAX bytes; lists and objects with expressions have
// at most FLOW_VALUE_MAX.
bool flow_template_evaluate_value (const struct flow_template *self, const char *path,
                                   const struct expr_env *env, struct flow_value *ret,
                                   struct reason *reason);
