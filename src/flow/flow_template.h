// JSON whose strings may be expressions: a string that begins with = is one; a string that begins
// with == is text that begins with a single =.
#pragma once

#include "expr.h"

enum { FLOW_TEMPLATE_SCALAR_MAX = 4096, FLOW_PATH_SIZE = 256 };

struct flow_template;

// FLOW_TEMPLATE_ALWAYS: a string at the top is an expression with or without a =.
enum flow_template_mode { FLOW_TEMPLATE_MARKED, FLOW_TEMPLATE_ALWAYS };

// Called for an expression that is not valid, with its JSON path.
typedef void flow_template_error_fn (void *context, const char *path, const char *reason);

// A new template of the JSON at this path; it keeps a reference to it. Expressions that are not
// valid are reported, and are null in the template.
struct flow_template *flow_template_new (const json_t *json, enum flow_template_mode mode,
                                         const char *path, flow_template_error_fn *wrong,
                                         void *context);
void flow_template_destroy (struct flow_template **self);

// Call for every expression of the template, with its JSON path below `path`.
typedef void flow_template_visitor (void *context, const struct expr *expr, const char *text,
                                    const char *path);
void flow_template_visit (const struct flow_template *self, const char *path,
                          flow_template_visitor *visit, void *context);

// Whether the template contains an expression.
bool flow_template_has_expression (const struct flow_template *self);

// Evaluate: a new reference to a value of at most `max` bytes as text, or NULL with a reason that
// begins with `path` and the path of the part that failed.
json_t *flow_template_evaluate (const struct flow_template *self, const char *path,
                                const struct expr_env *env, size_t max, struct reason *reason);

// The same, but a template that is one expression may return a time, in seconds on the wall clock.
// 1: `ret_local` is a time, 0: `ret` is JSON, -1: a reason.
int flow_template_evaluate_time (const struct flow_template *self, const char *path,
                                 const struct expr_env *env, int64_t *ret_local, json_t **ret,
                                 struct reason *reason);
