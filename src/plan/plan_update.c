#include "plan_update.h"

#include "json.h"
#include "status.h"

// The PLAN frame that would create the plan as it is now. skip_set is not included: those
// occurrences were skipped already.
static json_t *frame_of_plan (const struct plan *plan)
{
    const struct schedule *schedule = &plan->schedule;
    json_t *frame =
        json_pack ("{s:o*, s:i, s:i, s:i, s:b, s:I, s:s*, s:o*}", "description",
                   json_stringn ((const char *)plan->description.data, plan->description.size),
                   "plan_type", (int)schedule->type, "plan_value", (int)schedule->value,
                   "plan_repet", (int)schedule->repeat, "no_keep", (int)schedule->keep, "plan_time",
                   (json_int_t)schedule->base_time, "remark", plan->remark, "vote",
                   vote_rule_write (&plan->vote));
    if (!plan->policy)
        return frame;
    json_object_update (frame, plan->policy->fields);
    // These fields of the policy replace others with the same meaning.
    if (plan->policy->iteration)
        json_object_del (frame, "plan_repet");
    if (plan->policy->misfire)
        json_object_del (frame, "no_keep");
    return frame;
}

// Check that the update was made for the plan's present revision, and delete the field from it.
static int check_revision (const struct plan *plan, json_t *update, struct reason *reason)
{
    const json_t *revision = json_object_get (update, "revision");
    if (!json_is_integer (revision))
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "revision: is missing; it is the one the plan was read at");
    if (json_integer_value (revision) != plan->revision)
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "revision: the plan was changed meanwhile, read it again");
    json_object_del (update, "revision");
    return 0;
}

// The fields that an update must not change, and the reason.
static const struct {
    const char *name, *why;
} fixed_fields[] = {
    {"key", "key: cannot be changed, it determines the plan's id"},
    {"hold", "hold: is for a submission; use pause and reset"},
    {"paused", "paused: is for a submission; use pause and reset"},
    {"kind", "kind: cannot be changed, its fields were copied; update them"},
};

// The reason why an update must not set this field to this value; NULL: it may.
static const char *fixed_reason (const json_t *frame, const char *name, const json_t *value)
{
    const json_t *current = json_object_get (frame, name);
    for (size_t i = 0; i < sizeof fixed_fields / sizeof *fixed_fields; i++)
        if (strcmp (name, fixed_fields[i].name) == 0 &&
            !(current ? json_equal ((json_t *)current, (json_t *)value) : json_is_null (value)))
            return fixed_fields[i].why;
    return NULL;
}

// Delete from the frame the fields that have the same meaning as a field of the update; a null
// field deletes nothing.
static void drop_replaced_fields (json_t *frame, const json_t *update)
{
    static const struct {
        const char *by, *field;
    } replaced[] = {{"no_skip", "no_keep"},      {"no_skip", "misfire"},
                    {"no_keep", "misfire"},      {"misfire", "no_keep"},
                    {"plan_repet", "iteration"}, {"iteration", "plan_repet"}};
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        const json_t *value = json_object_get (update, replaced[i].by);
        if (value && !json_is_null (value))
            json_object_del (frame, replaced[i].field);
    }
}

// Merge the update into the frame. Two of its fields with the same meaning are then rejected by the
// rules of the PLAN frame.
static int merge_update (json_t *frame, json_t *update, struct plan_update *ret,
                         struct reason *reason)
{
    const char *name;
    json_t *value;
    if (json_object_get (update, "no_skip") && json_object_get (update, "no_keep"))
        return reason_error (reason, ZPLAN_EARGUMENT,
                             "no_skip: is the same field as no_keep; give only one");
    drop_replaced_fields (frame, update);
    json_object_foreach (update, name, value)
    {
        if (strcmp (name, "messages") == 0) {
            ret->messages = json_incref (value);
            continue;
        }
        if (!plan_frame_field (name))
            return reason_error (reason, ZPLAN_EARGUMENT, "%s: cannot be updated",
                                 quoted (span_text (name)));
        const char *why = fixed_reason (frame, name, value);
        if (why)
            return reason_error (reason, ZPLAN_EARGUMENT, "%s", why);
        if (json_is_null (value) && policy_field (name))
            json_object_del (frame, name); // removed
        else
            json_object_set (frame, name, value);
    }
    return 0;
}

int plan_update_parse (const struct plan *plan, struct span text, const struct plan_limits *limits,
                       struct plan_update *ret, struct reason *reason)
{
    *ret = (struct plan_update){0};
    json_t *update = json_read_object (text, reason);
    if (!update)
        return ZPLAN_EARGUMENT;
    json_t *frame = frame_of_plan (plan);
    int rc = check_revision (plan, update, reason);
    if (!rc)
        rc = merge_update (frame, update, ret, reason);
    if (!rc && plan_frame_read (frame, limits, &ret->fields, reason))
        rc = ZPLAN_EARGUMENT;
    json_decref (frame);
    json_decref (update);
    return rc;
}

void plan_update_clear (struct plan_update *self)
{
    json_decref (self->messages);
    self->messages = NULL;
    plan_fields_clear (&self->fields);
}
