#include "api.h"

#include <stdio.h>
#include <stdlib.h>

#include "cursor.h"
#include "follower.h"
#include "json.h"
#include "json_names.h"
#include "memory.h"
#include "query.h"
#include "server.h"

static api_fn *const table[ROUTES] = {
    [ROUTE_LIVE] = api_live,
    [ROUTE_READY] = api_ready,
    [ROUTE_METRICS] = api_metrics,
    [ROUTE_OPENAPI] = api_openapi,
    [ROUTE_SESSION_NEW] = api_session_new,
    [ROUTE_SESSION] = api_session,
    [ROUTE_SESSION_END] = api_session_end,
    [ROUTE_PLANS] = api_plans,
    [ROUTE_PLAN_NEW] = api_plan_new,
    [ROUTE_PREVIEW] = api_preview,
    [ROUTE_PLAN] = api_plan,
    [ROUTE_PLAN_PUT] = api_plan_put,
    [ROUTE_PLAN_PATCH] = api_plan_patch,
    [ROUTE_PLAN_DELETE] = api_plan_delete,
    [ROUTE_PAUSE] = api_command,
    [ROUTE_RESUME] = api_command,
    [ROUTE_CLOSE] = api_command,
    [ROUTE_RUN_NOW] = api_command,
    [ROUTE_SKIP] = api_command,
    [ROUTE_CANCEL] = api_command,
    [ROUTE_DONE] = api_command,
    [ROUTE_NEXT] = api_next,
    [ROUTE_WHY] = api_why,
    [ROUTE_TEAM] = api_team,
    [ROUTE_RESULT] = api_result,
    [ROUTE_PLAN_RUNS] = api_runs,
    [ROUTE_RUNS] = api_runs,
    [ROUTE_RUN] = api_run,
    [ROUTE_FORGET] = api_forget,
    [ROUTE_STREAM] = api_stream,
    [ROUTE_BULK_NEW] = api_bulk_new,
    [ROUTE_BULKS] = api_bulk,
    [ROUTE_BULK] = api_bulk,
    [ROUTE_BULK_START] = api_bulk_start,
    [ROUTE_BULK_DELETE] = api_bulk_delete,
    [ROUTE_EXPORT] = api_export,
    [ROUTE_IMPORT] = api_import,
    [ROUTE_TARGETS] = api_targets,
    [ROUTE_TARGET] = api_target,
    [ROUTE_TARGET_PUT] = api_target_put,
    [ROUTE_TARGET_DELETE] = api_target_delete,
    [ROUTE_KINDS] = api_kinds,
    [ROUTE_KIND] = api_kind,
    [ROUTE_KIND_PUT] = api_kind_put,
    [ROUTE_KIND_DELETE] = api_shelf_delete,
    [ROUTE_LIMITS] = api_limits,
    [ROUTE_LIMIT_PUT] = api_limit_put,
    [ROUTE_LIMIT_DELETE] = api_shelf_delete,
    [ROUTE_CALLBACKS] = api_callbacks,
    [ROUTE_CALLBACK] = api_plan,
    [ROUTE_REDELIVER] = api_redeliver,
    [ROUTE_CALLBACK_TEST] = api_callback_test,
    [ROUTE_FLOWS] = api_flows,
    [ROUTE_FLOW] = api_flow,
    [ROUTE_FLOW_PUT] = api_flow_put,
    [ROUTE_FLOW_DELETE] = api_flow_delete,
    [ROUTE_FLOW_CHECK] = api_flow_put,
    [ROUTE_FLOW_RUNS] = api_flow_runs,
    [ROUTE_FLOW_RUN] = api_flow_run,
    [ROUTE_FLOW_STEPS] = api_flow_steps,
    [ROUTE_FLOW_LOG] = api_flow_log,
    [ROUTE_FLOW_SIGNAL] = api_flow_run_command,
    [ROUTE_FLOW_SKIP] = api_flow_run_command,
    [ROUTE_FLOW_RETRY] = api_flow_run_command,
    [ROUTE_FLOW_HOLD] = api_flow_run_command,
    [ROUTE_FLOW_RESUME] = api_flow_run_command,
    [ROUTE_FLOW_CANCEL] = api_flow_run_command,
    [ROUTE_LOAD] = api_load,
    [ROUTE_STATS] = api_stats,
    [ROUTE_SERIES] = api_series,
    [ROUTE_HEALTH] = api_health,
};

void api_call (struct exchange *self)
{
    table[self->routed.route - routes](self);
}

