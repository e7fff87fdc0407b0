#include "openapi.h"

#include <ctype.h>
#include <stdio.h>

#include "routes.h"

static json_t *parameter_json (const char *name, size_t size, const char *in)
{
    bool path = strcmp (in, "path") == 0;
    return json_pack ("{s:s%, s:s, s:{s:s}, s:o*}", "name", name, size, "in", in, "schema", "type",
                      "string", "required", path ? json_true () : NULL);
}

static json_t *parameters_json (const struct route *route)
{
    json_t *list = json_array ();
    for (const char *at = route->path; (at = strchr (at, '{')); at++)
        json_array_append_new (list, parameter_json (at + 1, strcspn (at + 1, "}"), "path"));
    for (const char *at = route->query; *at; at += strspn (at, " ")) {
        size_t size = strcspn (at, " ");
        json_array_append_new (list, parameter_json (at, size, "query"));
        at += size;
    }
    if (route - routes == ROUTE_PLAN_NEW)
        json_array_append_new (list, parameter_json ("Idempotency-Key", 15, "header"));
    if (route - routes == ROUTE_PLAN_PATCH)
        json_array_append_new (list, parameter_json ("If-Match", 8, "header"));
    return list;
}

static json_t *responses_json (const struct route *route)
{
    json_t *responses = json_object ();
    for (const char *at = route->statuses; *at; at += strspn (at, " ")) {
        char status[4];
        snprintf (status, sizeof status, "%.3s", at);
        json_object_set_new (responses, status, json_pack ("{s:s}", "description", route->summary));
        at += 3;
    }
    if (strncmp (route->path, "/v1/", 4) == 0)
        json_object_set_new (responses, "default",
                             json_pack ("{s:s}", "$ref", "#/components/responses/problem"));
    return responses;
}

static void add_properties (json_t *schema, const struct route *route)
{
    json_t *properties = json_object ();
    for (const char *at = route->fields; *at; at += strspn (at, " ")) {
        size_t size = strcspn (at, " ");
        if (*at != '.')
            json_object_setn_new (properties, at, size, json_object ());
        at += size;
    }
    json_object_set_new (schema, "properties", properties);
    if (!route_checks_later (route))
        json_object_set_new (schema, "additionalProperties", json_false ());
}

static json_t *request_body_json (const struct route *route)
{
    static const char *const types[] = {[BODY_JSON] = "application/json",
                                        [BODY_MERGE] = "application/merge-patch+json",
                                        [BODY_LINES] = "application/x-ndjson"};
    json_t *schema = json_pack ("{s:s}", "type", route->body == BODY_LINES ? "string" : "object");
    if (route->body != BODY_LINES)
        add_properties (schema, route);
    return json_pack ("{s:{s:{s:o}}}", "content", types[route->body], "schema", schema);
}

static const char *to_lower (const char *text, char out[32])
{
    snprintf (out, 32, "%s", text);
    for (char *at = out; *at; at++)
        *at = (char)tolower ((unsigned char)*at);
    return out;
}

static json_t *operation_json (const struct route *route)
{
    char name[32];
    return json_pack ("{s:s, s:s, s:o, s:o, s:o*, s:s*, s:o*, s:s*}", "operationId",
                      to_lower (route->name, name), "summary", route->summary, "parameters",
                      parameters_json (route), "responses", responses_json (route), "requestBody",
                      route->body == BODY_NONE ? NULL : request_body_json (route), "x-role",
                      route->role[0] ? route->role : NULL, "security",
                      route->role[0] ? NULL : json_array (), "x-command",
                      route->command[0] ? route->command : NULL);
}

static json_t *components_json (void)
{
    return json_pack (
        "{s:{s:{s:s, s:s}}, s:{s:{s:s, s:{s:{s:{s:s}}}}}, s:{s:{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}, "
        "s:{s:s}, s:{s:s}}}}}",
        "securitySchemes", "token", "type", "http", "scheme", "bearer", "responses", "problem",
        "description", "an error (RFC 9457)", "content", "application/problem+json", "schema",
        "$ref", "#/components/schemas/problem", "schemas", "problem", "type", "object",
        "properties", "type", "type", "string", "title", "type", "string", "status", "type",
        "integer", "code", "type", "string", "detail", "type", "string");
}

json_t *openapi_document (const char *root, const char *version)
{
    json_t *paths = json_object ();
    for (size_t i = 0; i < ROUTES; i++) {
        char method[32];
        json_t *path = json_object_get (paths, routes[i].path);
        if (!path) {
            path = json_object ();
            json_object_set_new (paths, routes[i].path, path);
        }
        json_object_set_new (path, to_lower (routes[i].method, method),
                             operation_json (&routes[i]));
    }
    return json_pack ("{s:s, s:{s:s, s:s, s:s}, s:[{s:s}], s:[{s:[]}, {}], s:o, s:o}", "openapi",
                      "3.1.0", "info", "title", "zplan", "version", version, "description",
                      "The HTTP gateway of a plan proxy station.", "servers", "url", root,
                      "security", "token", "paths", paths, "components", components_json ());
}
