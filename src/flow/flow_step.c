// Reads one step of a definition.
#include <stdlib.h>

#include "flow_private.h"
#include "memory.h"
#include "plan.h"
#include "policy.h"
#include "rfc3339.h"
#include "vote_rule.h"

// The places where a field is allowed: a set.
enum { ON_ANY = 1, ON_CALL = 2, ON_UNDO = 4, ON_WAIT = 8, ON_SIGNAL = 16, ON_DEFAULT = 32 };

static const struct {
    const char *name;
    int on;
} fields[] = {
    {"after", ON_ANY},
    {"join", ON_ANY | ON_DEFAULT},
    {"if", ON_ANY | ON_DEFAULT},
    {"let", ON_ANY | ON_DEFAULT},
    {"output", ON_ANY | ON_DEFAULT},
    {"title", ON_ANY | ON_UNDO | ON_DEFAULT},
    {"remark", ON_ANY | ON_DEFAULT},
    {"on_error", ON_ANY | ON_DEFAULT},
    {"target", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"command", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"args", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"json", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"text", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"retry", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"timeout", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"total_timeout", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"vote", ON_CALL | ON_DEFAULT},
    {"workers", ON_CALL | ON_DEFAULT},
    {"priority", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"group", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"kind", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"log", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"ext", ON_CALL | ON_UNDO | ON_DEFAULT},
    {"misfire_window", ON_CALL | ON_DEFAULT},
    {"for_each", ON_CALL},
    {"max_parallel", ON_CALL | ON_DEFAULT},
    {"max_items", ON_CALL | ON_DEFAULT},
    {"tolerate", ON_CALL | ON_DEFAULT},
    {"collect", ON_CALL | ON_DEFAULT},
    {"undo", ON_CALL | ON_DEFAULT},
    {"wait", ON_WAIT},
    {"signal", ON_SIGNAL},
    {"on", ON_UNDO},
};

// The places where a field is allowed; 0: there is no such field.
static int field_places (const char *name)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp (fields[i].name, name) == 0)
            return fields[i].on;
    return 0;
}

static void check_step_fields (struct flow_reader *self, const json_t *json, const char *path,
                               int on)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)json, name, value)
    {
        int allowed = field_places (name);
        if (!(allowed & on))
            flow_add_error (self, flow_path_of (path, name).text, "%s",
                            !allowed            ? "no such field"
                            : on == ON_DEFAULT  ? "not allowed in defaults"
                            : on == ON_UNDO     ? "an undo has no such field"
                            : allowed & ON_CALL ? "goes with target only"
                                                : "does not go with what this step does");
    }
}

bool flow_is_call_field (const char *name)
{
    return field_places (name) & (ON_CALL | ON_UNDO);
}

// Add the fields of the kind that a call names, except those that the call itself has.
static void add_kind_fields (const struct flow_reader *self, json_t *json, int on)
{
    const char *name;
    json_t *value;
    json_t *kind = json_object_get (json, "kind");
    json_object_foreach (json_object_get (self->kinds, json_string_value (kind)), name, value)
    {
        if (field_places (name) & on && !json_object_get (json, name))
            json_object_set (json, name, value);
    }
}

static void add_default_fields (struct flow_reader *self, struct flow_step *step)
{
    static const char *const call_fields[] = {"command", "args", "json", "text", "for_each"};
    json_t *json = step->json, *value;
    const char *name;
    bool is_call = json_object_get (json, "target"), gets_target = false;
    for (size_t i = 0; i < sizeof call_fields / sizeof *call_fields; i++)
        gets_target = gets_target || json_object_get (json, call_fields[i]);
    gets_target =
        gets_target && !json_object_get (json, "wait") && !json_object_get (json, "signal");
    is_call = is_call || (gets_target && json_object_get (self->defaults, "target"));
    json_object_foreach (self->defaults, name, value)
    {
        int on = field_places (name);
        if (on & ON_DEFAULT && !json_object_get (json, name) && (on & ON_ANY || is_call))
            json_object_set (json, name, value);
    }
}

void flow_check_defaults (struct flow_reader *self)
{
    check_step_fields (self, self->defaults, "defaults", ON_DEFAULT);
}

