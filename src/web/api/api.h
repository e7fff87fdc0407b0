// The resources of the HTTP interface; each function answers one route.
#pragma once

#include "exchange.h"

// Call the function of the request's route, which answers it or asks the station. Route and body
// must have been read. Unknown fields of the body are rejected: ignoring a misspelt field could
// have effects that cannot be undone.
void api_dispatch (struct exchange *self);

// Start and stop reading the station's numbers for `/series`, every 10 s.
void api_series_start (struct server *server);
void api_series_end (struct server *server);

// End the import in progress, and free the cached metrics. Called after gateway_destroy, which has
// answered the requests that waited for metrics.
void api_end (struct server *server);
void api_import_end (struct server *server); // answers the import in progress, if any
void api_bulk_end (struct server *server);   // ends all bulk jobs

typedef void api_fn (struct exchange *self);

// The functions of the routes, each in the file of its group.
#define ROUTE(name, resource, ...) api_fn api_##resource;
#include "routes.def"

// ---- shared by these functions, api.c

// Callbacks that answer with the plan, with the station's answer under the names of this interface,
// or with 204.
exchange_fn api_on_plan, api_on_answer, api_on_done;

// Answer 422: this field of the body is wrong. `want` is its rule.
void api_reject_field (struct exchange *self, const char *name, const char *want);

// The field `count` of the query as text, 1..1000, default 10; kept until the exchange ends. NULL:
// invalid, and the request was answered.
const char *api_read_count (struct exchange *self);

// Add the header Location: /v1/FOLDER/NAME.
void api_add_location (struct exchange *self, const char *folder, const char *name);

// Call `fn` if the user may observe all targets, else answer 403: statistics are read with this
// program's own key, which sees all.
void api_ask_observer (struct exchange *self, api_fn *fn);

// Answer with a page of a list, filtered by the query and by `filter`, which is taken. `order`
// marks its cursors; `list` is its name in the station's answer.
struct api_page {
    char order;
    const char *list;
    int kind; // enum json_kind of an item
};

void api_ask_page (struct exchange *self, const struct api_page *page, json_t *filter);
