#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"
#include "audit.h"
#include "clock.h"
#include "forwarded.h"
#include "key_memory.h"
#include "log.h"
#include "memory.h"
#include "stream.h"
#include "tls.h"
#include "users.h"

enum {
    CONNECTIONS_MAX = 4096,
    ADDRESS_CONNECTIONS_MAX = 256,
    CONNECTION_MEMORY = 24576, // bytes per connection: GUARD_HEAD_MAX, and data of the library
    ACCEPTS_MAX = 64,          // connections accepted per turn
    PAUSE_MS = 100,            // until accepting is retried at a limit
    HEADER_MS = 10000,
    IDLE_MS = 60000, // from a request to the end of the next header
};

// -- connections

static void on_deadline (void *owner)
{
    struct http_connection *peer = owner;
    log_event (LEVEL_DEBUG, "connection.cut", "peer=%s", peer->address);
    shutdown (peer->fd, SHUT_RDWR); // the library then closes it
}

void peer_set_deadline (struct http_connection *self, int64_t ms)
{
    timer_set (&self->deadline, self->server->reactor, ms);
}

bool peer_has_left (const struct http_connection *self)
{
    struct pollfd ends = {.fd = self->fd, .events = POLLRDHUP};
    return poll (&ends, 1, 0) == 1;
}

static void peer_address_text (const struct sockaddr *address, char out[48])
{
    const void *bytes =
        address->sa_family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
            : (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if (address->sa_family == AF_UNIX) {
        snprintf (out, 48, "unix");
        return;
    }
    if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        !inet_ntop (address->sa_family, bytes, out, 48))
        snprintf (out, 48, "-");
}

static void on_connection (void *cls, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode code)
{
    struct server *self = cls;
    struct http_connection *peer = *context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        table_remove (&self->connections, &peer->node);
        timer_end (&peer->deadline);
        if (peer->exchange) // left from a request that the library did not complete
            exchange_destroy (&peer->exchange);
        free (peer);
        *context = NULL;
        return;
    }
    *context = peer = memory_new (sizeof *peer);
    peer->server = self;
    peer->fd = MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    peer_address_text (
        MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr,
        peer->address);
    table_add (&self->connections, &peer->node, table_hash (span_text (peer->address)));
    peer->deadline = (struct timer){.call = on_deadline, .owner = peer};
    peer_set_deadline (peer, HEADER_MS);
}

// -- requests

static void *on_target (void *cls, const char *target, struct MHD_Connection *connection)
{
    struct exchange *exchange = exchange_new (cls, connection, target);
    struct http_connection *peer = exchange->peer;
    if (peer->exchange)
        exchange_destroy (&peer->exchange);
    peer->exchange = exchange;
    return exchange;
}

static enum MHD_Result on_request (void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *data,
                                   size_t *size, void **context)
{
    struct server *self = cls;
    (void)connection, (void)url;
    self->idle_turns = 0;
    return exchange_handle (*context, method, version, data, size) ? MHD_NO : MHD_YES;
}

static void on_completed (void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *context;
    struct server *self = cls;
    (void)connection, (void)code;
    self->idle_turns = 0;
    if (!exchange)
        return;
    peer_set_deadline (exchange->peer, IDLE_MS);
    exchange->peer->exchange = NULL;
    exchange_destroy (&exchange);
    *context = NULL;
}

void server_count_request (struct server *self, const struct exchange *exchange)
{
    size_t row = exchange->routed.route ? (size_t)(exchange->routed.route - routes) : ROUTE_ELSE;
    struct route_count *count = &self->counts[row];
    size_t i = 0;
    while (i < ROUTE_CODES_MAX - 1 && count->codes[i].code &&
           count->codes[i].code != exchange->status)
        i++;
    count->codes[i].code = exchange->status;
    count->codes[i].count++;
    count->sum_us += clock_mono_us () - exchange->begun_us;
}

// -- the loop

// Run the library, and set the timer for its next turn. The library requests a turn at once when it
// has work left, but also repeatedly while a TLS handshake waits for its peer. It gets a few turns
// at once, then one after 1, 2, 4 ... 64 ms, until something happens.
static void run_daemon (void *owner)
{
    struct server *self = owner;
    enum { AT_ONCE = 4, DOUBLED_MAX = 6 };
    MHD_UNSIGNED_LONG_LONG ms;
    MHD_run (self->daemon);
    if (MHD_get_timeout (self->daemon, &ms) != MHD_YES)
        return;
    if (ms == 0 && self->idle_turns >= AT_ONCE)
        ms = 1U << (self->idle_turns - AT_ONCE);
    if (self->idle_turns < AT_ONCE + DOUBLED_MAX)
        self->idle_turns++;
    timer_set (&self->timer, self->reactor, (int64_t)ms);
}

// Run the library, as a connection has input or an answer is ready.
static void on_wakeup (void *owner)
{
    struct server *self = owner;
    self->idle_turns = 0;
    run_daemon (self);
}

static void on_epoll (void *owner, uint32_t events)
{
    (void)events;
    on_wakeup (owner);
}

static const struct http_connection *connection_of (const struct table_node *node)
{
    return (const void *)((const uint8_t *)node - offsetof (struct http_connection, node));
}