static void check_text_size (struct flow_reader *self, const json_t *json, const char *path,
                             const char *name, size_t max)
{
    const json_t *text = json_object_get (json, name);
    if (text && (!json_is_string (text) || json_string_length (text) > max))
        flow_add_error (self, flow_path_of (path, name).text, "must be a text of at most %zu bytes",
                        max);
}

// Copy the fields of a call that are fields of its plan, and check them as those of a plan.
static void read_plan_fields (struct flow_reader *self, struct flow_call *call, const json_t *json,
                              const char *path)
{
    struct reason reason;
    struct vote_rule vote;
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)json, name, value)
    {
        bool is_policy_field = field_places (name) && policy_field (name);
        if (is_policy_field || strcmp (name, "vote") == 0 || strcmp (name, "remark") == 0) {
            call->plan = call->plan ? call->plan : json_object ();
            json_object_set (call->plan, name, value);
        }
        if (!is_policy_field)
            continue;
        json_t *alone = json_pack ("{s:O}", name, value);
        struct policy *policy = policy_read (alone, &reason);
        size_t size = strlen (name); // drop the name from the reason, as the path ends with it
        bool has_name_prefix = strncmp (reason.text, name, size) == 0 && reason.text[size] == ':';
        if (!policy)
            flow_add_error (self, flow_path_of (path, name).text, "%s",
                            reason.text + (has_name_prefix ? size + 2 : 0));
        policy_destroy (&policy);
        json_decref (alone);
    }
    if ((value = json_object_get (json, "vote")) && !vote_rule_read (value, &vote, &reason))
        flow_add_error (self, flow_path_of (path, "vote").text, "%s", reason.text);
    call->total_timeout_s =
        flow_read_integer (self, json, path, "total_timeout", 1, FLOW_SECONDS_MAX, 0);
    check_text_size (self, json, path, "title", 256);
    call->title = json_string_value (json_object_get (json, "title"));
    const char *command = json_string_value (json_object_get (json, "command"));
    if (command && !command[0])
        flow_add_error (self, flow_path_of (path, "command").text, "must not be empty");
    else if (command && command[0] != '=')
        check_text_size (self, json, path, "command", 256);
}

struct flow_target flow_target_of (const struct flow_reader *self, const struct flow_call *call)
{
    struct flow_target target = {.is_flow = false};
    if (self->world && call->target)
        self->world->target (self->world->context, call->target, &target);
    return target;
}

static bool is_text_list (const json_t *list)
{
    size_t index;
    json_t *value;
    json_array_foreach (list, index, value) if (!json_is_string (value)) return false;
    return json_is_array (list);
}

static void read_call (struct flow_reader *self, struct flow_call *call, const json_t *json,
                       const char *path)
{
    static const char *const names[] = {"command", "args", "json", "text"};
    struct flow_path where = flow_path_of (path, "target");
    struct flow_target target = {.is_flow = false};
    call->target = json_string_value (json_object_get (json, "target"));
    if (!call->target || !station_name_valid (span_text (call->target)))
        flow_add_error (self, where.text, "must be the name of a target, which is never computed");
    else if (self->world && !self->world->target (self->world->context, call->target, &target))
        flow_add_error (self, where.text, "target %s: not found",
                        quoted (span_text (call->target)));
    else if (strcmp (call->target, self->flow->name) == 0)
        flow_add_error (self, where.text,
                        "%s is this flow itself: it cannot be called, and no target may "
                        "have this name",
                        quoted (span_text (call->target)));
    else if (target.reaches)
        flow_add_error (self, where.text, "flow %s leads back to this flow",
                        quoted (span_text (call->target)));
    else if (target.report && target.report->depth >= FLOW_DEPTH_MAX)
        flow_add_error (self, where.text, "sub-flows nest at most %d levels", FLOW_DEPTH_MAX);
    call->is_flow = target.is_flow;
    json_t *frames = json_object ();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get (json, names[i]);
        where = flow_path_of (path, names[i]);
        if (!value)
            continue;
        if (call->is_flow && strcmp (names[i], "json") != 0)
            flow_add_error (self, where.text, "a flow as target takes json only");
        if (i == 1 ? !is_text_list (value) : i != 2 && !json_is_string (value))
            flow_add_error (self, where.text, "must be a %s", i == 1 ? "list of texts" : "text");
        if (call->is_flow && i == 2 && !json_is_object (value) && !json_is_string (value))
            flow_add_error (self, where.text, "must be an object, the input of the flow");
        json_object_set (frames, names[i], value);
    }
    call->frames = flow_read_template (self, frames, path, FLOW_TEMPLATE_MARKED);
    json_decref (frames);
    read_plan_fields (self, call, json, path);
}

