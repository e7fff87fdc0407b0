#include "callback.h"

#include <stdlib.h>

#include "called.h"
#include "codes.h"
#include "json.h"
#include "plan_json.h"

enum { SECOND_US = 1000000, RESULT_BYTES_MAX = 65536, GROUP_PREFIX = 3 };
// In seconds; short, so that the end of a sender is noticed soon.
enum { PING_S = 5, SENDER_TIMEOUT_S = 20 };

// -- which outcomes get a callback

// The part of the callback rule for this outcome; NULL: no callback.
static const json_t *rule_for_outcome (const struct callback_outcome *outcome)
{
    const struct policy *policy = outcome->plan->policy;
    const struct decision *decision = outcome->decision;
    const json_t *rule = policy ? policy->callback : NULL;
    if (!rule || decision->broadcast != BROADCAST_RESULT)
        return NULL;
    if (decision->succeeded) // a worker that answers BYE suppresses the callback
        return outcome->status == ZERO_STATUS_BYE_ID ? NULL : json_object_get (rule, "success");
    const char *when = json_string_value (json_object_get (rule, "when"));
    bool each = when && strcmp (when, "each") == 0;
    bool final = decision->exhausted || outcome->cancelled || outcome->manual;
    return final || each ? json_object_get (rule, "error") : NULL;
}

bool callback_wanted (const struct callback_outcome *outcome)
{
    return json_string_value (json_object_get (rule_for_outcome (outcome), "url")) != NULL;
}

// -- the body

static json_t *result_json (const struct callback_outcome *outcome)
{
    if (!outcome->value)
        return json_null ();
    char *text = json_dumps (outcome->value, JSON_COMPACT | JSON_ENCODE_ANY);
    size_t size = text ? strlen (text) : 0;
    free (text);
    if (size > RESULT_BYTES_MAX)
        return json_pack ("{s:b, s:I}", "truncated", 1, "size", (json_int_t)size);
    return json_incref ((json_t *)(uintptr_t)outcome->value);
}

static json_t *ext_json (const struct plan *plan)
{
    json_t *ext = json_object_get (plan->policy->fields, "ext");
    return ext ? json_incref (ext) : json_null ();
}

static json_t *reason_json (const struct callback_outcome *outcome)
{
    return outcome->reason.size ? json_from_frame (outcome->reason)
                                : json_string (outcome->cancelled ? "cancelled" : "failed");
}

static json_t *event_body (struct station *self, const struct callback_outcome *outcome)
{
    const struct plan *plan = outcome->plan;
    bool good = outcome->decision->succeeded;
    const char *type = good                 ? "plan.run.succeeded"
                       : outcome->cancelled ? "plan.run.cancelled"
                                            : "plan.run.failed";
    json_t *data = json_pack (
        "{s:o, s:o, s:o*, s:o, s:o, s:o, s:o*, s:o, s:o, s:o, s:o, s:o*}", "plan",
        called_hex (plan->id), "exec_id", called_hex (outcome->exec_id), "name",
        plan->policy->key[0] ? json_string (plan->policy->key) : NULL, "title",
        json_from_frame (plan->description), "target", json_from_frame (plan->station), "worker",
        json_from_frame (outcome->worker), "status", called_status (outcome->status), "nominal_at",
        called_instant (outcome->nominal * SECOND_US), "started_at",
        called_instant ((int64_t)outcome->exec_id), "ended_at",
        called_instant (store_now_us (self->store)), "ext", ext_json (plan),
        good ? "result" : "reason", good ? result_json (outcome) : reason_json (outcome));
    return json_pack ("{s:s, s:o, s:o}", "type", type, "timestamp",
                      called_instant (store_now_us (self->store)), "data", data);
}

static char *body_text (struct station *self, const struct callback_outcome *outcome)
{
    const json_t *rule = outcome->plan->policy->callback;
    const char *form = json_string_value (json_object_get (rule, "form"));
    json_t *body;
    if (form && strcmp (form, "event") == 0)
        body = event_body (self, outcome);
    else if (outcome->decision->succeeded) // the format of document 002
        body = json_pack ("{s:o, s:o}", "ext", ext_json (outcome->plan), "result",
                          result_json (outcome));
    else
        body = json_pack ("{s:I, s:o, s:o}", "task_id", (json_int_t)outcome->plan->id, "error_info",
                          reason_json (outcome), "ext", ext_json (outcome->plan));
    char *text = json_write (body);
    json_decref (body);
    return text;
}

// -- the plan

