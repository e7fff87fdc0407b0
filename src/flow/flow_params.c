// The params of a run: defaults of the flow, values of the flow plan, members of the input; later
// ones override earlier ones. They are evaluated in the order of the definition, those of the flow
// plan in the order of the plan; a param may use earlier ones.
#include <limits.h>
#include <stdlib.h>

#include "flow_private.h"
#include "flow_turn.h"
#include "memory.h"

// A param that the flow plan sets.
struct plan_param {
    size_t param;
    const json_t *json;      // its value, if it is a member of an object; else NULL
    const struct expr *expr; // its expression, if it is a line of a text
};

struct plan_params {
    const struct flow *flow;
    struct plan_param *list;
    size_t count;
    struct expr_program **programs;
    size_t program_count;
};

static void plan_params_clear (struct plan_params *self)
{
    for (size_t i = 0; i < self->program_count; i++)
        expr_program_destroy (&self->programs[i]);
    free (self->programs);
    free (self->list);
}

// Add a param of the flow plan. Of params with the same name only the last is kept, at its
// position. False: the flow has no such param.
static bool plan_params_add (struct plan_params *self, const char *name, const json_t *json,
                             const struct expr *expr, struct reason *reason)
{
    size_t param = 0, kept = 0;
    while (param < self->flow->param_count && strcmp (self->flow->params[param].name, name) != 0)
        param++;
    if (param == self->flow->param_count) {
        reason_set (reason, "no such param: %s", quoted (span_text (name)));
        return false;
    }
    for (size_t i = 0; i < self->count; i++)
        if (self->list[i].param != param)
            self->list[kept++] = self->list[i];
    self->list[kept++] = (struct plan_param){param, json, expr};
    self->count = kept;
    return true;
}

static bool read_param_lines (struct plan_params *self, const json_t *text, struct reason *reason)
{
    struct expr_error error;
    struct expr_program *program;
    struct span span = span_of (json_string_value (text), json_string_length (text));
    if (expr_program_compile (span, &program, &error)) {
        reason_set (reason, "%s", error.reason.text);
        return false;
    }
    self->programs =
        memory_resize (self->programs, (self->program_count + 1) * sizeof *self->programs);
    self->programs[self->program_count++] = program;
    for (size_t i = 0; i < program->count; i++)
        if (!plan_params_add (self, program->lines[i].name, NULL, program->lines[i].expr, reason))
            return false;
    return true;
}

// Read params from an object, a text of lines, or a list of these; later ones override earlier
// ones. NULL: none.
static bool plan_params_read (struct plan_params *self, const json_t *params, struct reason *reason)
{
    const char *name;
    json_t *value;
    size_t i;
    bool ok = true;
    if (json_is_string (params))
        return read_param_lines (self, params, reason);
    json_array_foreach (params, i, value) ok = ok && plan_params_read (self, value, reason);
    json_object_foreach ((json_t *)(uintptr_t)params, name, value) ok =
        ok && plan_params_add (self, name, value, NULL, reason);
    return ok;
}

static bool plan_params_new (struct plan_params *self, const struct flow *flow,
                             const json_t *params, struct reason *reason)
{
    *self = (struct plan_params){.flow = flow};
    self->list = memory_new ((flow->param_count + 1) * sizeof *self->list);
    bool ok = plan_params_read (self, params, reason);
    if (!ok)
        plan_params_clear (self);
    return ok;
}

static const struct plan_param *plan_params_find (const struct plan_params *self, size_t param)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->list[i].param == param)
            return &self->list[i];
    return NULL;
}

// The order of evaluation of all params, as a new array of their indices.
static size_t *evaluation_order_new (const struct plan_params *self)
{
    size_t count = 0, params = self->flow->param_count;
    size_t *order = memory_new ((params + 1) * sizeof *order);
    bool *placed = memory_new (params + 1);
    for (size_t i = 0; i < params; i++) {
        const struct plan_param *own_param = plan_params_find (self, i);
        for (const struct plan_param *at = self->list; own_param && at <= own_param; at++)
            if (!placed[at->param]) {
                placed[at->param] = true;
                order[count++] = at->param;
            }
        if (!placed[i])
            order[count++] = i;
        placed[i] = true;
    }
    free (placed);
    return order;
}

