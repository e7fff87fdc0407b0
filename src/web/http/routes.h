// The resources of the HTTP interface. Pure.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "request_target.h"

enum { ROUTE_ARGS_MAX = 2 };

enum route_id {
#define ROUTE(name, ...) ROUTE_##name,
#include "routes.def"
    ROUTES
};

enum route_body { BODY_NONE, BODY_JSON, BODY_MERGE, BODY_LINES };

struct route {
    const char *name, *method, *path, *command, *role, *query;
    enum route_body body;
    const char *fields; // of a JSON body, separated by blanks; "...": checked later
    bool repeat;        // true: handling its command twice does no harm
    const char *statuses, *summary;
};

extern const struct route routes[ROUTES];

struct routed {
    const struct route *route;
    const char *args[ROUTE_ARGS_MAX]; // the values of the segments in braces
    char allow[64];                   // the methods of the path: "GET, HEAD"
};

// Find the route of a request. 0, 404 (no such path), or 405 (another method; `allow` is filled).
// HEAD is allowed wherever GET is.
int routes_find (const char *method, const struct request_target *target, struct routed *ret);

// Whether the method of the route may change something: it is not GET.
bool route_is_unsafe (const struct route *self);

// Check that the route knows all fields of the query. 0, or -1 with a reason that suggests the
// nearest name.
int route_check_query (const struct route *self, const struct request_target *target,
                       struct reason *reason);

// Whether `words`, separated by blanks, contains the word.
bool route_has_word (const char *words, const char *word);

// Whether the names of the body's fields are not in this table: the resource or the station checks
// them.
bool route_checks_later (const struct route *self);

// The first name in the object that is not one of `known`, which are separated by blanks, with a
// reason that begins with `where` and suggests the nearest. NULL: all are known.
const char *route_check_names (const char *where, const char *known, const json_t *object,
                               struct reason *reason);

// As route_check_names, for the fields of the route's body.
const char *route_check_body (const struct route *self, const json_t *body, struct reason *reason);
