// The values that expressions of a run can refer to.
#include <stdlib.h>

#include "flow_turn.h"
#include "memory.h"

struct flow_scope flow_scope_of (const struct flow_turn *turn, uint32_t step, int64_t item)
{
    return (struct flow_scope){.flow = turn->flow,
                               .run = turn->run,
                               .step = step,
                               .item = item,
                               .steps = FLOW_RUN_STEPS_MAX};
}

void flow_scope_clear (struct flow_scope *self, struct flow_turn *turn)
{
    for (size_t i = 0; i < self->let_count; i++)
        json_decref (self->lets[i].json);
    free (self->lets);
    json_decref (self->created);
    turn->effects->steps += FLOW_RUN_STEPS_MAX - self->steps;
}

static int resolve_to_json (json_t *value, struct expr_value *ret)
{
    *ret = expr_of_json (value);
    return 0;
}

// Return a new JSON value, which the scope takes over.
static int resolve_to_created (struct flow_scope *self, json_t *value, struct expr_value *ret)
{
    if (!self->created)
        self->created = json_array ();
    json_array_append_new (self->created, value);
    return resolve_to_json (value, ret);
}

static int resolve_to_text (const char *text, struct expr_value *ret)
{
    *ret = expr_of_string (span_text (text));
    return 0;
}

static int resolve_step (struct flow_scope *self, const struct expr_ref *ref,
                         struct expr_value *ret, struct reason *reason)
{
    int64_t index = flow_find (self->flow, ref->name);
    if (index < 0)
        return EXPR_UNKNOWN;
    const struct flow_node *node = &self->run->nodes[index];
    const struct flow_data *data = self->run->data[index];
    if (strcmp (ref->member, "state") == 0)
        return resolve_to_text (flow_state_name (node->state), ret);
    if (strcmp (ref->member, "error") == 0 && data && data->error)
        return resolve_to_text (data->error, ret);
    if (strcmp (ref->member, "value") == 0 && data && data->value)
        return resolve_to_json (data->value, ret);
    if (data && data->not_kept && strcmp (ref->member, "value") == 0)
        reason_set (reason, "the value of %s was too large to keep", ref->name);
    else
        reason_set (reason, "missing: %s is %s", ref->name, flow_state_name (node->state));
    return EXPR_MISSING;
}

static int resolve_run_member (struct flow_scope *self, const struct expr_ref *ref,
                               struct expr_value *ret)
{
    if (strcmp (ref->member, "id") == 0)
        return resolve_to_text (self->run->id, ret);
    if (strcmp (ref->member, "flow") == 0)
        return resolve_to_text (self->flow->name, ret);
    if (strcmp (ref->member, "outcome") == 0)
        return resolve_to_text (flow_outcome_names[self->run->outcome], ret);
    if (strcmp (ref->member, "failed") == 0 && self->run->uncaught)
        return resolve_to_json (self->run->uncaught, ret);
    *ret = expr_of_integer (self->run->version);
    return 0;
}

// Return a param or let. A param has no value while earlier ones are evaluated.
static int resolve_to_variable (const struct flow_value *value, struct expr_value *ret)
{
    if (value->is_time)
        *ret = expr_of_time (value->local);
    else if (value->json)
        *ret = expr_of_json (value->json);
    return value->is_time || value->json ? 0 : EXPR_UNKNOWN;
}

static int resolve_item (struct flow_scope *self, const struct expr_ref *ref,
                         struct expr_value *ret)
{
    const struct flow_data *data = self->run->data[self->step];
    if (self->item < 0 || !data || !data->items)
        return EXPR_UNKNOWN;
    if (ref->kind == EXPR_REF_ITEM && data->items->list)
        return resolve_to_json (json_array_get (data->items->list, (size_t)self->item), ret);
    *ret = expr_of_integer (self->item);
    return 0;
}

static int resolve_scope_reference (void *context, const struct expr_ref *ref,
                                    struct expr_value *ret, struct reason *reason)
{
    struct flow_scope *self = context;
    const struct flow_run *run = self->run;
    switch (ref->kind) {
    case EXPR_REF_VARIABLE:
        for (size_t i = 0; i < self->flow->param_count; i++)
            if (strcmp (self->flow->params[i].name, ref->name) == 0)
                return resolve_to_variable (&run->params[i], ret);
        for (size_t i = 0; i < self->let_count; i++)
            if (strcmp (self->flow->steps[self->step].lets[i].name, ref->name) == 0)
                return resolve_to_variable (&self->lets[i], ret);
        return EXPR_UNKNOWN;
    case EXPR_REF_INPUT:
        return run->input ? resolve_to_json (run->input, ret)
                          : resolve_to_created (self, json_object (), ret);
    case EXPR_REF_STEP:
        return resolve_step (self, ref, ret, reason);
    case EXPR_REF_RUN:
        return resolve_run_member (self, ref, ret);
    case EXPR_REF_IDC:
        *ret = expr_of_time (strcmp (ref->member, "actualFireTime") == 0 ? run->start
                             : strcmp (ref->member, "createTime") == 0   ? run->created
                             : strcmp (ref->member, "loadDate") != 0     ? run->fire
                             : run->batch != INT64_MIN
                                 ? run->batch
                                 : run->fire - (run->fire % 86400 + 86400) % 86400);
        return 0;
    case EXPR_REF_SELF:
        if (strcmp (ref->member, "value") == 0)
            return self->self ? resolve_to_json (self->self, ret) : EXPR_MISSING;
        return resolve_to_text (flow_state_name (run->nodes[self->step].state), ret);
    case EXPR_REF_ITEM:
    case EXPR_REF_INDEX:
        return resolve_item (self, ref, ret);
    case EXPR_REF_RESULT:
        return self->result ? resolve_to_json (self->result, ret)
                            : resolve_to_created (self, json_null (), ret);
    }
    return EXPR_UNKNOWN;
}

struct expr_env flow_scope_env (struct flow_scope *self)
{
    return (struct expr_env){.resolve = resolve_scope_reference,
                             .context = self,
                             .zone = self->run->zone,
                             .steps = &self->steps};
}

bool flow_scope_evaluate (struct flow_scope *self, const struct expr *expr, struct flow_value *ret,
                          struct reason *reason)
{
    struct expr_env env = flow_scope_env (self);
    return flow_evaluate (expr, &env, FLOW_VALUE_LIST_MAX, ret, reason);
}

int flow_scope_test_condition (struct flow_scope *self, const struct expr *expr,
                               struct reason *reason)
{
    struct flow_value value;
    struct reason why;
    if (!flow_scope_evaluate (self, expr, &value, &why))
        return reason_set (reason, "if: %s", why.text);
    int ret = json_is_boolean (value.json) ? json_is_true (value.json) : -1;
    if (ret < 0)
        reason_set (reason, "if must be a boolean");
    json_decref (value.json);
    return ret;
}

bool flow_scope_evaluate_lets (struct flow_scope *self, struct reason *reason)
{
    const struct flow_step *step = &self->flow->steps[self->step];
    self->lets = memory_new ((step->let_count + 1) * sizeof *self->lets);
    for (size_t i = 0; i < step->let_count; i++) {
        struct reason why;
        if (!flow_scope_evaluate (self, step->lets[i].expr, &self->lets[i], &why)) {
            reason_set (reason, "let.%s: %s", step->lets[i].name, why.text);
            return false;
        }
        self->let_count++;
    }
    return true;
}
