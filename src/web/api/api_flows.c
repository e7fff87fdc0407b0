// Flows: definitions, and runs. The station has one command for all of them, with a subcommand as
// its first argument.
#include <stdio.h>

#include "api.h"
#include "json.h"
#include "json_values.h"
#include "query.h"
#include "settings.h"
#include "zplan_codes.h"

enum { LIMIT_MAX = 1000 };

// -- names: instants are "..._at", as everywhere

static json_t *convert_names (const json_t *wire)
{
    const char *name;
    json_t *value, *converted = json_object ();
    json_object_foreach ((json_t *)(uintptr_t)wire, name, value)
    {
        size_t size = strlen (name);
        char at[64];
        bool ms = size > 3 && size < sizeof at && strcmp (name + size - 3, "_ms") == 0;
        snprintf (at, sizeof at, "%.*s%s", (int)(ms ? size - 3 : size), name, ms ? "_at" : "");
        if (ms && json_integer_value (value) == 0)
            continue; // 0 ms: not ended, so the field is omitted
        json_object_set_new (
            converted, at,
            ms || strcmp (name, "at") == 0  ? json_instant_ms (json_integer_value (value))
            : strcmp (name, "updated") == 0 ? json_instant_ms (json_integer_value (value) * 1000)
                                            : json_incref (value));
    }
    return converted;
}

static void answer_with_names (struct exchange *self, const struct station_answer *answer)
{
    exchange_answer_json (self, 200, convert_names (answer->json));
}

// Lists of the station, which are answered as `items`: the subcommand, and the name of the list in
// its reply.
static const struct listing {
    const char *word, *list;
} listings[ROUTES] = {
    [ROUTE_FLOWS] = {"list", "flows"},
    [ROUTE_FLOW_RUNS] = {"runs", "runs"},
    [ROUTE_FLOW_STEPS] = {"show", "steps"},
    [ROUTE_FLOW_LOG] = {"log", "log"},
};

static const struct listing *route_listing (const struct exchange *self)
{
    return &listings[self->routed.route - routes];
}

static void on_list_failed (struct exchange *self, const struct station_answer *answer)
{
    bool wrong = answer->error == ZPLAN_OK && answer->status == ZERO_STATUS_MANAGE_ARG_ERROR_ID;
    if (wrong && request_target_field (&self->target, "after"))
        exchange_problem (self, 400, "invalid_field", "%s", answer->reason);
    else
        exchange_fail (self, answer);
}

static void on_list (struct exchange *self, const struct station_answer *answer)
{
    size_t i;
    const json_t *item, *next = json_object_get (answer->json, "next");
    json_t *items = json_array (), *body = json_pack ("{s:o}", "items", items);
    json_array_foreach (json_object_get (answer->json, route_listing (self)->list), i, item)
        json_array_append_new (items, convert_names (item));
    if (json_is_integer (next)) {
        char text[24];
        snprintf (text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value (next));
        json_object_set_new (body, "next", json_string (text));
    } else if (next) {
        json_object_set (body, "next", (json_t *)(uintptr_t)next);
    }
    exchange_answer_json (self, 200, body);
}

// -- questions

// Convert the query to the filter of the command, kept until the exchange ends. NULL: invalid, and
// the request was answered.
static const char *read_list_filter (struct exchange *self)
{
    const struct request_target *target = &self->target;
    const char *after = request_target_field (target, "after");
    bool of_runs = self->routed.route == &routes[ROUTE_FLOW_RUNS];
    struct reason reason;
    int64_t limit, position = 0;
    int rc = query_number (target, "limit", 1, LIMIT_MAX, LIMIT_MAX, &limit, &reason);
    if (rc == 0 && after && of_runs && !(number_parse (after, &position) && position >= 0))
        rc = reason_set (&reason, "after: want the next of the previous page");
    if (rc) {
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
        return NULL;
    }
    json_t *filter =
        json_pack ("{s:s*, s:s*, s:s*, s:I, s:o*}", "name", request_target_field (target, "name"),
                   "flow", request_target_field (target, "flow"), "state",
                   request_target_field (target, "state"), "limit", (json_int_t)limit, "after",
                   !after    ? NULL
                   : of_runs ? json_integer (position)
                             : json_string (after));
    const char *text = exchange_own_block (self, json_write (filter));
    json_decref (filter);
    return text;
}

