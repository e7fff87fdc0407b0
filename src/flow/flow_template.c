#include "flow_template.h"

#include <stdlib.h>

#include "flow.h"
#include "memory.h"

enum { PLAIN_MAX = 80 }; // bytes; a longer path is quoted

struct flow_template {
    json_t *literal;   // a value without expressions; NULL: one of the other forms
    size_t bytes;      // bytes of `literal` as JSON, if it is a list or an object
    struct expr *expr; // an expression; NULL: a list or object with expressions
    const char *text;  // text of the expression, borrowed from `source`
    json_t *source;
    size_t count;       // number of `items`, the parts of a list or object
    const char **names; // names of the members; NULL: it is a list
    struct flow_template **items;
};

void flow_template_destroy (struct flow_template **self)
{
    if (!*self)
        return;
    for (size_t i = 0; i < (*self)->count; i++)
        flow_template_destroy (&(*self)->items[i]);
    free ((*self)->items);
    free ((*self)->names);
    expr_destroy (&(*self)->expr);
    json_decref ((*self)->literal);
    json_decref ((*self)->source);
    free (*self);
    *self = NULL;
}

// The place of a part: its parent, and its name or index. The path is written only for an error.
struct template_path {
    const struct template_path *above; // the parent; NULL: `name` is the path of the whole template
    const char *name;                  // NULL: the part is an item, see `index`
    size_t index;
};

static size_t write_template_path (const struct template_path *place, char *out, size_t size)
{
    size_t used = place->above ? write_template_path (place->above, out, size) : 0;
    int more;
    if (!place->above)
        more = snprintf (out, size, "%s", place->name);
    else if (place->name && !used)
        more = snprintf (out, size, "%.64s", place->name);
    else if (place->name)
        more = snprintf (out + used, size - used, ".%.64s", place->name);
    else
        more = snprintf (out + used, size - used, "[%zu]", place->index);
    used += more > 0 ? (size_t)more : 0;
    return used < size ? used : size - 1;
}

// Prefix a reason with the path of the part that failed; an unusual path is quoted.
static void prefix_with_path (const struct template_path *place, struct reason *reason)
{
    char path[FLOW_PATH_SIZE];
    struct reason why = *reason;
    write_template_path (place, path, sizeof path);
    bool plain = strlen (path) <= PLAIN_MAX;
    for (const char *at = path; plain && *at; at++)
        plain = *at > ' ' && *at < 0x7F && *at != '\'' && *at != '"' && *at != '\\';
    if (*path)
        reason_set (reason, "%s: %s", plain ? path : quoted (span_text (path)), why.text);
}

static json_t *evaluate_template (const struct flow_template *self,
                                  const struct template_path *place, const struct expr_env *env,
                                  size_t max, struct reason *reason)
{
    struct template_path part = {.above = place};
    if (self->literal)
        return json_incref (self->literal);
    if (self->expr) {
        struct flow_value value;
        if (!flow_evaluate (self->expr, env, max, &value, reason))
            prefix_with_path (place, reason);
        json_t *json = flow_value_json (&value);
        json_decref (value.json);
        return json;
    }
    json_t *ret = self->names ? json_object () : json_array ();
    for (part.index = 0; ret && part.index < self->count; part.index++) {
        part.name = self->names ? self->names[part.index] : NULL;
        json_t *item = evaluate_template (self->items[part.index], &part, env, max, reason);
        if (!item) {
            json_decref (ret);
            return NULL;
        }
        if (self->names)
            json_object_set_new_nocheck (ret, part.name, item);
        else
            json_array_append_new (ret, item);
    }
    return ret;
}

static void make_string_template (struct flow_template *self, enum flow_template_mode mode,
                                  json_t *errors, const struct template_path *place)
{
    struct expr_error error;
    const char *text = json_string_value (self->source);
    size_t size = json_string_length (self->source);
    bool marked = text[0] == '=';
    char path[FLOW_PATH_SIZE];
    if (marked && text[1] == '=') {
        self->literal = json_stringn_nocheck (text + 1, size - 1);
        return;
    }
    if (!marked && mode == FLOW_TEMPLATE_MARKED) {
        self->literal = json_incref (self->source);
        return;
    }
    self->text = text + marked;
    if (expr_compile (span_of (self->text, size - marked), &self->expr, &error) == 0)
        return;
    write_template_path (place, path, sizeof path);
    flow_errors_add (errors, path, error.reason.text);
    self->literal = json_null ();
}

