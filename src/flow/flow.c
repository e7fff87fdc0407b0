#include "flow.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>

#include "flow_private.h"
#include "memory.h"

// Whether a text is a name of letters, digits and these other characters.
static bool is_name (const char *name, const char *punctuation)
{
    size_t size = strlen (name);
    for (size_t i = 0; i < size; i++)
        if (!isalnum ((unsigned char)name[i]) && !strchr (punctuation, name[i]))
            return false;
    return size >= 1 && size <= FLOW_NAME_MAX;
}

bool flow_name_valid (const char *name)
{
    return is_name (name, "_.-");
}

bool flow_step_name_valid (const char *name)
{
    return is_name (name, "_-");
}

int64_t flow_find (const struct flow *self, const char *name)
{
    const json_t *index = json_object_get (self->names, name);
    return index ? json_integer_value (index) : -1;
}

void flow_errors_add (json_t *errors, const char *path, const char *text)
{
    struct reason reason;
    if (json_array_size (errors) >= FLOW_ERRORS_MAX)
        return;
    reason_set (&reason, "%s", text);
    // A path that was cut may end within a character, which is not valid JSON.
    json_t *where = json_string (path);
    if (!where)
        where = json_string (quoted (span_text (path)));
    json_array_append_new (
        errors, json_pack ("{s:o*, s:o*}", "path", where, "reason", json_string (reason.text)));
}

void flow_add_error (struct flow_reader *self, const char *path, const char *format, ...)
{
    char text[4 * REASON_MAX];
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (text, sizeof text, format, arguments);
    va_end (arguments);
    flow_errors_add (self->errors, path, text);
}

void flow_add_warning (json_t *list, const char *format, ...)
{
    char text[2 * REASON_MAX];
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (text, sizeof text, format, arguments);
    va_end (arguments);
    if (json_array_size (list) < FLOW_ERRORS_MAX)
        json_array_append_new (list, json_string (text));
}

struct flow_path flow_path_of (const char *path, const char *name)
{
    struct flow_path ret;
    snprintf (ret.text, sizeof ret.text, "%s%s%.64s", path, *path ? "." : "", name);
    return ret;
}

bool flow_is_one_of (const char *name, const char *const *names)
{
    while (*names && strcmp (*names, name) != 0)
        names++;
    return *names;
}

int64_t flow_read_integer (struct flow_reader *self, const json_t *object, const char *path,
                           const char *name, int64_t min, int64_t max, int64_t fallback)
{
    const json_t *value = json_object_get (object, name);
    if (!value)
        return fallback;
    if (json_is_integer (value) && json_integer_value (value) >= min &&
        json_integer_value (value) <= max)
        return json_integer_value (value);
    flow_add_error (self, flow_path_of (path, name).text, "must be an integer from %lld to %lld",
                    (long long)min, (long long)max);
    return fallback;
}

struct flow_template *flow_read_template (struct flow_reader *self, const json_t *json,
                                          const char *path, enum flow_template_mode mode)
{
    return json ? flow_template_new (json, mode, path, self->errors) : NULL;
}

static const char *const flow_fields[] = {
    "flow",  "title",        "props",     "params",  "steps",  "edges",   "defaults",
    "kinds", "max_parallel", "fail_fast", "timeout", "output", "finally", NULL};

static void check_flow_fields (struct flow_reader *self, const json_t *json)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)json, name, value)
    {
        if (!flow_is_one_of (name, flow_fields))
            flow_add_error (self, quoted (span_text (name)), "no such field of a flow");
    }
    const json_t *title = json_object_get (json, "title"), *props = json_object_get (json, "props");
    if (title && (!json_is_string (title) || json_string_length (title) > 1024))
        flow_add_error (self, "title", "must be a text of at most 1024 bytes");
    if (props && (!json_is_object (props) || json_dumpb (props, NULL, 0, JSON_COMPACT) > 4096))
        flow_add_error (self, "props", "must be an object of at most 4096 bytes");
}