// Whether an address has reached its limit of connections. Always false for proxies, as they
// connect for all their users.
static bool is_at_connection_limit (const struct server *self, const char *address)
{
    size_t count = 0;
    if (self->listener.path[0] || forwarded_is_proxy (self->settings->behind_proxy, address))
        return false;
    const struct table_node *node =
        table_find (&self->connections, table_hash (span_text (address)));
    for (; node; node = table_next (node))
        count += strcmp (connection_of (node)->address, address) == 0;
    return count >= ADDRESS_CONNECTIONS_MAX;
}

static void on_accept (void *owner, uint32_t events)
{
    struct server *self = owner;
    struct sockaddr_storage address;
    socklen_t size;
    char name[48];
    bool exhausted = false; // no descriptor is left
    (void)events;
    for (int i = 0; i < ACCEPTS_MAX && self->connections.count < CONNECTIONS_MAX; i++) {
        int fd = web_listener_accept (&self->listener, &address, &size);
        if (fd < 0) {
            exhausted = errno != EAGAIN && errno != EINTR && errno != ECONNABORTED;
            break;
        }
        peer_address_text ((const struct sockaddr *)(const void *)&address, name);
        if (is_at_connection_limit (self, name))
            close (fd);
        else // this closes `fd` if it fails
            MHD_add_connection (self->daemon, fd, (const struct sockaddr *)(const void *)&address,
                                size);
    }
    if (exhausted || self->connections.count >= CONNECTIONS_MAX) {
        source_end (&self->accepts);
        timer_set (&self->pause, self->reactor, PAUSE_MS);
    }
    run_daemon (self);
}

static void on_pause (void *owner)
{
    struct server *self = owner;
    source_set (&self->accepts, self->reactor, self->listener.fd, EPOLLIN);
}

void server_wake (struct server *self)
{
    task_set (&self->task, self->reactor);
}

static void log_mhd_message (void *cls, const char *format, va_list list)
{
    char text[REASON_MAX];
    (void)cls;
    vsnprintf (text, sizeof text, format, list);
    text[strcspn (text, "\n")] = '\0';
    log_event (LEVEL_DEBUG, "http", "detail=%s", quoted (span_text (text)));
}

static bool open_users (struct server *self, struct reason *reason)
{
    const struct web_settings *settings = self->settings;
    char path[SETTING_TEXT_MAX + 16];
    snprintf (path, sizeof path, "%s/.audit.ndjson", settings->users);
    self->users = users_new (self->reactor, settings, self->gateway, reason);
    if (self->users)
        self->audit = audit_open (settings->audit[0] ? settings->audit : path, reason);
    return self->users && self->audit;
}

static bool open_tls (struct server *self, struct reason *reason)
{
    const struct web_settings *settings = self->settings;
    if (settings->tls_cert[0])
        self->tls = tls_new (self->reactor, settings->tls_cert, settings->tls_key, reason);
    return self->tls || !settings->tls_cert[0];
}

// The library must not be strict: it would reject a missing Host with an HTML page and cut a target
// at blanks. The guard rejects both with a problem (RFC 9457).
static struct MHD_Daemon *start_library (struct server *self)
{
    const unsigned flags =
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET;
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)tls_priorities},
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback ()},
        {MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon (
        flags | (self->tls ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, self,
        MHD_OPTION_EXTERNAL_LOGGER, log_mhd_message, NULL, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION, on_connection, self,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, self, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        self, MHD_OPTION_ARRAY, self->tls ? tls : tls + 2, MHD_OPTION_END);
}

struct server *server_new (struct reactor *reactor, const struct web_settings *settings,
                           struct gateway *gateway, bool *ret_unusable, struct reason *reason)
{
    struct server *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->settings = settings;
    self->call = api_dispatch;
    self->gateway = gateway;
    self->source = (struct source){.call = on_epoll, .owner = self};
    self->timer = (struct timer){.call = run_daemon, .owner = self};
    self->task = (struct task){.call = on_wakeup, .owner = self};
    self->accepts = (struct source){.call = on_accept, .owner = self};
    self->pause = (struct timer){.call = on_pause, .owner = self};
    self->listener.fd = -1;
    *ret_unusable = (settings->users[0] && !open_users (self, reason)) || !open_tls (self, reason);
    if (*ret_unusable || !(self->stream = stream_new (self, reason)) ||
        web_listener_open (&self->listener, settings->listen, reason)) {
        server_destroy (&self);
        return NULL;
    }
    api_series_start (self);
    self->daemon = start_library (self);
    if (!self->daemon) {
        reason_set (reason, "libmicrohttpd cannot be started");
        server_destroy (&self);
        return NULL;
    }
    source_set (&self->source, reactor,
                MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLLIN);
    on_pause (self);
    return self;
}

// Suspended requests must be resumed before the library ends: destroying the gateway answers them.
void server_destroy (struct server **self_p)
{
    struct server *self = *self_p;
    if (!self)
        return;
    source_end (&self->source);
    source_end (&self->accepts);
    timer_end (&self->timer);
    timer_end (&self->pause);
    web_listener_close (&self->listener);
    self->ending = true;
    api_bulk_end (self);
    if (self->stream)
        stream_stop (self->stream);
    gateway_destroy (&self->gateway);
    users_end (self->users);
    api_end (self);
    task_end (&self->task);
    if (self->daemon) {
        MHD_run (self->daemon);
        MHD_stop_daemon (self->daemon);
    }
    table_free (&self->connections);
    api_series_end (self);
    tls_destroy (&self->tls);
    stream_destroy (&self->stream);
    users_destroy (&self->users);
    key_memory_destroy (&self->keys);
    audit_close (&self->audit);
    free (self);
    *self_p = NULL;
}