// Send the subcommand of a list, with the name in the path if there is one, and the filter.
void api_flow_list (struct exchange *self)
{
    const char *filter = read_list_filter (self), *name = self->routed.args[0];
    self->failed = on_list_failed;
    if (filter)
        exchange_ask (self, on_list, route_listing (self)->word, name ? name : filter,
                      name ? filter : NULL, NULL);
}

void api_flow (struct exchange *self)
{
    const char *version = request_target_field (&self->target, "version");
    exchange_ask (self, answer_with_names, "get", self->routed.args[0], version, NULL);
}

// Check or store a definition; its name must match the path.
void api_flow_put (struct exchange *self)
{
    const char *name = json_string_value (json_object_get (self->json, "flow"));
    bool check = self->routed.route == &routes[ROUTE_FLOW_CHECK];
    if (!name || strcmp (name, self->routed.args[0]) != 0) {
        exchange_problem (self, 422, "invalid_field", "flow: want the name of the path, '%s'",
                          self->routed.args[0]);
        return;
    }
    exchange_ask (self, answer_with_names, check ? "check" : "put",
                  exchange_own_block (self, json_write (self->json)), NULL);
}

void api_flow_delete (struct exchange *self)
{
    exchange_ask (self, api_on_done, "remove", self->routed.args[0], NULL);
}

void api_flow_run (struct exchange *self)
{
    exchange_ask (self, answer_with_names, "show", self->routed.args[0], NULL);
}

void api_flow_log (struct exchange *self)
{
    exchange_ask (self, on_list, "log", self->routed.args[0], NULL);
}

// -- actions on runs

// The body without `step`, as the text of the command's options; NULL: nothing is left.
static const char *write_options (struct exchange *self)
{
    json_t *options = self->json ? json_copy (self->json) : json_object ();
    json_object_del (options, "step");
    const char *text =
        json_object_size (options) ? exchange_own_block (self, json_write (options)) : NULL;
    json_decref (options);
    return text;
}

void api_flow_run_command (struct exchange *self)
{
    static const char *const words[ROUTES] = {
        [ROUTE_FLOW_SIGNAL] = "signal", [ROUTE_FLOW_SKIP] = "skip",
        [ROUTE_FLOW_RETRY] = "retry",   [ROUTE_FLOW_HOLD] = "suspend",
        [ROUTE_FLOW_RESUME] = "resume", [ROUTE_FLOW_CANCEL] = "cancel"};
    const struct route *route = self->routed.route;
    const json_t *step = json_object_get (self->json, "step");
    const json_t *reason = json_object_get (self->json, "reason");
    const char *options_text = json_string_value (reason);
    bool of_step = route == &routes[ROUTE_FLOW_SIGNAL] || route == &routes[ROUTE_FLOW_SKIP];
    if (of_step && !json_is_string (step)) {
        api_reject_field (self, "step", "the name of a step");
        return;
    }
    if (reason && !json_is_string (reason)) {
        api_reject_field (self, "reason", "a string");
        return;
    }
    if (route == &routes[ROUTE_FLOW_SIGNAL]) // NULL: the signal has no value
        options_text = exchange_own_block (self, json_dumps (json_object_get (self->json, "value"),
                                                             JSON_COMPACT | JSON_ENCODE_ANY));
    else if (route == &routes[ROUTE_FLOW_SKIP] || route == &routes[ROUTE_FLOW_RETRY])
        options_text = write_options (self);
    const char *argument = of_step ? json_string_value (step) : options_text;
    exchange_ask (self, answer_with_names, words[route - routes], self->routed.args[0], argument,
                  of_step ? options_text : NULL, NULL);
}
