// Callbacks: they are plans of the callback target.

#include "api.h"
#include "json.h"
#include "json_names.h"
#include "server.h"

static void on_targets (struct exchange *self, const struct station_answer *answer)
{
    static const struct api_page page = {'i', "plans", JSON_PLAN};
    size_t i;
    const json_t *target, *name = NULL;
    json_array_foreach (json_object_get (answer->json, "stations"), i, target)
    {
        if (json_is_true (json_object_get (target, "callbacks")))
            name = json_object_get (target, "name");
    }
    if (name)
        api_ask_page (self, &page, json_pack ("{s:O}", "station", name));
    else
        exchange_answer_json (self, 200, json_pack ("{s:[]}", "items"));
}

void api_callbacks (struct exchange *self)
{
    const struct question question = {.command = "station", .args = {"list"}, .repeat = true};
    exchange_question (self, &question, on_targets);
}

void api_redeliver (struct exchange *self)
{
    exchange_ask (self, api_on_plan, "redeliver", self->routed.args[0], NULL);
}

static void on_test (struct exchange *self, const struct station_answer *answer)
{
    api_add_location (self, "callbacks", answer->id);
    exchange_answer_json (self, 201, json_pack ("{s:s}", "id", answer->id));
}

void api_callback_test (struct exchange *self)
{
    const json_t *callback = json_object_get (self->json, "callback");
    const char *target = json_string_value (json_object_get (self->json, "target"));
    if (!target || !json_is_object (callback) || json_object_size (self->json) != 2) {
        exchange_problem (self, 422, "invalid_field",
                          "want {\"target\": NAME, \"callback\": {\"success\": {\"url\": ...}}}");
        return;
    }
    const char *text = exchange_own_block (self, json_write (callback));
    exchange_ask (self, on_test, "test", target, text, NULL);
}
