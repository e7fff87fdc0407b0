// The resources of the HTTP interface, each of which answers one route.
#pragma once

#include "exchange.h"

// Answer the request, or ask the station. Its route is set, and its body is read. A field of the
// body that the route does not know is rejected: a misspelt one would be left out, and what a
// command does without it cannot always be undone.
void api_call (struct exchange *self);

// Reads the station's numbers for `/series`.
struct recorder;
struct recorder *recorder_new (struct server *server);
void recorder_destroy (struct recorder **self);

// The server ends: requests that wait for answers here are answered.
void api_end (struct server *server);
void api_import_end (struct server *server); // the part of it in api_import.c

typedef void api_fn (struct exchange *self);

// Those of the routes, each in the file of its group.
#define ROUTE(name, resource, ...) api_fn api_##resource;
#include "routes.def"

// ---- what they share, api.c

// Ask the command of the route about the plan of the path, with one more argument or none.
void api_ask_plan (struct exchange *self, const char *more, exchange_fn *fn);

// Answer with the plan, with what the station says under the names of this interface, or with 204.
exchange_fn api_on_plan, api_on_answer, api_on_done;

// Answer 422: this field of the body is wrong. `want` is its rule.
void api_wrong_field (struct exchange *self, const char *name, const char *want);

// The field `count` of the query, 1..1000 or 10, as text. NULL: it was answered.
const char *api_count (struct exchange *self);

// The header Location: /v1/FOLDER/NAME.
void api_location (struct exchange *self, const char *folder, const char *name);

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
