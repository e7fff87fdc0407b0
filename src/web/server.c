#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api.h"
#include "audit.h"
#include "bulk.h"
#include "clock.h"
#include "log.h"
#include "memory.h"
#include "stream.h"
#include "tls.h"
#include "users.h"

enum {
    CONNECTIONS_MAX = 4096,
    CONNECTIONS_OF_ONE = 256,
    MEMORY_OF_ONE = 10240, // 8 kB of header, and what the library keeps there
    BACKLOG = 512,
    HEADER_MS = 10000,
    IDLE_MS = 60000, // between two requests, with the header of the second
};

// -- connections

static void on_deadline (void *owner)
{
    struct peer *peer = owner;
    log_event (LEVEL_DEBUG, "connection_cut", "peer=%s", peer->address);
    shutdown (peer->fd, SHUT_RDWR); // the library sees its end
}

void peer_deadline (struct peer *self, int64_t ms)
{
    timer_set (&self->deadline, self->server->reactor, ms);
}

static void name_of (const struct sockaddr *address, char out[48])
{
    const void *bytes =
        address->sa_family == AF_INET
            ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
            : (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        !inet_ntop (address->sa_family, bytes, out, 48))
        snprintf (out, 48, "-");
}

static void on_connection (void *cls, struct MHD_Connection *connection, void **context,
                           enum MHD_ConnectionNotificationCode code)
{
    struct server *self = cls;
    struct peer *peer = *context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        self->peers--;
        timer_end (&peer->deadline);
        free (peer);
        *context = NULL;
        return;
    }
    *context = peer = memory_new (sizeof *peer);
    self->peers++;
    peer->server = self;
    peer->fd = MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    name_of (MHD_get_connection_info (connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr,
             peer->address);
    peer->deadline = (struct timer){.call = on_deadline, .owner = peer};
    peer_deadline (peer, HEADER_MS);
}

// -- requests

static void *on_target (void *cls, const char *target, struct MHD_Connection *connection)
{
    return exchange_new (cls, connection, target);
}

static enum MHD_Result on_request (void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *data,
                                   size_t *size, void **context)
{
    (void)cls, (void)connection, (void)url;
    return exchange_handle (*context, method, version, data, size) ? MHD_NO : MHD_YES;
}

static void on_completed (void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *context;
    (void)cls, (void)connection, (void)code;
    if (!exchange)
        return;
    peer_deadline (exchange->peer, IDLE_MS);
    exchange_destroy (&exchange);
    *context = NULL;
}

void server_count (struct server *self, const struct exchange *exchange)
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

static void turn (struct server *self)
{
    MHD_UNSIGNED_LONG_LONG ms;
    MHD_run (self->daemon);
    if (MHD_get_timeout (self->daemon, &ms) == MHD_YES)
        timer_set (&self->timer, self->reactor, (int64_t)ms);
}

static void on_epoll (void *owner, uint32_t events)
{
    (void)events;
    turn (owner);
}

static void on_timer (void *owner)
{
    turn (owner);
}

void server_wake (struct server *self)
{
    task_set (&self->task, self->reactor);
}

// A numeric address with its port.
static int bind_to (const char *listen_at, int *ret_port, struct reason *reason)
{
    char host[128];
    const char *colon = strrchr (listen_at, ':');
    size_t size = colon ? (size_t)(colon - listen_at) : 0;
    bool bracketed = size > 2 && listen_at[0] == '[' && listen_at[size - 1] == ']';
    struct addrinfo *found = NULL, hints = {.ai_socktype = SOCK_STREAM,
                                            .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int64_t port; // getaddrinfo takes larger ones
    snprintf (host, sizeof host, "%.*s", (int)size - 2 * bracketed, listen_at + bracketed);
    if (!size || size >= sizeof host || !number_parse (colon + 1, &port) || port > UINT16_MAX ||
        getaddrinfo (host, colon + 1, &hints, &found)) {
        reason_set (reason, "listen: want ADDRESS:PORT, as 127.0.0.1:7924, got %s",
                    quoted (span_text (listen_at)));
        return -1;
    }
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } bound = {0};
    socklen_t bound_size = sizeof bound;
    int on = 1, fd = socket (found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool listens = fd >= 0 && setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                   bind (fd, found->ai_addr, found->ai_addrlen) == 0 && listen (fd, BACKLOG) == 0 &&
                   getsockname (fd, &bound.any, &bound_size) == 0;
    freeaddrinfo (found);
    if (!listens) {
        reason_set (reason, "listen: %s: %s", quoted (span_text (listen_at)), strerror (errno));
        if (fd >= 0)
            close (fd);
        return -1;
    }
    *ret_port = ntohs (bound.any.sa_family == AF_INET6 ? bound.in6.sin6_port : bound.in.sin_port);
    return fd;
}

static void log_library (void *cls, const char *format, va_list list)
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

static struct MHD_Daemon *start_library (struct server *self)
{
    const unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)tls_priorities},
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, tls_callback ()},
        {MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon (
        flags | (self->tls ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, self,
        MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_LISTEN_SOCKET, self->listener,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
        self->settings->behind_proxy ? 0 : CONNECTIONS_OF_ONE, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_OF_ONE, MHD_OPTION_NOTIFY_CONNECTION, on_connection, self,
        MHD_OPTION_URI_LOG_CALLBACK, on_target, self, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        self, MHD_OPTION_ARRAY, self->tls ? tls : tls + 2, MHD_OPTION_END);
}

struct server *server_new (struct reactor *reactor, const struct web_settings *settings,
                           struct gateway *gateway, struct reason *reason)
{
    struct server *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->settings = settings;
    self->gateway = gateway;
    self->source = (struct source){.call = on_epoll, .owner = self};
    self->timer = (struct timer){.call = on_timer, .owner = self};
    self->task = (struct task){.call = on_timer, .owner = self};
    self->listener = -1;
    if ((settings->users[0] && !open_users (self, reason)) || !open_tls (self, reason) ||
        !(self->stream = stream_new (self, reason)) ||
        (self->listener = bind_to (settings->listen, &self->port, reason)) < 0) {
        server_destroy (&self);
        return NULL;
    }
    self->daemon = start_library (self);
    if (!self->daemon) {
        reason_set (reason, "libmicrohttpd cannot be started");
        server_destroy (&self);
        return NULL;
    }
    source_set (&self->source, reactor,
                MHD_get_daemon_info (self->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, EPOLLIN);
    return self;
}

// What is suspended must be resumed before the library ends: the gateway's end answers it.
void server_destroy (struct server **self_p)
{
    struct server *self = *self_p;
    if (!self)
        return;
    source_end (&self->source);
    timer_end (&self->timer);
    self->ending = true;
    bulk_end (&self->bulk);
    if (self->stream)
        stream_stop (self->stream);
    gateway_destroy (&self->gateway);
    users_end (self->users);
    api_end (self);
    task_end (&self->task);
    if (self->daemon) {
        MHD_run (self->daemon);
        MHD_stop_daemon (self->daemon); // and closes the listener
    } else if (self->listener >= 0) {
        close (self->listener);
    }
    tls_destroy (&self->tls);
    stream_destroy (&self->stream);
    users_destroy (&self->users);
    audit_close (&self->audit);
    free (self);
    *self_p = NULL;
}
