// Requests that read plans.
#include "api.h"
#include "guard.h"
#include "json_names.h"
#include "plan_document.h"
#include "query.h"

void api_plans (struct exchange *self)
{
    static const struct api_page page = {'i', "plans", JSON_PLAN};
    api_ask_page (self, &page, json_object ());
}

// -- one plan

static void on_plan (struct exchange *self, const struct station_answer *answer)
{
    char etag[PLAN_ETAG_SIZE];
    bool frames = false, live = false;
    struct reason reason;
    query_flag (&self->target, "frames", &frames, &reason); // was checked
    query_flag (&self->target, "live", &live, &reason);
    plan_etag (answer->json, frames, etag);
    const char *known = exchange_request_header (self, "If-None-Match");
    if (!live)
        exchange_add_header (self, "ETag", etag);
    if (!live && known && guard_has_etag (known, etag)) {
        exchange_answer_empty (self, 304);
        return;
    }
    json_t *plan = json_names (JSON_PLAN, answer->json);
    if (!frames)
        json_object_del (plan, "frames");
    if (!live)
        json_object_del (plan, "progress");
    exchange_answer_json (self, 200, plan);
}

void api_plan (struct exchange *self)
{
    bool frames, live;
    struct reason reason;
    if (query_flag (&self->target, "frames", &frames, &reason) ||
        query_flag (&self->target, "live", &live, &reason)) {
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
        return;
    }
    const struct question question = {
        .command = "message", .args = {self->routed.args[0]}, .repeat = true, .large = frames};
    exchange_question (self, &question, on_plan);
}

// -- when and why

static void on_next (struct exchange *self, const struct station_answer *answer)
{
    exchange_answer_json (self, 200, plan_next_document (answer->json));
}

void api_next (struct exchange *self)
{
    const char *count = api_read_count (self);
    if (count)
        exchange_ask (self, on_next, self->routed.args[0], count, NULL);
}

// Answer why a plan does not run, or which workers it has.
void api_about (struct exchange *self)
{
    exchange_ask (self, api_on_answer, self->routed.args[0], NULL);
}

void api_result (struct exchange *self)
{
    const struct question question = {
        .command = "result", .args = {self->routed.args[0]}, .repeat = true, .large = true};
    exchange_question (self, &question, api_on_answer);
}
