#include "entry_spec.h"

#include <string.h>

// Put a field where the flat form has it.
static int put (json_t *object, const char *name, json_t *value, struct reason *reason)
{
    if (!json_object_get (object, name))
        return json_object_set (object, name, value);
    reason_set (reason, "%s: is given twice", quoted (span_text (name)));
    return -1;
}

static int put_frame (json_t *object, json_t *frame, json_t *args, struct reason *reason)
{
    static const struct {
        const char *type, *field;
    } fields[] = {{"COMMAND", "command"},
                  {"CONTENT", "content"},
                  {"CONTEXT", "context"},
                  {"PUB_TITLE", "publish_title"}};
    const char *type = json_string_value (json_object_get (frame, "type"));
    json_t *text = json_object_get (frame, "text");
    if (type && json_is_string (text) && strcmp (type, "ARG") == 0)
        return json_array_append (args, text);
    for (size_t i = 0; type && json_is_string (text) && i < sizeof fields / sizeof *fields; i++)
        if (strcmp (type, fields[i].type) == 0)
            return put (object, fields[i].field, text, reason);
    reason_set (reason, "frames: want {type, text} of the types COMMAND, ARG, CONTENT, CONTEXT and "
                        "PUB_TITLE");
    return -1;
}

// What `zplan show --json` says besides: what has become of the plan, and not what it is; and two
// fields that follow from others.
static void drop_course (json_t *object, json_t *spec)
{
    static const char *const course[] = {
        "last",       "state",    "revision",          "caller",   "request_id",
        "counts",     "next_at",  "base_at",           "stopped",  "failures",
        "created_at", "running",  "verdict",           "remark",   "held",
        "progress",   "run_with", "current_iteration", "flow_run", "current_cycle"};
    if (json_integer_value (json_object_get (object, "held"))) // paused by its submission
        json_object_set_new (object, "hold", json_true ());
    for (size_t i = 0; i < sizeof course / sizeof *course; i++)
        json_object_del (object, course[i]);
    if (json_is_object (json_object_get (object, "flow"))) // the run that it is a step of
        json_object_del (object, "flow");
    if (json_object_get (spec, "misfire"))
        json_object_del (spec, "no_keep");
    if (json_object_get (spec, "iteration"))
        json_object_del (spec, "plan_repet");
}

int entry_flatten (json_t *object, struct reason *reason)
{
    const char *name;
    json_t *value, *frame;
    size_t i;
    int rc = 0;
    json_t *spec = json_incref (json_object_get (object, "spec"));
    json_t *frames = json_incref (json_object_get (object, "frames"));
    if (spec)
        drop_course (object, spec);
    if (frames) { // command and args are theirs, again
        json_object_del (object, "command");
        json_object_del (object, "args");
    }
    json_t *args = json_incref (json_object_get (object, "args"));
    json_object_del (object, "spec");
    json_object_del (object, "frames");
    json_object_del (object, "args");
    if ((spec && !json_is_object (spec)) || (frames && !json_is_array (frames)) ||
        (args && !json_is_array (args))) {
        reason_set (reason, "want spec as an object, frames and args as arrays");
        rc = -1;
    }
    json_t *all = args && rc == 0 ? json_copy (args) : json_array ();
    json_object_foreach (spec, name, value)
    {
        // The flat form has the names of options.
        const char *field = strcmp (name, "key") == 0 ? "name" : name;
        rc = rc ? rc : put (object, field, value, reason);
    }
    json_array_foreach (frames, i, frame) rc = rc ? rc : put_frame (object, frame, all, reason);
    if (rc == 0 && json_array_size (all) > 0)
        rc = put (object, "arg", all, reason);
    json_decref (all);
    json_decref (spec);
    json_decref (frames);
    json_decref (args);
    return rc;
}