static void read_undo (struct flow_reader *self, struct flow_step *step, const char *path)
{
    const struct flow_path where = flow_path_of (path, "undo");
    json_t *undo = json_object_get (step->json, "undo");
    if (!undo)
        return;
    step->has_undo = true;
    if (json_is_string (undo) && strcmp (json_string_value (undo), "inner") == 0) {
        step->undo_inner = true;
        if (!step->call.is_flow)
            flow_add_error (self, where.text,
                            "inner is for a flow as target, and %s is none that is known here",
                            quoted (span_text (step->call.target ? step->call.target : "")));
        return;
    }
    if (!json_is_object (undo)) {
        flow_add_error (self, where.text, "must be an object, or inner if the target is a flow");
        return;
    }
    undo = json_copy (undo); // a copy, as the definition must not change
    json_object_set_new (step->json, "undo", undo);
    add_kind_fields (self, undo, ON_UNDO);
    check_step_fields (self, undo, where.text, ON_UNDO);
    const char *on = json_string_value (json_object_get (undo, "on"));
    if (json_object_get (undo, "on") &&
        (!on || (strcmp (on, "finished") != 0 && strcmp (on, "started") != 0)))
        flow_add_error (self, flow_path_of (where.text, "on").text, "must be finished or started");
    step->undo_started = on && strcmp (on, "started") == 0;
    read_call (self, &step->undo, undo, where.text);
    if (step->undo.is_flow)
        flow_add_error (self, where.text, "target must not be a flow");
}

static void read_tolerate (struct flow_reader *self, struct flow_step *step, const char *path)
{
    char *end = NULL;
    const json_t *value = json_object_get (step->json, "tolerate");
    if (!value)
        return;
    long number = -1;
    if (json_is_integer (value) && json_integer_value (value) >= 0 &&
        json_integer_value (value) <= FLOW_ITEMS_MAX)
        number = (long)json_integer_value (value);
    const char *text = json_string_value (value);
    if (text && *text >= '0' && *text <= '9') {
        number = strtol (text, &end, 10);
        step->tolerate_percent = true;
        if (strcmp (end, "%") != 0 || number > 100)
            number = -1;
    }
    if (number < 0)
        flow_add_error (self, flow_path_of (path, "tolerate").text,
                        "must be a number of items or a percentage such as \"20%%\"");
    step->tolerate = number < 0 ? 0 : (uint32_t)number;
}

static void read_for_each (struct flow_reader *self, struct flow_step *step, const char *path)
{
    static const char *const only[] = {"max_parallel", "max_items", "tolerate", "collect"};
    const struct flow_path where = flow_path_of (path, "for_each");
    const json_t *json = step->json, *list = json_object_get (json, "for_each");
    for (size_t i = 0; !list && i < sizeof only / sizeof *only; i++)
        if (json_object_get (json, only[i]) && !json_object_get (self->defaults, only[i]))
            flow_add_error (self, flow_path_of (path, only[i]).text, "goes with for_each only");
    if (!list)
        return;
    if (!json_is_array (list) && !json_is_integer (list) &&
        !(json_is_string (list) && json_string_value (list)[0] == '='))
        flow_add_error (self, where.text,
                        "must be a list, a count or an expression that begins with =");
    if (json_is_integer (list))
        flow_read_integer (self, json, path, "for_each", 0, FLOW_ITEMS_MAX, 0);
    step->for_each = flow_read_template (self, list, where.text, FLOW_TEMPLATE_MARKED);
    step->parallel = (uint32_t)flow_read_integer (self, json, path, "max_parallel", 1, 10000, 0);
    step->max_items = (uint32_t)flow_read_integer (self, json, path, "max_items", 1, FLOW_ITEMS_MAX,
                                                   FLOW_ITEMS_MAX);
    read_tolerate (self, step, path);
    const json_t *collect = json_object_get (json, "collect");
    const char *how = json_string_value (collect);
    if (how && strcmp (how, "count") == 0)
        step->collect = FLOW_COLLECT_COUNT;
    else if (how && strcmp (how, "none") == 0)
        step->collect = FLOW_COLLECT_NONE;
    else if (collect && (!how || strcmp (how, "list") != 0))
        flow_add_error (self, flow_path_of (path, "collect").text, "must be list, count or none");
}

