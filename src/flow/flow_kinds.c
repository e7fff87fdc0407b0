// The kinds of plans that a definition names. A definition contains a copy of their fields, under
// `kinds`, as a version of a flow never changes.
#include "flow_private.h"
#include "policy.h"

// Check each field of an invalid kind separately, so that all errors are reported.
static void report_kind_fields (struct flow_reader *self, json_t *fields, const char *path)
{
    const char *name;
    json_t *value;
    struct reason reason;
    json_object_foreach (fields, name, value)
    {
        json_t *alone = json_pack ("{s:O}", name, value);
        struct policy *policy = policy_read_kind (alone, &reason);
        if (!policy)
            flow_add_error (self, path, "%s", reason.text);
        policy_destroy (&policy);
        json_decref (alone);
    }
}

static void check_kind_fields (struct flow_reader *self, json_t *fields, const char *path)
{
    struct reason reason;
    size_t before = json_array_size (self->errors);
    struct policy *policy = policy_read_kind (fields, &reason);
    if (!policy)
        report_kind_fields (self, fields, path);
    // Each field is valid, but they contradict each other.
    if (!policy && json_array_size (self->errors) == before)
        flow_add_error (self, path, "%s", reason.text);
    policy_destroy (&policy);
}

void flow_read_kinds (struct flow_reader *self, json_t *kinds)
{
    const char *name;
    json_t *fields;
    if (kinds && !json_is_object (kinds)) {
        flow_add_error (self, "kinds", "must be an object");
        return;
    }
    json_object_foreach (kinds, name, fields)
    {
        const struct flow_path path = flow_path_of ("kinds", name);
        if (!flow_name_valid (name))
            flow_add_error (self, path.text, "a kind's name is 1 to 64 of A-Z a-z 0-9 _ . -");
        else if (!json_is_object (fields))
            flow_add_error (self, path.text, "must be an object");
        else
            check_kind_fields (self, fields, path.text);
    }
    self->kinds = kinds;
}

json_t *flow_named_kinds (const struct flow *self)
{
    json_t *ret = json_object ();
    for (uint32_t i = 0; i < self->step_count; i++) {
        const struct flow_step *step = &self->steps[i];
        const json_t *calls[] = {step->json, json_object_get (step->json, "undo")};
        for (size_t j = 0; j < 2; j++) {
            const char *kind = json_string_value (json_object_get (calls[j], "kind"));
            if (kind && !json_object_get (ret, kind))
                json_object_set_new (
                    ret, kind, json_sprintf ("steps.%s%s.kind", step->name, j ? ".undo" : ""));
        }
    }
    return ret;
}

json_t *flow_kind_fields (const json_t *kind)
{
    const char *name;
    json_t *value, *ret = json_object ();
    json_object_foreach ((json_t *)kind, name, value)
    {
        if (flow_is_call_field (name))
            json_object_set (ret, name, value);
    }
    return ret;
}