// The types of params, as sets of JSON types. A time is no JSON.
enum { ANY_TIME = 1 << 8 };
static const struct param_type {
    const char *name;
    unsigned json;
} param_types[] = {
    {"string", 1 << JSON_STRING},
    {"integer", 1 << JSON_INTEGER},
    {"decimal", 1 << JSON_INTEGER | 1 << JSON_REAL},
    {"boolean", 1 << JSON_TRUE | 1 << JSON_FALSE},
    {"list", 1 << JSON_ARRAY},
    {"object", 1 << JSON_OBJECT},
    {"time", ANY_TIME},
    {"any", UINT_MAX},
};

static const struct param_type *find_param_type (const char *name)
{
    for (size_t i = 0; name && i < sizeof param_types / sizeof *param_types; i++)
        if (strcmp (param_types[i].name, name) == 0)
            return &param_types[i];
    return NULL;
}

bool flow_param_type_valid (const char *type)
{
    return find_param_type (type);
}

// Check that a value has the type of its param. For type time, a text is parsed; an offset is
// converted to the zone (NULL: UTC).
static bool check_value_type (const struct flow_param *param, struct flow_value *value,
                              const struct zone *zone, struct reason *reason)
{
    unsigned types = find_param_type (param->type)->json;
    if (types == ANY_TIME && json_is_string (value->json) &&
        expr_time_parse (span_text (json_string_value (value->json)), zone, &value->local)) {
        json_decref (value->json);
        value->json = NULL;
        value->is_time = true;
    }
    bool ok = types & (value->is_time ? ANY_TIME : 1U << json_typeof (value->json));
    if (!ok)
        reason_set (reason, "param %s: must be of type %s", param->name, param->type);
    return ok;
}

// Make a template of the JSON of a param: strings that begin with = are expressions. NULL with the
// reason.
static struct flow_template *new_param_template (const json_t *json, struct reason *reason)
{
    json_t *errors = json_array (), *first;
    struct flow_template *template = flow_template_new (json, FLOW_TEMPLATE_MARKED, "", errors);
    if ((first = json_array_get (errors, 0))) {
        reason_set (reason, "%s", json_string_value (json_object_get (first, "reason")));
        flow_template_destroy (&template);
    }
    json_decref (errors);
    return template;
}

// -- of a run

static bool evaluate_param_template (struct flow_scope *scope, const struct flow_template *template,
                                     struct flow_value *value, struct reason *reason)
{
    struct expr_env env = flow_scope_env (scope);
    return template && flow_template_evaluate_value (template, "", &env, value, reason);
}

// Evaluate a param from the flow plan, or its default if `own_param` is NULL.
static bool evaluate_param (struct flow_scope *scope, size_t index,
                            const struct plan_param *own_param, struct reason *reason)
{
    const struct flow_param *param = &scope->flow->params[index];
    struct flow_value *value = &scope->run->params[index];
    struct reason why = {""};
    bool ok;
    if (own_param && own_param->expr) {
        ok = flow_scope_evaluate (scope, own_param->expr, value, &why);
    } else if (own_param) {
        struct flow_template *own = new_param_template (own_param->json, &why);
        ok = evaluate_param_template (scope, own, value, &why);
        flow_template_destroy (&own);
    } else {
        ok = evaluate_param_template (scope, param->value, value, &why);
    }
    if (!ok)
        reason_set (reason, "param %s: %s", param->name, why.text);
    return ok && check_value_type (param, value, scope->run->zone, reason);
}

bool flow_evaluate_params (struct flow_turn *turn, const struct flow_event *event,
                           struct reason *reason)
{
    const struct flow *flow = turn->flow;
    struct flow_value *values = turn->run->params;
    struct flow_scope scope = flow_scope_of (turn, UINT32_MAX, -1);
    struct plan_params own_params;
    bool ok = plan_params_new (&own_params, flow, event->params, reason);
    size_t *order = ok ? evaluation_order_new (&own_params) : NULL;
    for (size_t i = 0; ok && i < flow->param_count; i++) {
        size_t at = order[i];
        const struct flow_param *param = &flow->params[at];
        const struct plan_param *own_param = plan_params_find (&own_params, at);
        json_t *input = json_object_get (event->value, param->name);
        if (values[at].json || values[at].is_time)
            continue;
        if (input) {
            values[at].json = json_incref (input);
            ok = check_value_type (param, &values[at], scope.run->zone, reason);
        } else if (own_param || param->value) {
            ok = evaluate_param (&scope, at, own_param, reason);
        } else if (param->required) {
            reason_set (reason, "param %s: is required", param->name);
            ok = false;
        } else {
            values[at].json = json_null ();
        }
    }
    if (order)
        plan_params_clear (&own_params);
    free (order);
    flow_scope_clear (&scope, turn);
    return ok;
}

