#include "flow_change_check.h"

#include <stdlib.h>

#include "json.h"
#include "memory.h"
#include "permit.h"
#include "store_shared.h"

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

// -- kinds

struct kind_lookup {
    const struct flow *flow;
    json_t *named; // kind -> path of a call that names it; later: kind -> its fields for calls
    flow_resolved_fn *reply;
    void *owner;
};

// Resolve the kinds that the station knows.
static void add_known_kinds (json_t *named, const struct store_named *answer)
{
    struct span name, text;
    for (size_t i = 0; store_named_at (answer, i, &name, &text); i++) {
        struct reason ignored;
        const char *key = (const char *)name.data;
        if (!json_object_getn (named, key, name.size))
            continue;
        json_t *fields = json_read_object (text, &ignored); // may be invalid after an edit by hand
        if (fields)
            json_object_setn_new (named, key, name.size, flow_kind_fields (fields));
        json_decref (fields);
    }
}

// Resolve the other kinds from the definition itself; unknown ones are errors.
static void add_own_kinds (json_t *named, const json_t *own_kinds, json_t *errors)
{
    const char *name;
    json_t *fields;
    void *next;
    json_object_foreach_safe (named, next, name, fields)
    {
        struct reason reason;
        const char *path = json_string_value (fields);
        json_t *own = json_object_get (own_kinds, name);
        if (!path)
            continue;
        reason_set (&reason, "no kind %s is known", quoted (span_text (name)));
        if (own)
            json_object_set_new (named, name, flow_kind_fields (own));
        else
            flow_errors_add (errors, path, reason.text);
    }
}

static void on_kinds (void *owner, const struct store_named *answer)
{
    struct kind_lookup *self = owner;
    struct flow_resolved resolved = {.result = answer->result, .error = answer->error};
    json_t *errors = json_array (), *json = self->flow->json;
    if (answer->result == STORE_DONE) {
        add_known_kinds (self->named, answer);
        add_own_kinds (self->named, json_object_get (json, "kinds"), errors);
        if (json_array_size (errors) > 0)
            resolved.errors = json_incref (errors);
        else if (!json_equal (self->named, json_object_get (json, "kinds"))) {
            json_t *whole = json_copy (json);
            json_object_set (whole, "kinds", self->named);
            resolved.text = json_write (whole);
            json_decref (whole);
        }
    }
    json_decref (errors);
    self->reply (self->owner, &resolved);
    json_decref (self->named);
    free (self);
}

void flow_resolve_kinds (struct station *self, const struct flow *flow, flow_resolved_fn *reply,
                         void *owner)
{
    json_t *named = flow_named_kinds (flow);
    if (json_object_size (named) == 0) {
        json_decref (named);
        reply (owner, &(struct flow_resolved){.result = STORE_DONE});
        return;
    }
    struct kind_lookup *resolving = memory_new (sizeof *resolving);
    *resolving = (struct kind_lookup){flow, named, reply, owner};
    store_kinds (self->store, KIND_LIST, (struct span){0}, NULL, on_kinds, resolving);
    link_flush (store_link (self->store));
}