// Make a template of the JSON at this place. The recursion is bounded, as the JSON parser limits
// the depth.
static struct flow_template *make_template (const json_t *json, enum flow_template_mode mode,
                                            json_t *errors, const struct template_path *place)
{
    struct flow_template *self = memory_new (sizeof *self);
    struct template_path part = {.above = place};
    json_t *value;
    self->source = json_incref ((json_t *)json);
    if (json_is_string (json)) {
        make_string_template (self, mode, errors, place);
    } else if (json_is_array (json)) {
        self->items = memory_new ((json_array_size (json) + 1) * sizeof *self->items);
        json_array_foreach (json, part.index, value) self->items[self->count++] =
            make_template (value, FLOW_TEMPLATE_MARKED, errors, &part);
    } else if (json_is_object (json)) {
        self->items = memory_new ((json_object_size (json) + 1) * sizeof *self->items);
        self->names = memory_new ((json_object_size (json) + 1) * sizeof *self->names);
        json_object_foreach ((json_t *)json, part.name, value)
        {
            self->names[self->count] = part.name;
            self->items[self->count++] = make_template (value, FLOW_TEMPLATE_MARKED, errors, &part);
        }
    } else {
        self->literal = json_incref ((json_t *)json);
    }
    size_t literals = 0;
    while (literals < self->count && self->items[literals]->literal)
        literals++;
    if (self->items && literals == self->count) {
        self->literal = evaluate_template (self, place, NULL, 0, NULL);
        self->bytes = json_dumpb (self->literal, NULL, 0, JSON_COMPACT);
    }
    return self;
}

struct flow_template *flow_template_new (const json_t *json, enum flow_template_mode mode,
                                         const char *path, json_t *errors)
{
    const struct template_path place = {.name = path};
    return make_template (json, mode, errors, &place);
}

void flow_template_visit (const struct flow_template *self, const char *path,
                          flow_template_visitor *visit, void *context)
{
    char part[FLOW_PATH_SIZE];
    if (self->expr)
        visit (context, self->expr, self->text, path);
    for (size_t i = 0; i < self->count; i++) {
        if (self->names)
            snprintf (part, sizeof part, "%s.%.64s", path, self->names[i]);
        else
            snprintf (part, sizeof part, "%s[%zu]", path, i);
        flow_template_visit (self->items[i], part, visit, context);
    }
}

bool flow_template_has_expression (const struct flow_template *self)
{
    bool found = self->expr;
    for (size_t i = 0; i < self->count && !found; i++)
        found = flow_template_has_expression (self->items[i]);
    return found;
}

json_t *flow_template_evaluate (const struct flow_template *self, const char *path,
                                const struct expr_env *env, size_t max, struct reason *reason)
{
    const struct template_path place = {.name = path};
    json_t *ret = evaluate_template (self, &place, env, max, reason);
    bool composed = ret && !self->literal && !self->expr;
    size_t bytes = composed ? json_dumpb (ret, NULL, 0, JSON_COMPACT) : self->bytes;
    if (ret && bytes > max) {
        reason_set (reason, "larger than %zu bytes", max);
        prefix_with_path (&place, reason);
        json_decref (ret);
        ret = NULL;
    }
    return ret;
}

bool flow_evaluate (const struct expr *expr, const struct expr_env *env, size_t max,
                    struct flow_value *ret, struct reason *reason)
{
    struct expr_error error = {.code = 0};
    struct expr_value value;
    struct expr_memory *memory = expr_memory_new ();
    bool ok = expr_evaluate (expr, env, memory, &value, &error) == 0;
    *ret = (struct flow_value){.is_time = ok && value.type == EXPR_TIME};
    if (ret->is_time)
        ret->local = value.time;
    else if (ok)
        ok = (ret->json = expr_to_json (&value, max, &error));
    if (!ok)
        reason_set (reason, "%s", error.reason.text);
    expr_memory_destroy (&memory);
    return ok;
}

json_t *flow_value_json (const struct flow_value *value)
{
    enum { TIME_TEXT_MAX = 24 };
    struct expr_error ignored;
    if (!value->is_time)
        return json_incref (value->json);
    const struct expr_value time = expr_of_time (value->local);
    return expr_to_json (&time, TIME_TEXT_MAX, &ignored);
}

bool flow_template_evaluate_value (const struct flow_template *self, const char *path,
                                   const struct expr_env *env, struct flow_value *ret,
                                   struct reason *reason)
{
    const struct template_path place = {.name = path};
    *ret = (struct flow_value){.is_time = false};
    if (!self->expr)
        return (ret->json = flow_template_evaluate (
                    self, path, env, self->literal ? SIZE_MAX : FLOW_VALUE_MAX, reason));
    bool ok = flow_evaluate (self->expr, env, FLOW_TEMPLATE_SCALAR_MAX, ret, reason);
    if (!ok)
        prefix_with_path (&place, reason);
    return ok;
}
