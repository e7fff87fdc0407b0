#include "sockets.h"

#include "context.h"
#include "log.h"
#include "publish.h"

enum {
    LINGER_MS = 1000,
    REQUESTS_QUEUED = 16 // per peer, in libzmq; more stay at the peer
};

typedef int bind_fn (void *socket, const char *endpoint, struct reason *reason);

// `domain` is the ZAP domain of the socket. Returns NULL when descriptors have run out.
static void *open_socket (const struct station *self, int type, const char *domain)
{
    void *socket = wire_socket (type);
    if (!socket)
        return NULL;
    wire_set (socket, ZMQ_LINGER, LINGER_MS);
    wire_set (socket, ZMQ_SNDHWM, (int)self->settings->limits.replies_peer);
    if (self->access)
        curve_make_server (socket, &self->curve_keys, domain);
    if (type == ZMQ_XPUB)
        subscribers_prepare (socket);
    if (type == ZMQ_ROUTER) {
        // A frame up to the size limit of a message is received, so that the reply can say why it
        // is rejected.
        wire_limit (socket, self->limits.bytes);
        wire_set (socket, ZMQ_RCVHWM, REQUESTS_QUEUED);
        // When Redis is lost, all waiting requests of a peer are answered at once.
        if (self->settings->limits.replies_peer < self->settings->limits.requests_peer)
            wire_set (socket, ZMQ_SNDHWM, (int)self->settings->limits.requests_peer);
        wire_set (socket, ZMQ_ROUTER_MANDATORY, 1);
    }
    return socket;
}

// `bind` is wire_rebind when the process already holds the locks of the endpoint's path.
static void *open_bound_socket (const struct station *self, int type, const char *domain,
                                const char *endpoint, bind_fn *bind, struct reason *reason)
{
    void *socket = open_socket (self, type, domain);
    if (!socket) {
        reason_set (reason, "%s: no descriptors left", endpoint);
        return NULL;
    }
    if (bind (socket, endpoint, reason) == 0)
        return socket;
    zmq_close (socket);
    return NULL;
}

int sockets_bind (struct station *self, struct reason *reason)
{
    const struct station_settings *settings = self->settings;
    bind_fn *bind = self->yields ? wire_rebind : wire_bind;
    // A former owner is a standby: its request socket stays closed until it serves again.
    if (!self->yields)
        self->request_socket =
            open_bound_socket (self, ZMQ_ROUTER, "request", settings->request, bind, reason);
    if (self->request_socket || self->yields)
        self->results.socket =
            open_bound_socket (self, ZMQ_XPUB, "publish", settings->publish, bind, reason);
    if (self->results.socket)
        self->events.socket =
            open_bound_socket (self, ZMQ_XPUB, "events", settings->events, bind, reason);
    return self->events.socket ? 0 : -1;
}

bool sockets_bind_request (struct station *self)
{
    struct reason reason;
    if (!self->request_socket)
        self->request_socket = open_bound_socket (self, ZMQ_ROUTER, "request",
                                                  self->settings->request, wire_rebind, &reason);
    return self->request_socket;
}

// Bind a closed socket again. Until the old one has released the endpoint, nothing is published.
static void rebind_publisher (struct station *self, struct publisher *publisher, const char *domain,
                              const char *endpoint)
{
    struct reason reason;
    if (publisher->socket)
        return;
    publisher->socket = open_bound_socket (self, ZMQ_XPUB, domain, endpoint, wire_rebind, &reason);
    if (publisher->socket)
        publish_watch (self, publisher, endpoint);
}

// A subscriber whose right was revoked is still connected, and libzmq cannot close a single
// connection, so all are closed. Subscribers that still have the right reconnect; what they missed
// is in the history.
void sockets_rebind_publishers (struct station *self)
{
    if (self->subscribers_cut) {
        log_event (LEVEL_INFO, "subscribers.all_cut", "reason=\"a key may no longer subscribe\"");
        publish_close (&self->results);
        publish_close (&self->events);
        self->subscribers_cut = false;
    }
    rebind_publisher (self, &self->results, "publish", self->settings->publish);
    rebind_publisher (self, &self->events, "events", self->settings->events);
}

int sockets_check (const struct station_settings *settings, struct reason *reason)
{
    const char *const endpoints[][2] = {{"request", settings->request},
                                        {"publish", settings->publish},
                                        {"events", settings->events}};
    struct reason why;
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
        if (endpoint_check (endpoints[i][1], &why))
            return reason_set (reason, "%s: %s", endpoints[i][0], why.text);
    return 0;
}