static void read_param (struct flow_reader *self, const char *name, const json_t *json)
{
    static const char *const names[] = {"type", "default", "required", NULL};
    const struct flow_path path = flow_path_of ("params", name);
    struct flow_param *param = &self->flow->params[self->flow->param_count];
    if (!expr_name_valid (span_text (name))) {
        flow_add_error (self, path.text, "%s", FLOW_VARIABLE_RULE);
        return;
    }
    self->flow->param_count++;
    param->name = name;
    param->type = "any";
    const json_t *value = json;
    if (json_is_object (json)) {
        const char *field;
        json_t *member;
        json_object_foreach ((json_t *)json, field, member)
        {
            if (!flow_is_one_of (field, names))
                flow_add_error (self, path.text, "%s: only type, default and required",
                                quoted (span_text (field)));
        }
        const json_t *type = json_object_get (json, "type");
        if (type && !flow_param_type_valid (json_string_value (type)))
            flow_add_error (self, path.text,
                            "type must be string, integer, decimal, boolean, list, object, "
                            "time or any");
        else if (type)
            param->type = json_string_value (type);
        const json_t *required = json_object_get (json, "required");
        if (required && !json_is_boolean (required))
            flow_add_error (self, path.text, "required must be true or false");
        param->required = json_is_true (required);
        value = json_object_get (json, "default");
    }
    param->value = flow_read_template (self, value, path.text, FLOW_TEMPLATE_MARKED);
}

static void read_flow_fields (struct flow_reader *self, const json_t *json)
{
    struct flow *flow = self->flow;
    const json_t *name = json_object_get (json, "flow"), *params = json_object_get (json, "params");
    flow->name = json_string_value (name);
    if (!flow->name || !flow_name_valid (flow->name)) {
        flow_add_error (self, "flow", "must be a name of 1 to 64 of A-Z a-z 0-9 _ . -");
        flow->name = "";
    }
    if (params && !json_is_object (params)) {
        flow_add_error (self, "params", "must be an object");
    } else if (params) {
        const char *key;
        json_t *value;
        flow->params = memory_new ((json_object_size (params) + 1) * sizeof *flow->params);
        json_object_foreach ((json_t *)params, key, value) read_param (self, key, value);
    }
    flow->has_own_parallel = json_object_get (json, "max_parallel");
    flow->parallel =
        (uint32_t)flow_read_integer (self, json, "", "max_parallel", 0, 10000, FLOW_PARALLEL);
    flow->timeout_s = flow_read_integer (self, json, "", "timeout", 1, FLOW_SECONDS_MAX, 0);
    const json_t *fast = json_object_get (json, "fail_fast");
    if (fast && !json_is_boolean (fast))
        flow_add_error (self, "fail_fast", "must be true or false");
    flow->fail_fast = json_is_true (fast);
    flow->output =
        flow_read_template (self, json_object_get (json, "output"), "output", FLOW_TEMPLATE_MARKED);
    self->defaults = json_object_get (json, "defaults");
    if (self->defaults && !json_is_object (self->defaults)) {
        flow_add_error (self, "defaults", "must be an object");
        self->defaults = NULL;
    }
    flow_check_defaults (self);
    flow_read_kinds (self, json_object_get (json, "kinds"));
}

static bool read_step_names (struct flow_reader *self, const json_t *json)
{
    struct flow *flow = self->flow;
    json_t *steps = json_object_get (json, "steps"), *value;
    const char *name;
    size_t count = json_object_size (steps);
    if (!json_is_object (steps) || count == 0 || count > FLOW_STEPS_MAX) {
        flow_add_error (self, "steps", "must be an object of 1 to %d steps", FLOW_STEPS_MAX);
        return false;
    }
    flow->steps = memory_new (count * sizeof *flow->steps);
    json_object_foreach (steps, name, value)
    {
        struct flow_step *step = &flow->steps[flow->step_count];
        const struct flow_path path = flow_path_of ("steps", name);
        if (!flow_step_name_valid (name))
            flow_add_error (self, path.text, "a step's name is 1 to 64 of A-Z a-z 0-9 _ -");
        step->name = name;
        step->json = json_is_object (value) ? json_copy (value) : json_object ();
        if (!json_is_object (value))
            flow_add_error (self, path.text, "must be an object");
        json_object_set_new_nocheck (flow->names, name, json_integer (flow->step_count++));
    }
    return true;
}

static void read_finally (struct flow_reader *self, const json_t *json)
{
    const json_t *final = json_object_get (json, "finally");
    self->flow->final = -1;
    if (json_is_string (final))
        self->flow->final = flow_find (self->flow, json_string_value (final));
    if (final && self->flow->final < 0)
        flow_add_error (self, "finally", "must be the name of a step");
}