static void read_signal (struct flow_reader *self, struct flow_step *step, const char *path)
{
    static const char *const names[] = {"count", "who", "timeout", "on_timeout", NULL};
    const struct flow_path where = flow_path_of (path, "signal"),
                           late_path = flow_path_of (where.text, "on_timeout");
    const json_t *signal = json_object_get (step->json, "signal"), *late;
    const char *name;
    json_t *value;
    size_t index;
    if (!json_is_object (signal)) {
        flow_add_error (self, where.text, "must be an object");
        return;
    }
    json_object_foreach ((json_t *)signal, name, value)
    {
        if (!flow_is_one_of (name, names))
            flow_add_error (self, where.text, "%s: only count, who, timeout and on_timeout",
                            quoted (span_text (name)));
    }
    step->signal_count =
        (uint32_t)flow_read_integer (self, signal, where.text, "count", 1, 1000, 1);
    step->signal_timeout_s =
        flow_read_integer (self, signal, where.text, "timeout", 1, FLOW_SECONDS_MAX, 0);
    step->signal_who = json_object_get (signal, "who");
    bool who_ok = !step->signal_who || json_array_size (step->signal_who) > 0;
    json_array_foreach (step->signal_who, index, value) who_ok =
        who_ok && json_string_length (value) > 0;
    if (!who_ok)
        flow_add_error (self, flow_path_of (where.text, "who").text,
                        "must be a list of names of keys");
    late = json_object_get (signal, "on_timeout");
    const char *how = json_string_value (late);
    if (how && strcmp (how, "skip") == 0)
        step->on_timeout = FLOW_NO_SIGNAL_SKIP;
    else if (json_object_size (late) == 1 && json_object_get (late, "value"))
        step->on_timeout = FLOW_NO_SIGNAL_VALUE;
    else if (late && (!how || strcmp (how, "fail") != 0))
        flow_add_error (self, late_path.text, "must be fail, skip or {\"value\": ...}");
    if (step->on_timeout == FLOW_NO_SIGNAL_VALUE)
        step->no_signal_value =
            flow_read_template (self, json_object_get (late, "value"),
                                flow_path_of (late_path.text, "value").text, FLOW_TEMPLATE_MARKED);
}

static void read_wait (struct flow_reader *self, struct flow_step *step, const char *path)
{
    const struct flow_path where = flow_path_of (path, "wait");
    int64_t time;
    struct reason reason;
    const json_t *wait = json_object_get (step->json, "wait");
    const char *text = json_string_value (wait);
    if (json_is_integer (wait))
        flow_read_integer (self, step->json, path, "wait", 0, FLOW_SECONDS_MAX, 0);
    else if (!text)
        flow_add_error (self, where.text, "must be seconds, a time or an expression");
    else if (text[0] != '=' &&
             rfc3339_parse (span_of (text, json_string_length (wait)), &time, &reason) < 0)
        flow_add_error (self, where.text, "%s", reason.text);
    step->wait = flow_read_template (self, wait, where.text, FLOW_TEMPLATE_MARKED);
}

