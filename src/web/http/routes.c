#include "routes.h"

#include <stdio.h>

#include "nearest.h"

enum { ONCE = false, REPEAT = true };

const struct route routes[ROUTES] = {
#define ROUTE(name, resource, method, path, command, role, query, body, fields, repeat, statuses,  \
              summary)                                                                             \
    [ROUTE_##name] = {#name,       #method, path,   command,  role,   query,                       \
                      BODY_##body, fields,  repeat, statuses, summary},
#include "routes.def"
};

static bool matches_path (const char *path, const struct request_target *target,
                          const char *args[ROUTE_ARGS_MAX])
{
    size_t at = 0, arg = 0;
    for (const char *next = path; *next; at++) {
        size_t size = strcspn (++next, "/");
        if (at == target->segment_count)
            return false;
        const char *segment = target->segments[at];
        if (*next == '{')
            args[arg++] = segment;
        else if (strlen (segment) != size || memcmp (segment, next, size) != 0)
            return false;
        next += size;
    }
    return at == target->segment_count;
}

static void add_allowed_method (struct routed *ret, const char *method)
{
    size_t size = strlen (ret->allow);
    snprintf (ret->allow + size, sizeof ret->allow - size, "%s%s%s", size ? ", " : "", method,
              strcmp (method, "GET") == 0 ? ", HEAD" : "");
}

int routes_find (const char *method, const struct request_target *target, struct routed *ret)
{
    const char *wanted = strcmp (method, "HEAD") == 0 ? "GET" : method;
    *ret = (struct routed){0};
    for (size_t i = 0; i < ROUTES; i++) {
        const char *args[ROUTE_ARGS_MAX] = {0};
        if (!matches_path (routes[i].path, target, args))
            continue;
        add_allowed_method (ret, routes[i].method);
        if (strcmp (routes[i].method, wanted) != 0)
            continue;
        ret->route = &routes[i];
        memcpy (ret->args, args, sizeof args);
    }
    return ret->route ? 0 : ret->allow[0] ? 405 : 404;
}

bool route_is_unsafe (const struct route *self)
{
    return strcmp (self->method, "GET") != 0;
}

bool route_has_word (const char *words, const char *word)
{
    size_t size = strchr (word, ' ') ? 0 : strlen (word); // a word has no blank
    for (const char *at = words; size && (at = strstr (at, word)); at += size)
        if ((at == words || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
            return true;
    return false;
}

// Set the reason: `where` has no such field. It suggests the nearest of `known`.
static void set_unknown_field_reason (const char *where, const char *name, const char *known,
                                      struct reason *reason)
{
    struct nearest nearest = nearest_to (name);
    nearest_try_list (&nearest, known);
    reason_set (reason, "%sunknown field %s%s", where, quoted (span_text (name)),
                nearest_hint (&nearest));
}

int route_check_query (const struct route *self, const struct request_target *target,
                       struct reason *reason)
{
    for (size_t i = 0; i < target->field_count; i++) {
        const char *name = target->fields[i].name;
        if (route_has_word (self->query, name))
            continue;
        set_unknown_field_reason ("query: ", name, self->query, reason);
        return -1;
    }
    return 0;
}

bool route_checks_later (const struct route *self)
{
    return route_has_word (self->fields, "...");
}

const char *route_check_names (const char *where, const char *known, const json_t *object,
                               struct reason *reason)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value)
    {
        if (route_has_word (known, name))
            continue;
        set_unknown_field_reason (where, name, known, reason);
        return name;
    }
    return NULL;
}

const char *route_check_body (const struct route *self, const json_t *body, struct reason *reason)
{
    return route_checks_later (self) ? NULL
                                     : route_check_names ("body: ", self->fields, body, reason);
}