static void on_whoami (struct exchange *self, const struct station_answer *got)
{
    const json_t *role;
    size_t i;
    bool observes = false;
    if (exchange_failed (self, got))
        return;
    json_array_foreach (json_object_get (got->json, "roles"), i, role) observes =
        observes || strcmp (json_string_value (role), "observe") == 0;
    api_fn **then = self->own;
    if (observes && !json_is_string (json_object_get (got->json, "stations")))
        (*then) (self);
    else
        exchange_problem (self, 403, "deny", "wants the role observe, for all targets");
}

void api_ask_observer (struct exchange *self, api_fn *then)
{
    const struct question question = {.word = "whoami", .repeat = true};
    if (!self->user) {
        then (self);
        return;
    }
    api_fn **kept = exchange_keep (self, memory_new (sizeof *kept));
    *kept = then;
    self->own = kept;
    exchange_question (self, &question, on_whoami);
}

void api_ask_plan (struct exchange *self, const char *more, exchange_fn *fn)
{
    const char *const args[] = {self->routed.args[0], more};
    exchange_ask (self, args, more ? 2 : 1, fn);
}

// -- pages

enum { LARGE = 100, LINK_MAX = 1024 };

// What a page is made of when the station has answered.
struct paging {
    struct api_page page;
    json_t *filter;
};

static void clear_paging (struct exchange *self)
{
    struct paging *paging = self->own;
    json_decref (paging->filter);
    free (paging);
}

static size_t put_encoded (char *out, size_t at, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (; *text && at + 4 < LINK_MAX; text++)
        at += (size_t)snprintf (out + at, LINK_MAX - at, strchr (plain, *text) ? "%c" : "%%%02X",
                                (unsigned char)*text);
    return at;
}

// The next page as a header; a query that is too long for one has the cursor in the body.
static void set_link (struct exchange *self, const char *cursor)
{
    char link[LINK_MAX + 32] = "<?after=";
    size_t at = put_encoded (link, strlen (link), cursor);
    for (size_t i = 0; i < self->target.field_count; i++) {
        const struct query_field *field = &self->target.fields[i];
        if (strcmp (field->name, "after") == 0)
            continue;
        at = span_put (link, at, span_text ("&"));
        at = put_encoded (link, at, field->name);
        at = span_put (link, at, span_text ("="));
        at = put_encoded (link, at, field->value);
        if (at > LINK_MAX - 64)
            return;
    }
    snprintf (link + at, sizeof link - at, ">; rel=\"next\"");
    exchange_header (self, "Link", link);
}

static void on_page (struct exchange *self, const struct station_answer *answer)
{
    static const char *const same[] = {"epoch", "first", "last", "missed"};
    const struct paging *paging = self->own;
    char cursor[CURSOR_SIZE];
    size_t i;
    const json_t *item;
    if (exchange_failed (self, answer))
        return;
    json_t *items = json_array (), *body = json_pack ("{s:o}", "items", items);
    json_array_foreach (json_object_get (answer->json, paging->page.list), i, item)
        json_array_append_new (items, json_names ((enum json_kind)paging->page.kind, item));
    const char *next = json_string_value (json_object_get (answer->json, "next"));
    if (next && strlen (next) < CURSOR_POSITION_SIZE) {
        cursor_write (paging->page.order, next, paging->filter, cursor);
        json_object_set_new (body, "next", json_string (cursor));
        set_link (self, cursor);
    }
    for (i = 0; i < sizeof same / sizeof *same; i++)
        if (json_object_get (answer->json, same[i]))
            json_object_set (body, same[i], json_object_get (answer->json, same[i]));
    exchange_json (self, 200, body);
}

void api_ask_page (struct exchange *self, const struct api_page *page, json_t *filter)
{
    struct reason reason;
    char position[CURSOR_POSITION_SIZE];
    const char *after = request_target_field (&self->target, "after");
    json_t *fields = query_filter (&self->target, &reason);
    if (fields)
        json_object_update_missing (fields, filter);
    json_decref (filter);
    if (!fields || (after && cursor_read (after, page->order, fields, position, &reason))) {
        json_decref (fields);
        exchange_problem (self, 400, "invalid_field", "%s", reason.text);
        return;
    }
    struct paging *paging = memory_new (sizeof *paging);
    *paging = (struct paging){*page, fields};
    self->own = paging;
    self->clear = clear_paging;
    json_t *asked = json_copy (fields);
    if (after)
        json_object_set_new (asked, "after", json_string (position));
    int64_t limit = json_integer_value (json_object_get (fields, "limit"));
    const struct question question = {.word = self->routed.route->command,
                                      .args = {exchange_keep (self, json_write (asked))},
                                      .count = 1,
                                      .repeat = true,
                                      .large = limit > LARGE};
    json_decref (asked);
    exchange_question (self, &question, on_page);
}
