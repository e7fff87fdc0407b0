// The resources of the HTTP interface, each of which answers one route.
#pragma once

#include "exchange.h"

// Answer the request, or ask the station. Its route is set, and its body is read.
void api_call (struct exchange *self);

// Reads the station's numbers for `/series`.
struct recorder;
struct recorder *recorder_new (struct server *server);
void recorder_stop (struct recorder *self); // it asks nothing any more
void recorder_destroy (struct recorder **self);

// The server ends: requests that wait for answers here are answered.
void api_end (struct server *server);
void api_import_end (struct server *server); // the part of it in api_import.c

typedef void api_fn (struct exchange *self);

// api_plans.c
api_fn api_plans, api_plan, api_next, api_why, api_team, api_result;

// api_submit.c
api_fn api_plan_new, api_plan_put, api_preview;

// api_change.c
api_fn api_command, api_plan_delete, api_plan_patch;

// api_runs.c
api_fn api_runs, api_run, api_forget;

// api_station.c
api_fn api_live, api_ready, api_openapi, api_targets, api_target, api_target_put, api_target_delete,
    api_load, api_stats, api_health;

// api_shelf.c
api_fn api_kinds, api_kind, api_kind_put, api_limits, api_limit_put, api_shelf_delete;

// api_session.c
api_fn api_session, api_session_new, api_session_end;

// api_flows.c
api_fn api_flows, api_flow, api_flow_put, api_flow_delete, api_flow_runs, api_flow_run,
    api_flow_steps, api_flow_log, api_flow_run_command;

// api_callbacks.c
api_fn api_callbacks, api_redeliver, api_callback_test;

// api_export.c, api_import.c
api_fn api_export, api_import;

// api_bulk.c
api_fn api_bulk, api_bulk_new, api_bulk_start, api_bulk_delete;

// api_metrics.c, api_series.c
api_fn api_metrics, api_series;

// ---- what they share, api.c

// Ask the command of the route about the plan of the path, with one more argument or none.
void api_ask_plan (struct exchange *self, const char *more, exchange_fn *fn);

// Numbers are read with this program's own key, which sees all targets. `then` answers users who
// may observe all of them; others get 403.
void api_ask_observer (struct exchange *self, api_fn *then);

// A list that has pages, filtered by the query and by what `filter`, which is taken, has already.
// `order` marks its cursors; `list` is its name in the station's answer.
struct api_page {
    char order;
    const char *list;
    int kind; // enum json_kind of an item
};

void api_ask_page (struct exchange *self, const struct api_page *page, json_t *filter);
