#include "station.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <zmq.h>

#include "context.h"
#include "packet.h"
#include "subscribers.h"

enum {
    CLOSE_LINGER_MS = 1000, // how long queued answers may take to be sent at the end
    PORT_QUEUE_MAX = 1000   // messages that may wait for one worker
};

static const char *const count_names[COUNT_END] = {
#define COUNT(name, word) word,
#include "counts.def"
};

static int open_socket (void **ret, int type, struct reason *reason)
{
    *ret = wire_socket (type);
    if (*ret) {
        wire_limit (*ret, packet_of_dispatches.bytes);
        return 0;
    }
    return reason_set (reason, "no socket: %s", zmq_strerror (errno));
}

int station_open_curve (struct target_server *self, struct reason *reason)
{
    struct curve_cert cert;
    struct reason why;
    if (!*self->options.curve)
        return 0;
    if (curve_cert_load (self->options.curve, CURVE_SECRET, &cert, &why))
        return reason_set (reason, "--curve: %s", why.text);
    self->keys = cert.keys;
    explicit_bzero (&cert, sizeof cert);
    self->allow = allow_new (self->options.allow, reason);
    return self->allow ? 0 : -1;
}

// A socket to bind; its name is also the ZAP domain.
struct port {
    const char *name;
    const char *endpoint;
};

static int bind_port (const struct target_server *self, void *socket, const struct port *port,
                      struct reason *reason)
{
    if (self->allow)
        curve_make_server (socket, &self->keys, port->name);
    return wire_bind (socket, port->endpoint, reason);
}

// Open a ROUTER whose sends fail when the peer is gone, instead of dropping messages silently.
static int open_router (struct target_server *self, void **ret, const struct port *port, int queue,
                        struct reason *reason)
{
    if (open_socket (ret, ZMQ_ROUTER, reason))
        return -1;
    wire_set (*ret, ZMQ_SNDHWM, queue);
    wire_set (*ret, ZMQ_ROUTER_MANDATORY, 1);
    return bind_port (self, *ret, port, reason);
}

int station_open (struct target_server *self, struct reason *reason)
{
    const struct options *options = &self->options;
    const struct port request = {"request", options->request};
    const struct port workers = {"workers", options->workers};
    const struct port publish = {"publish", options->publish};
    TAILQ_INIT (&self->queue.jobs);
    if (open_router (self, &self->request, &request, self->kind->answers_max, reason) ||
        (*options->plan &&
         plan_link_open (&self->plan, options->plan, options->plan_key, &self->keys, reason)))
        return -1;
    if (self->kind->jobs_max) {
        self->ballots.timeout_us = options->voter_timeout * 1000;
        workers_start (&self->workers, options->worker_timeout * 1000);
        return open_router (self, &self->backend, &workers, PORT_QUEUE_MAX, reason);
    }
    if (open_socket (&self->publish, ZMQ_XPUB, reason))
        return -1;
    subscribers_prepare (self->publish);
    self->subscribers = subscribers_new (options->publish);
    return bind_port (self, self->publish, &publish, reason);
}

void station_process_disconnects (void *router)
{
    int events;
    size_t size = sizeof events;
    zmq_getsockopt (router, ZMQ_EVENTS, &events, &size);
}

static void close_socket (void **socket)
{
    if (!*socket)
        return;
    wire_set (*socket, ZMQ_LINGER, CLOSE_LINGER_MS);
    zmq_close (*socket);
    *socket = NULL;
}

void station_close (struct target_server *self)
{
    for (struct job *job; (job = job_queue_pop (&self->queue));)
        job_destroy (&job);
    workers_clear (&self->workers);
    heap_free (&self->ballots.deadlines);
    close_socket (&self->request);
    plan_link_close (&self->plan, CLOSE_LINGER_MS);
    close_socket (&self->backend);
    close_socket (&self->publish);
    subscribers_destroy (&self->subscribers);
    table_free (&self->runs);
    allow_destroy (&self->allow);
    explicit_bzero (&self->keys, sizeof self->keys);
}

void station_log_counts (const struct target_server *self)
{
    char line[COUNT_END * 48];
    size_t size = 0;
    for (size_t i = 0; i < COUNT_END; i++)
        size += (size_t)snprintf (line + size, sizeof line - size, "%s%s=%" PRIu64, i ? " " : "",
                                  count_names[i], self->counts[i]);
    log_event (LEVEL_INFO, "counts", "%s", line);
}
