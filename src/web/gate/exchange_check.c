#include "exchange.h"

#include <microhttpd.h>

#include "assets.h"
#include "forwarded.h"
#include "guard.h"
#include "server.h"
#include "users.h"

static enum MHD_Result on_header (void *cls, enum MHD_ValueKind kind, const char *name,
                                  size_t name_size, const char *value, size_t value_size)
{
    struct guard_head *head = cls;
    (void)kind;
    if (head->count < GUARD_HEADERS_MAX)
        head->headers[head->count] = (struct guard_header){
            span_of (name, name_size), span_of (value ? value : "", value_size)};
    head->count++;
    return MHD_YES;
}

static bool reject_and_close (struct exchange *self, int status, const char *code,
                              const char *detail)
{
    exchange_add_header (self, "Connection", "close");
    exchange_problem (self, (unsigned)status, code, "%s", detail);
    return true;
}

// Whether the route is for probes of load balancers, which may use any Host.
static bool is_probe_route (const struct routed *routed)
{
    return routed->route == &routes[ROUTE_LIVE] || routed->route == &routes[ROUTE_READY];
}

// The path below the prefix `root`; NULL: the path does not start with it.
static const char *path_below_root (const struct exchange *self)
{
    const char *root = self->server->settings->root;
    size_t size = strlen (root);
    if (size == 1)
        return self->raw;
    if (strncmp (self->raw, root, size) != 0)
        return NULL;
    return self->raw[size] == '/' ? self->raw + size : NULL;
}

static bool check_target (struct exchange *self, const struct guard_head *head)
{
    struct reason reason;
    const char *names = self->server->settings->host, *path = path_below_root (self);
    if (!path)
        return reject_and_close (self, 404, "not_found", "there is no such resource");
    if (request_target_read (span_text (path), &self->target, &reason))
        return reject_and_close (self, 400, "invalid_target", reason.text);
    int status = routes_find (head->method, &self->target, &self->routed);
    if (!is_probe_route (&self->routed) &&
        (!guard_host_is_ours (guard_value (head, "Host"), names) ||
         (self->target.authority.size && !guard_host_is_ours (self->target.authority, names))))
        return reject_and_close (self, 421, "wrong_host",
                                 "this host is not served here: see the setting host");
    if (status == 404 && assets_find (&self->target))
        status = assets_allow (head->method, &self->routed) ? 0 : 405;
    if (status == 404)
        return reject_and_close (self, 404, "not_found", "there is no such resource");
    if (strcmp (head->method, "OPTIONS") == 0) {
        exchange_add_header (self, "Allow", self->routed.allow);
        exchange_answer_empty (self, 204);
        return true;
    }
    if (status == 405) {
        exchange_add_header (self, "Allow", self->routed.allow);
        return reject_and_close (self, 405, "wrong_method", "the resource has no such method");
    }
    return false;
}

// Reject requests from pages of other origins, requests without a valid user, and changes if
// readonly is set. True: the request was answered.
static bool check_permission (struct exchange *self, const struct guard_head *head)
{
    const struct route *route = self->routed.route;
    bool unsafe = route && route_is_unsafe (route);
    bool below_v1 = self->target.segment_count && strcmp (self->target.segments[0], "v1") == 0;
    if ((unsafe || below_v1) && guard_is_foreign (head, unsafe, self->scheme))
        return reject_and_close (self, 403, "foreign_origin",
                                 "a page of another origin may not ask this");
    if (users_authenticate (self))
        return true;
    if (unsafe && self->server->settings->readonly && route != &routes[ROUTE_SESSION_NEW] &&
        route != &routes[ROUTE_SESSION_END] && route != &routes[ROUTE_PREVIEW])
        return reject_and_close (self, 403, "readonly", "this zplan-web is readonly");
    return false;
}

static bool check_body (struct exchange *self, const struct guard_head *head)
{
    static const int64_t most[] = {[BODY_JSON] = GUARD_BODY_MAX,
                                   [BODY_MERGE] = GUARD_BODY_MAX,
                                   [BODY_LINES] = GUARD_IMPORT_MAX};
    const struct route *route = self->routed.route;
    int64_t size = guard_length (head);
    struct span type = guard_value (head, "Content-Type");
    if (!size)
        return false;
    if (!route || size > most[route->body] ||
        (route == &routes[ROUTE_SESSION_NEW] && size > GUARD_SESSION_MAX))
        return reject_and_close (self, 413, "too_large",
                                 "the body is larger than this resource takes");
    bool fits = route->body == BODY_LINES
                    ? guard_media_is (type, "application/x-ndjson")
                    : guard_media_is (type, "application/json") ||
                          (route->body == BODY_MERGE &&
                           guard_media_is (type, "application/merge-patch+json"));
    if (!fits)
        return reject_and_close (self, 415, "wrong_media_type",
                                 route->body == BODY_LINES ? "want application/x-ndjson"
                                                           : "want application/json");
    if (route->body == BODY_LINES && self->server->importer) {
        exchange_add_header (self, "Retry-After", "5");
        return reject_and_close (self, 429, "too_many", "another import is in progress");
    }
    if (route->body == BODY_LINES)
        self->server->importer = self;
    self->body_max = (size_t)size;
    return false;
}

// Set the scheme, and the address of the client if a proxy reports it.
static void read_forwarded_address (struct exchange *self, const struct guard_head *head)
{
    const struct server *server = self->server;
    const char *proxies = server->settings->behind_proxy, *peer = self->peer->address;
    self->scheme = server->tls ? "https" : NULL;
    if (!server->listener.path[0] && !forwarded_is_proxy (proxies, peer))
        return;
    const char *scheme = forwarded_scheme (head);
    self->scheme = scheme ? scheme : self->scheme;
    forwarded_address (head, proxies, peer, self->address);
}

bool exchange_check_header (struct exchange *self, const char *method, const char *version)
{
    struct guard_head head = {.method = method, .version = version};
    struct reason reason;
    MHD_get_connection_values_n (self->connection, MHD_HEADER_KIND, on_header, &head);
    int status = guard_check (&head, &reason);
    if (status)
        return reject_and_close (self, status, "rejected", reason.text);
    read_forwarded_address (self, &head);
    if (check_target (self, &head) || check_permission (self, &head) || check_body (self, &head))
        return true;
    if (self->routed.route && route_check_query (self->routed.route, &self->target, &reason)) {
        exchange_problem (self, 400, "unknown_field", "%s", reason.text);
        return true;
    }
    return false;
}