// -- before a run begins

struct params_check {
    const struct flow *flow;
    const bool *seen; // true for the params that are evaluated earlier
    struct reason *reason;
};

// Check that an expression uses only values that exist when the run begins.
static void check_param_expr (void *context, const struct expr *expr, const char *text,
                              const char *path)
{
    struct params_check *self = context;
    const struct expr_ref *refs;
    size_t count = expr_refs (expr, &refs);
    (void)text;
    (void)path;
    for (size_t i = 0; i < count && !self->reason->text[0]; i++) {
        const struct expr_ref *ref = &refs[i];
        bool known = ref->kind == EXPR_REF_IDC || ref->kind == EXPR_REF_INPUT ||
                     (ref->kind == EXPR_REF_RUN && !flow_reads_outcome (ref));
        for (size_t j = 0; ref->kind == EXPR_REF_VARIABLE && j < self->flow->param_count; j++)
            known = known || (self->seen[j] && strcmp (self->flow->params[j].name, ref->name) == 0);
        if (!known)
            reason_set (self->reason, "column %d: no such variable here: %s%s%s", ref->column,
                        ref->name, ref->member ? "." : "", ref->member ? ref->member : "");
    }
}

// Check that JSON, which is taken over, has the type of its param.
static bool check_json_type (const struct flow_param *param, json_t *json, struct reason *reason)
{
    struct flow_value value = {.json = json};
    bool ok = check_value_type (param, &value, NULL, reason);
    json_decref (value.json);
    return ok;
}

// Check that a constant value has the type of its param.
static bool check_constant (const struct flow_param *param, const struct flow_template *template,
                            struct reason *reason)
{
    struct expr_env env = {0};
    struct reason why;
    json_t *json = flow_template_evaluate (template, "", &env, FLOW_VALUE_LIST_MAX, &why);
    if (!json)
        reason_set (reason, "param %s: %s", param->name, why.text);
    return json && check_json_type (param, json, reason);
}

bool flow_default_has_type (const struct flow_param *param, struct reason *reason)
{
    return !param->value || flow_template_has_expression (param->value) ||
           check_constant (param, param->value, reason);
}

static bool check_plan_param (struct params_check *self, const struct plan_param *own_param)
{
    const struct flow_param *param = &self->flow->params[own_param->param];
    struct reason why = {""}, *reason = self->reason;
    struct flow_template *template = NULL;
    bool ok = true;
    self->reason = &why;
    if (own_param->expr)
        check_param_expr (self, own_param->expr, "", "");
    else if ((template = new_param_template (own_param->json, &why)))
        flow_template_visit (template, "", check_param_expr, self);
    self->reason = reason;
    if (why.text[0]) {
        reason_set (reason, "param %s: %.110s", param->name, why.text);
        ok = false;
    } else if (template && !flow_template_has_expression (template)) {
        ok = check_constant (param, template, reason);
    }
    flow_template_destroy (&template);
    return ok;
}

bool flow_check_params (const struct flow *flow, const json_t *params, const json_t *input,
                        struct reason *reason)
{
    struct plan_params own_params;
    if (!plan_params_new (&own_params, flow, params, reason))
        return false;
    size_t *order = evaluation_order_new (&own_params);
    bool *seen = memory_new (flow->param_count + 1), ok = true;
    struct params_check params_check = {.flow = flow, .seen = seen, .reason = reason};
    for (size_t i = 0; ok && i < flow->param_count; i++) {
        const struct flow_param *param = &flow->params[order[i]];
        const struct plan_param *own_param = plan_params_find (&own_params, order[i]);
        json_t *member = json_object_get (input, param->name);
        if (own_param)
            ok = check_plan_param (&params_check, own_param);
        if (ok && member) {
            ok = check_json_type (param, json_incref (member), reason);
        } else if (ok && !own_param && !param->value && param->required) {
            reason_set (reason, "param %s: is required", param->name);
            ok = false;
        }
        seen[order[i]] = true;
    }
    free (seen);
    free (order);
    plan_params_clear (&own_params);
    return ok;
}
