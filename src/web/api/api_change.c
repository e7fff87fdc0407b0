// Requests that change plans.
#include "api.h"
#include "json.h"
#include "json_names.h"
#include "status_names.h"
#include "memory.h"
#include "plan_document.h"
#include "submission.h"

// Read the plan again, to find out why the station rejected the command: the plan's state shows it,
// not the text of the reason, which is kept for the answer.
static void reread_plan (struct exchange *self, const struct station_answer *answer,
                         exchange_fn *fn)
{
    self->own = exchange_own_block (self, memory_text (answer->reason));
    const struct question question = {
        .command = "message", .args = {self->routed.args[0]}, .repeat = true};
    exchange_question (self, &question, fn);
}

static bool plan_state_is (const json_t *plan, const char *state)
{
    const char *current = json_state_name (json_object_get (plan, "plan_state"));
    return current && strcmp (current, state) == 0;
}

// -- why a change was rejected

// Answer a rejected command: the plan already is as requested, or in the wrong state, or the
// argument is wrong.
static void on_reread_after_command (struct exchange *self, const struct station_answer *answer)
{
    const struct route *route = self->routed.route;
    const char *words = self->own;
    const json_t *plan = answer->json;
    bool paused = plan_state_is (plan, "paused"), open = plan && !paused &&
                                                         !plan_state_is (plan, "error") &&
                                                         !plan_state_is (plan, "closed");
    if ((route == &routes[ROUTE_PAUSE] && paused) || (route == &routes[ROUTE_RESUME] && open))
        exchange_answer_json (self, 200, json_names (JSON_PLAN, plan));
    else if (plan_state_is (plan, "running") || !json_object_size (self->json))
        exchange_problem (self, 409, "wrong_state", "%s", words);
    else
        exchange_problem (self, 422, "manage_arg_error", "%s", words);
}

static void on_reread_after_update (struct exchange *self, const struct station_answer *answer)
{
    const char *words = self->own;
    int64_t wanted = 0;
    char etag[PLAN_ETAG_SIZE];
    plan_etag_read (exchange_request_header (self, "If-Match"), &wanted);
    exchange_add_header (self, "ETag", plan_etag (answer->json, false, etag));
    if (json_integer_value (json_object_get (answer->json, "revision")) != wanted)
        exchange_problem (self, 412, "changed", "the plan has changed: read it and decide again");
    else if (plan_state_is (answer->json, "running"))
        exchange_problem (self, 409, "running", "%s", words);
    else
        exchange_problem (self, 422, "manage_arg_error", "%s", words);
}

// Answer a failed change, or find out first why its argument was rejected.
static void on_change_failed (struct exchange *self, const struct station_answer *answer)
{
    bool updates = self->routed.route == &routes[ROUTE_PLAN_PATCH];
    if (answer->error == ZPLAN_OK && answer->status == ZERO_STATUS_MANAGE_ARG_ERROR_ID)
        reread_plan (self, answer, updates ? on_reread_after_update : on_reread_after_command);
    else
        exchange_fail (self, answer);
}

// -- commands

// The field of the body that is the command's argument; NULL: it has none.
static const char *argument_field (const struct route *route)
{
    return route == &routes[ROUTE_SKIP]     ? "count"
           : route == &routes[ROUTE_CANCEL] ? "reason"
           : route == &routes[ROUTE_DONE]   ? "remark"
                                            : NULL;
}

// Reject a request with If-Match, as only an update checks the revision. True: it has the header,
// and was answered. False: go on.
static bool reject_if_match (struct exchange *self)
{
    if (!exchange_request_header (self, "If-Match"))
        return false;
    exchange_problem (self, 400, "no_revision",
                      "If-Match: only PATCH takes it; the check would not be atomic");
    return true;
}

void api_command (struct exchange *self)
{
    const struct route *route = self->routed.route;
    const char *field = argument_field (route), *text;
    const json_t *value = field ? json_object_get (self->json, field) : NULL;
    bool skips = route == &routes[ROUTE_SKIP];
    if (reject_if_match (self))
        return;
    self->failed = on_change_failed;
    if (skips && !json_is_integer (value)) {
        exchange_problem (self, 422, "invalid_field", "count: want 1..2147483647");
    } else if (!skips && value && !json_is_string (value)) {
        exchange_problem (self, 422, "invalid_field", "%s: want a string", field);
    } else {
        text = skips ? exchange_own_block (self, json_write (value)) : json_string_value (value);
        exchange_ask (self, route == &routes[ROUTE_CANCEL] ? api_on_answer : api_on_plan,
                      self->routed.args[0], text, NULL);
    }
}

void api_plan_delete (struct exchange *self)
{
    if (!reject_if_match (self))
        exchange_ask (self, api_on_done, self->routed.args[0], NULL);
}

// -- update

static void on_updated (struct exchange *self, const struct station_answer *answer)
{
    char etag[PLAN_ETAG_SIZE];
    exchange_add_header (self, "ETag", plan_etag (answer->json, false, etag));
    exchange_answer_json (self, 200, json_names (JSON_PLAN, answer->json));
}

void api_plan_patch (struct exchange *self)
{
    struct reason reason;
    int64_t revision;
    const char *match = exchange_request_header (self, "If-Match");
    if (!match || plan_etag_read (match, &revision)) {
        exchange_problem (self, 428, "no_revision",
                          "If-Match: want the ETag of the plan as it was read");
        return;
    }
    json_t *changes = self->json ? submission_changes (self->json, &reason) : NULL;
    if (!changes) {
        exchange_problem (self, 422, "invalid_field", "%s",
                          self->json ? reason.text : "want changes as a JSON object");
        return;
    }
    json_object_set_new (changes, "revision", json_integer (revision));
    char *text = exchange_own_block (self, json_write (changes));
    json_decref (changes);
    self->failed = on_change_failed;
    exchange_ask (self, on_updated, self->routed.args[0], text, NULL);
}
