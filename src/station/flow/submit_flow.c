#include "submit_flow.h"

#include "codes.h"
#include "expr.h"
#include "flow_run.h"
#include "json.h"

int submit_check_input (const struct message *message, struct reason *reason)
{
    struct span input = {0};
    struct reason why;
    size_t count = 0;
    for (size_t i = 0; i < message->desc.count; i++)
        if (message->desc.types[i] == ZERO_FRAME_JSON && ++count == 1)
            input = message->frames[i];
    if (count > 1) {
        reason_set (reason, "JSON: a flow takes one frame, its input, got %zu", count);
        return ZPLAN_EPLAN;
    }
    if (input.size > FLOW_VALUE_MAX) {
        reason_set (reason, "JSON: the input of a flow has at most %d bytes, got %zu",
                    FLOW_VALUE_MAX, input.size);
        return ZPLAN_EPLAN;
    }
    json_t *json = count ? expr_read_json (input, &why) : NULL;
    bool good = !count || json_is_object (json);
    if (!good)
        reason_set (reason, "JSON: the input of a flow: %s", json ? "want an object" : why.text);
    json_decref (json);
    return good ? 0 : ZPLAN_EPLAN;
}

static int check_batch (const json_t *batch, struct reason *reason)
{
    int64_t local;
    struct span text = span_of (json_string_value (batch), json_string_length (batch));
    if (!batch || expr_time_parse (text, NULL, &local))
        return 0;
    reason_set (reason, "batch: want a date or a time, as 2024-01-31 or 2024-01-31T08:30, got %s",
                quoted (text));
    return ZPLAN_EPLAN;
}

int submit_check_flow (enum vote_need need, const struct policy *policy, struct reason *reason)
{
    bool workers = policy && policy->workers.count;
    if (need == VOTE_NONE && !workers)
        return check_batch (policy ? json_object_get (policy->fields, "batch") : NULL, reason);
    reason_set (reason, "%s: is for plans of %s targets, this one is of a flow",
                workers ? "workers" : "vote", workers ? "pull" : "vote");
    return ZPLAN_EPLAN;
}

json_t *submit_input_of (const struct plan *plan)
{
    struct desc desc;
    struct reason reason;
    if (plan->message_count < 2 ||
        desc_parse (plan->messages[1], plan->message_count - 2, &desc, &reason))
        return NULL;
    for (size_t i = 0; i < desc.count; i++)
        if (desc.types[i] == ZERO_FRAME_JSON)
            return json_read_object (plan->messages[2 + i], &reason);
    return NULL;
}

static bool check_run_with (const json_t *with, struct reason *reason)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)with, name, value)
    {
        if (strcmp (name, "batch") != 0 && strcmp (name, "params") != 0) {
            reason_set (reason, "run: %s: unknown field", quoted (span_text (name)));
            return false;
        }
    }
    struct policy *policy = policy_read (with, reason);
    bool valid = policy && !check_batch (json_object_get (with, "batch"), reason);
    policy_destroy (&policy);
    return valid;
}

json_t *submit_read_run_with (struct span text, struct reason *reason)
{
    json_t *with = NULL;
    if (text.size > PLAN_RUN_WITH_MAX)
        reason_set (reason, "run: at most %d bytes of JSON, got %zu", PLAN_RUN_WITH_MAX, text.size);
    else
        with = json_read_object (text, reason);
    if (with && !check_run_with (with, reason)) {
        json_decref (with);
        with = NULL;
    }
    return with;
}

int submit_check_params (const struct flow *flow, const struct plan *plan, const json_t *with,
                         struct reason *reason)
{
    struct reason why;
    json_t *input = submit_input_of (plan), *list = json_array ();
    const json_t *given[] = {plan->policy ? json_object_get (plan->policy->fields, "params") : NULL,
                             json_object_get (with, "params")};
    for (size_t i = 0; i < 2; i++)
        if (given[i])
            json_array_append (list, (json_t *)(uintptr_t)given[i]);
    bool valid = flow_check_params (flow, list, input, &why);
    if (!valid)
        reason_set (reason, "params: %.180s", why.text);
    json_decref (list);
    json_decref (input);
    return valid ? 0 : ZPLAN_EPLAN;
}