struct flow *flow_read (const json_t *json, const struct flow_world *world, json_t **ret_errors)
{
    struct flow_reader reader = {.errors = json_array (), .world = world};
    struct flow *flow = reader.flow = memory_new (sizeof *flow);
    flow->json = json_incref ((json_t *)json);
    flow->names = json_object ();
    flow->report.because = json_array ();
    flow->report.warnings = json_array ();
    reader.edge_set = json_object ();
    if (!json_is_object (json)) {
        flow_add_error (&reader, "", "a definition must be an object");
    } else {
        check_flow_fields (&reader, json);
        read_flow_fields (&reader, json);
        if (read_step_names (&reader, json)) {
            read_finally (&reader, json);
            for (uint32_t i = 0; i < flow->step_count; i++)
                flow_read_step (&reader, &flow->steps[i]);
            for (uint32_t i = 0; i < flow->step_count; i++)
                flow_read_after (&reader, i);
            flow_read_edges (&reader);
            flow_link_edges (&reader);
        }
    }
    if (json_array_size (reader.errors) == 0)
        flow_compute_report (&reader);
    json_decref (reader.edge_set);
    free (reader.edges);
    *ret_errors = reader.errors;
    if (json_array_size (reader.errors) > 0) {
        flow_destroy (&flow);
    } else {
        json_decref (reader.errors);
        *ret_errors = NULL;
    }
    return flow;
}

json_t *flow_read_text (struct span text, json_t **ret_errors)
{
    struct reason reason;
    json_t *json = NULL;
    if (text.size > FLOW_TEXT_MAX)
        reason_set (&reason, "a definition has at most %d bytes", FLOW_TEXT_MAX);
    else
        json = expr_read_json (text, &reason);
    if (!json)
        *ret_errors = json_pack ("[{s:s, s:s}]", "path", "", "reason", reason.text);
    return json;
}

struct flow *flow_parse (struct span text, const struct flow_world *world, json_t **ret_errors)
{
    json_t *json = flow_read_text (text, ret_errors);
    struct flow *flow = json ? flow_read (json, world, ret_errors) : NULL;
    json_decref (json);
    return flow;
}

void flow_destroy (struct flow **self)
{
    struct flow *flow = *self;
    if (!flow)
        return;
    for (size_t i = 0; i < flow->param_count; i++)
        flow_template_destroy (&flow->params[i].value);
    for (size_t i = 0; i < flow->step_count; i++)
        flow_step_clear (&flow->steps[i]);
    flow_template_destroy (&flow->output);
    free (flow->params);
    free (flow->steps);
    free (flow->in);
    free (flow->out);
    free (flow->order);
    json_decref (flow->names);
    json_decref (flow->report.because);
    json_decref (flow->report.warnings);
    json_decref (flow->json);
    free (flow);
    *self = NULL;
}

bool flow_text_equal (struct span left, struct span right)
{
    size_t i = 0, j = 0;
    bool quotes = false;
    for (;; i++, j++) {
        while (!quotes && i < left.size && strchr (" \t\r\n", left.data[i]) && left.data[i])
            i++;
        while (!quotes && j < right.size && strchr (" \t\r\n", right.data[j]) && right.data[j])
            j++;
        if (i >= left.size || j >= right.size)
            return i >= left.size && j >= right.size;
        if (left.data[i] != right.data[j])
            return false;
        if (quotes && left.data[i] == '\\' && i + 1 < left.size && j + 1 < right.size) {
            if (left.data[++i] != right.data[++j])
                return false;
        } else if (left.data[i] == '"') {
            quotes = !quotes;
        }
    }
}

json_t *flow_report_json (const struct flow *self)
{
    const struct flow_report *report = &self->report;
    return json_pack ("{s:I, s:i, s:b, s:o*, s:O*, s:O*}", "steps_max",
                      (json_int_t)report->steps_max, "depth", (int)report->depth, "bounded",
                      report->bounded, "seconds_max",
                      report->bounded ? json_integer ((json_int_t)report->seconds_max) : NULL,
                      "because", json_array_size (report->because) ? report->because : NULL,
                      "warnings", json_array_size (report->warnings) ? report->warnings : NULL);
}