// The facts that the sender needs besides its frames.
static json_t *facts_json (const struct callback_outcome *outcome)
{
    const json_t *rule = outcome->plan->policy->callback;
    return json_pack ("{s:o, s:o, s:I, s:o*, s:O*}", "plan", called_hex (outcome->plan->id),
                      "exec_id", called_hex (outcome->exec_id), "nominal",
                      (json_int_t)outcome->nominal, "status", called_status (outcome->status),
                      "timeout", json_object_get (rule, "timeout"));
}

static json_t *plan_fields_json (const struct callback_outcome *outcome)
{
    const struct policy *policy = outcome->plan->policy;
    json_t *retry = json_incref (json_object_get (policy->callback, "retry"));
    if (!retry) // the default: 7 retries in 27.5 hours
        retry = json_pack ("{s:s, s:[i,i,i,i,i,i,i], s:i}", "strategy", "sequence", "sequence", 5,
                           300, 1800, 7200, 18000, 36000, 36000, "max", 7);
    char trace[TRACE_SIZE];
    bool traced = plan_trace (outcome->plan, outcome->exec_id, outcome->nominal, trace);
    return json_pack ("{s:o, s:{s:b, s:i, s:i}, s:O*, s:o, s:s*}", "ext", facts_json (outcome),
                      "workers", "again", 1, "ping_interval", PING_S, "worker_timeout",
                      SENDER_TIMEOUT_S, "category", json_object_get (policy->fields, "category"),
                      "retry", retry, "traceparent", traced ? trace : NULL);
}

// Give the callbacks of each source a group of their own, so that sources take turns. Submitters
// cannot use the colon in a group's name, so the group is never one of theirs.
static void set_source_group (struct plan *plan, struct span source)
{
    size_t size =
        source.size < POLICY_NAME_MAX - GROUP_PREFIX ? source.size : POLICY_NAME_MAX - GROUP_PREFIX;
    json_t *fields = json_copy (plan->policy->fields);
    struct policy *policy;
    struct reason ignored;
    json_object_set_new (fields, "group",
                         json_sprintf ("cb:%.*s", (int)size, (const char *)source.data));
    if (policy_read_from (fields, &policy, &ignored))
        plan_take_policy (plan, policy);
    json_decref (fields);
}

// Make a callback plan for an outcome of the plan `source`, with this body. Takes `fields` and
// `body`.
static struct plan *make_callback_plan (struct station *self, uint64_t id,
                                        const struct plan *source, const json_t *end,
                                        json_t *fields, char *body)
{
    const json_t *rule = source->policy->callback;
    const char *method = json_string_value (json_object_get (end, "method"));
    const char *secret = json_string_value (json_object_get (rule, "secret"));
    const json_t *headers = json_object_get (rule, "headers");
    char *lines = headers ? json_write (headers) : NULL;
    struct plan *plan = called_plan (
        self, &(struct plan_call){
                  .id = id,
                  .source = source,
                  .target = span_text (self->settings->callback_target),
                  .prefix = "callback: ",
                  .fields = fields,
                  .frames = {{ZERO_FRAME_COMMAND, span_text (method ? method : "POST")},
                             {ZERO_FRAME_ARG,
                              span_text (json_string_value (json_object_get (end, "url")))},
                             {ZERO_FRAME_ARG, span_text (secret ? secret : "")},
                             {ZERO_FRAME_ARG, span_text (lines ? lines : "{}")},
                             {ZERO_FRAME_JSON, span_text (body)}},
                  .frame_count = 5});
    if (plan) {
        set_source_group (plan, source->station);
        plan_set_source (plan, source->station);
    }
    json_decref (fields);
    free (lines);
    free (body);
    return plan;
}

struct plan *callback_plan (struct station *self, uint64_t id,
                            const struct callback_outcome *outcome)
{
    return make_callback_plan (self, id, outcome->plan, rule_for_outcome (outcome),
                               plan_fields_json (outcome), body_text (self, outcome));
}

struct plan *callback_test_plan (struct station *self, const struct plan *plan)
{
    const json_t *rule = plan->policy->callback, *end = json_object_get (rule, "success");
    uint64_t id = station_new_id (self);
    const struct callback_outcome none = {.plan = plan,
                                          .exec_id = (uint64_t)store_now_us (self->store),
                                          .nominal = station_now (self),
                                          .status = ZERO_STATUS_OK_ID};
    json_t *event = json_pack ("{s:s, s:o, s:{s:o}}", "type", "test", "timestamp",
                               called_instant (store_now_us (self->store)), "data", "target",
                               json_from_frame (plan->station));
    json_t *fields = plan_fields_json (&none);
    // Here `ext` names the callback plan itself, as the test has no run.
    json_object_set_new (json_object_get (fields, "ext"), "plan", called_hex (id));
    char *body = json_write (event);
    json_decref (event);
    return make_callback_plan (self, id, plan, end ? end : json_object_get (rule, "error"), fields,
                               body);
}