static struct expr *read_expression (struct flow_reader *self, const json_t *json, const char *path)
{
    struct expr_error error;
    struct expr *expr = NULL;
    const char *text = json_string_value (json);
    bool marked = text && text[0] == '=';
    if (!text)
        flow_add_error (self, path, "must be an expression");
    else if (expr_compile (span_of (text + marked, json_string_length (json) - marked), &expr,
                           &error) < 0)
        flow_add_error (self, path, "%s", error.reason.text);
    return expr;
}

static void read_let_fields (struct flow_reader *self, struct flow_step *step, const char *path)
{
    const struct flow_path let_path = flow_path_of (path, "let");
    const json_t *lets = json_object_get (step->json, "let");
    const char *name;
    json_t *value;
    if (!json_is_object (lets)) {
        if (lets)
            flow_add_error (self, let_path.text, "must be an object");
        return;
    }
    step->lets = memory_new ((json_object_size (lets) + 1) * sizeof *step->lets);
    json_object_foreach ((json_t *)lets, name, value)
    {
        const struct flow_path where = flow_path_of (let_path.text, name);
        bool hides = false;
        for (size_t i = 0; i < self->flow->param_count; i++)
            hides = hides || strcmp (self->flow->params[i].name, name) == 0;
        if (!expr_name_valid (span_text (name)) || hides)
            flow_add_error (self, where.text, "%s", hides ? "hides a param" : FLOW_VARIABLE_RULE);
        struct expr *expr = read_expression (self, value, where.text);
        if (expr)
            step->lets[step->let_count++] = (struct flow_let){name, expr};
    }
}

void flow_read_step (struct flow_reader *self, struct flow_step *step)
{
    const struct flow_path step_path = flow_path_of ("steps", step->name);
    const char *path = step_path.text;
    // The step's own kind precedes the defaults; then they may name a kind.
    add_kind_fields (self, step->json, ON_CALL);
    add_default_fields (self, step);
    add_kind_fields (self, step->json, ON_CALL);
    const json_t *json = step->json;
    bool call = json_object_get (json, "target"), wait = json_object_get (json, "wait"),
         signal = json_object_get (json, "signal");
    if (call + wait + signal > 1)
        flow_add_error (self, path, "has more than one of target, wait and signal");
    step->kind = call ? FLOW_CALL : wait ? FLOW_WAIT : signal ? FLOW_SIGNAL : FLOW_COMPUTE;
    check_step_fields (self, json, path,
                       ON_ANY | (call ? ON_CALL : 0) | (wait ? ON_WAIT : 0) |
                           (signal ? ON_SIGNAL : 0));
    const json_t *on_error = json_object_get (json, "on_error");
    const char *how = json_string_value (on_error);
    step->has_on_error = on_error;
    step->continues_on_error = how && strcmp (how, "continue") == 0;
    if (on_error && !step->continues_on_error && (!how || strcmp (how, "block") != 0))
        flow_add_error (self, flow_path_of (path, "on_error").text, "must be block or continue");
    check_text_size (self, json, path, "remark", 512);
    if (!call)
        check_text_size (self, json, path, "title", 256);
    if (json_object_get (json, "if"))
        step->condition =
            read_expression (self, json_object_get (json, "if"), flow_path_of (path, "if").text);
    read_let_fields (self, step, path);
    step->output = flow_read_template (self, json_object_get (json, "output"),
                                       flow_path_of (path, "output").text, FLOW_TEMPLATE_ALWAYS);
    if (call) {
        read_call (self, &step->call, json, path);
        read_for_each (self, step, path);
        read_undo (self, step, path);
    } else if (wait) {
        read_wait (self, step, path);
    } else if (signal) {
        read_signal (self, step, path);
    }
}

void flow_step_clear (struct flow_step *step)
{
    for (size_t i = 0; i < step->let_count; i++)
        expr_destroy (&step->lets[i].expr);
    free (step->lets);
    expr_destroy (&step->condition);
    flow_template_destroy (&step->output);
    flow_template_destroy (&step->call.frames);
    flow_template_destroy (&step->undo.frames);
    json_decref (step->call.plan);
    json_decref (step->undo.plan);
    flow_template_destroy (&step->for_each);
    flow_template_destroy (&step->wait);
    flow_template_destroy (&step->no_signal_value);
    json_decref (step->json);
}
