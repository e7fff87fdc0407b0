// Named objects of the station: kinds of plans, and limits.
#include "api.h"
#include "json.h"

// Convert {NAME: fields} to a list of items with a `name`; the fields are below `inside`, or in the
// item if it is NULL.
static json_t *items_with_names (const json_t *objects, const char *inside)
{
    const char *name;
    json_t *fields, *items = json_array ();
    json_object_foreach ((json_t *)(uintptr_t)objects, name, fields)
    {
        json_t *item = inside                    ? json_pack ("{s:O}", inside, fields)
                       : json_is_object (fields) ? json_copy (fields)
                                                 : json_object ();
        json_object_set_new (item, "name", json_string (name));
        json_array_append_new (items, item);
    }
    return items;
}

static void on_kinds (struct exchange *self, const struct station_answer *answer)
{
    json_t *items = items_with_names (json_object_get (answer->json, "kinds"), "spec");
    if (self->routed.args[0])
        exchange_answer_json (self, 200, json_incref (json_array_get (items, 0)));
    else
        exchange_answer_json (self, 200, json_pack ("{s:O}", "items", items));
    json_decref (items);
}

void api_kinds (struct exchange *self)
{
    exchange_ask (self, on_kinds, self->routed.args[0] ? "get" : "list", self->routed.args[0],
                  NULL);
}

// The fields as text, kept until the exchange ends. NULL: not an object, and the request was
// answered.
static const char *keep_as_text (struct exchange *self, const json_t *fields)
{
    if (json_is_object (fields))
        return exchange_own_block (self, json_write ((json_t *)(uintptr_t)fields));
    exchange_problem (self, 422, "invalid_field", "want a JSON object");
    return NULL;
}

void api_kind_put (struct exchange *self)
{
    const char *text = keep_as_text (self, json_object_get (self->json, "spec"));
    if (text)
        exchange_ask (self, on_kinds, "put", self->routed.args[0], text, NULL);
}

static void on_limits (struct exchange *self, const struct station_answer *answer)
{
    json_t *limits = json_object_get (answer->json, "limits");
    exchange_answer_json (self, 200, json_pack ("{s:o}", "items", items_with_names (limits, NULL)));
}

void api_limits (struct exchange *self)
{
    exchange_ask (self, on_limits, "list", self->routed.args[0], NULL);
}

static void on_limit_put (struct exchange *self, const struct station_answer *answer)
{
    (void)answer;
    json_object_set_new (self->json, "name", json_string (self->routed.args[0]));
    exchange_answer_json (self, 200, json_incref (self->json));
}

void api_limit_put (struct exchange *self)
{
    const char *text = keep_as_text (self, self->json);
    if (text)
        exchange_ask (self, on_limit_put, "set", self->routed.args[0], text, NULL);
}

void api_named_delete (struct exchange *self)
{
    exchange_ask (self, api_on_done, "remove", self->routed.args[0], NULL);
}
