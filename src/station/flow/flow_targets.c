#include "flow_targets.h"

#include "permit.h"

void flow_errors_summarize (const json_t *errors, struct reason *ret)
{
    const json_t *first = json_array_get (errors, 0);
    const char *path = json_string_value (json_object_get (first, "path"));
    const char *why = json_string_value (json_object_get (first, "reason"));
    size_t count = json_array_size (errors);
    char more[32] = "";
    if (count > 1)
        snprintf (more, sizeof more, "; and %zu more", count - 1);
    reason_set (ret, "flow: %s%s%.180s%s", path, *path ? ": " : "", why, more);
}

// Whether the key may use the target. `ret`: why not, or that the target does not exist; else
// empty.
static bool check_target_permission (struct station *station, const char *user, const char *target,
                                     struct reason *ret)
{
    struct span name = span_text (target);
    ret->text[0] = '\0';
    if (!permits_station (station, user, name)) {
        reason_set (ret, "the key %s may not touch %s", quoted (permit_name (station, user)),
                    quoted (name));
        return false;
    }
    if (station_is_callbacks (station, name)) {
        permit_callback_denied (ret);
        return false;
    }
    if (!station_target (station, name) && !flow_book_claims (station, name))
        reason_set (ret, "target %s: not found", quoted (name));
    return true;
}

bool flow_check_targets (struct station *station, const char *user, const struct flow *flow,
                         json_t *errors)
{
    bool allowed = true;
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        const struct flow_call *calls[] = {&step->call, &step->undo};
        for (size_t j = 0; j < 2; j++) {
            char path[FLOW_NAME_MAX + 32];
            struct reason reason;
            if (!calls[j]->target)
                continue;
            snprintf (path, sizeof path, "steps.%s%s.target", step->name, j ? ".undo" : "");
            allowed = check_target_permission (station, user, calls[j]->target, &reason) && allowed;
            if (reason.text[0])
                flow_errors_add (errors, path, reason.text);
        }
    }
    return allowed;
}
