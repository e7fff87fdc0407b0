// The station itself, its targets, and this program.
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "json.h"
#include "json_names.h"
#include "json_values.h"
#include "openapi.h"
#include "query.h"
#include "server.h"

enum { READY_MS = 1000 };

void api_live (struct exchange *self)
{
    exchange_answer_empty (self, 204);
}

static void on_ping (struct exchange *self, const struct station_answer *answer)
{
    bool serves = answer->error == ZPLAN_OK && answer->status < ZERO_STATUS_ERROR_FLAG;
    exchange_answer_empty (self, serves ? 204 : 503);
}

void api_ready (struct exchange *self)
{
    const struct question question = {.deadline_ms = READY_MS};
    self->gateway = self->server->gateway;
    self->failed = on_ping;
    exchange_question (self, &question, on_ping);
}

void api_openapi (struct exchange *self)
{
    exchange_answer_json (self, 200,
                          openapi_document (self->server->settings->root, ZPLAN_VERSION));
}

// -- targets

static void on_targets (struct exchange *self, const struct station_answer *answer)
{
    const char *name = self->routed.args[0];
    size_t i;
    const json_t *target;
    json_t *items = json_array ();
    json_array_foreach (json_object_get (answer->json, "stations"), i, target)
    {
        const char *own = json_string_value (json_object_get (target, "name"));
        if (!name || (own && strcmp (own, name) == 0))
            json_array_append_new (items, json_names (JSON_TARGET, target));
    }
    if (!name)
        exchange_answer_json (self, 200, json_pack ("{s:O}", "items", items));
    else if (json_array_size (items) == 0)
        exchange_problem (self, 404, "not_find", "there is no such target");
    else
        exchange_answer_json (self, 200, json_incref (json_array_get (items, 0)));
    json_decref (items);
}

void api_targets (struct exchange *self)
{
    exchange_ask (self, on_targets, "list", NULL);
}

// Whether the settings allow changes of targets, which make the station connect to their endpoints.
// False: the request was answered with 403.
static bool check_targets_allowed (struct exchange *self)
{
    if (self->server->settings->allow_targets)
        return true;
    exchange_problem (self, 403, "deny", "this zplan-web changes no targets: see allow_targets");
    return false;
}

// Write the target in the body as NAME=TYPE@ENDPOINT,OPTION=VALUE..., the argument of `station
// add`. NULL: invalid, and the request was answered.
static const char *write_target_text (struct exchange *self)
{
    const json_t *type = json_object_get (self->json, "type");
    const json_t *endpoint = json_object_get (self->json, "endpoint");
    json_t *options = json_object_get (self->json, "options"), *value;
    const char *name;
    char *text = NULL;
    size_t size;
    if (!json_is_string (type) || (endpoint && !json_is_string (endpoint)) ||
        (options && !json_is_object (options))) {
        exchange_problem (self, 422, "invalid_field",
                          "want type, endpoint, and options as an object: {\"type\": \"api\", "
                          "\"endpoint\": \"tcp://10.0.0.7:8000\"}");
        return NULL;
    }
    FILE *out = open_memstream (&text, &size);
    fprintf (out, "%s=%s", self->routed.args[0], json_string_value (type));
    if (endpoint)
        fprintf (out, "@%s", json_string_value (endpoint));
    json_object_foreach (options, name, value)
    {
        char *word = json_is_string (value) ? NULL : json_write (value);
        fprintf (out, ",%s=%s", name, word ? word : json_string_value (value));
        free (word);
    }
    fclose (out);
    return exchange_own_block (self, text);
}

void api_target_put (struct exchange *self)
{
    const char *text = check_targets_allowed (self) ? write_target_text (self) : NULL;
    if (text)
        exchange_ask (self, api_on_done, "add", text, NULL);
}

void api_target_delete (struct exchange *self)
{
    if (check_targets_allowed (self))
        exchange_ask (self, api_on_done, "remove", self->routed.args[0], NULL);
}

// -- numbers

static void on_load (struct exchange *self, const struct station_answer *answer)
{
    const json_t *from = json_object_get (answer->json, "from");
    exchange_answer_json (self, 200,
                          json_pack ("{s:o, s:O*, s:O*, s:O*}", "from",
                                     json_instant_ms (json_integer_value (from) * 1000), "step_s",
                                     json_object_get (answer->json, "step"), "counts",
                                     json_object_get (answer->json, "counts"), "total",
                                     json_object_get (answer->json, "total")));
}

void api_load (struct exchange *self)
{
    struct reason reason;
    json_t *fields = query_filter (&self->target, &reason);
    if (!fields) {
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
        return;
    }
    bool filtered = json_object_size (fields) > 0;
    const char *text = filtered ? exchange_own_block (self, json_write (fields)) : NULL;
    json_decref (fields);
    exchange_ask (self, on_load, text, NULL);
}

void api_stats (struct exchange *self)
{
    exchange_ask (self, api_on_answer, NULL);
}

static void on_health (struct exchange *self, const struct station_answer *answer)
{
    bool healthy = json_is_true (json_object_get (answer->json, "healthy"));
    exchange_answer_json (self, healthy ? 200 : 503, json_names (JSON_ANSWER, answer->json));
}

void api_health (struct exchange *self)
{
    exchange_ask (self, on_health, NULL);
}
