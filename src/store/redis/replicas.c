#include "replicas.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "connection.h"
#include "memory.h"
#include "redis_keys.h"

enum { SLACK_US = 2000000 }; // added to the timeout of a WAIT, for the network and a slow Redis

// A caller of replicas_wait.
struct replica_waiter {
    struct replica_waiter *next;
    link_replicated_fn *reply;
    void *owner;
};

struct replica_waiters {
    struct replica_waiter *first;
    struct replica_waiter **end;
};

struct replicas {
    const struct link_config *config;
    struct connection *connection;
    struct address address;
    struct replica_waiters in_flight_waiters; // waiters of the WAIT in flight
    struct replica_waiters next_waiters;      // waiters of the next WAIT
    int64_t asked_us;                         // when the WAIT was sent, monotonic
};

static void answer_waiters (struct replica_waiters *list, bool enough)
{
    struct replica_waiter *waiter = list->first;
    *list = (struct replica_waiters){0};
    while (waiter) {
        struct replica_waiter *next = waiter->next;
        waiter->reply (waiter->owner, enough);
        free (waiter);
        waiter = next;
    }
}

static void on_wait_reply (redisAsyncContext *context, void *data, void *arg)
{
    struct replicas *self = arg;
    const redisReply *reply = data;
    (void)context;
    answer_waiters (&self->in_flight_waiters, reply && reply->type == REDIS_REPLY_INTEGER &&
                                                  reply->integer >= self->config->replicas);
}

static void ignore_setup_reply (redisAsyncContext *context, void *data, void *arg)
{
    (void)context, (void)data, (void)arg; // after an error, the WAIT fails, too
}

static void connect_to_master (struct replicas *self)
{
    struct reason reason;
    const struct link_config *config = self->config;
    if (connection_open (self->connection, &self->address, &reason) == 0)
        connection_log_in (self->connection, config->user, config->password, config->db,
                           ignore_setup_reply, self);
}

// Send WAIT for all callers that wait for the next one. A write precedes it, as WAIT counts the
// replicas that have the last write of its own connection.
static void send_wait (struct replicas *self)
{
    self->in_flight_waiters = self->next_waiters;
    self->next_waiters = (struct replica_waiters){0};
    self->asked_us = clock_mono_us ();
    connection_send (self->connection, ignore_setup_reply, self, "HINCRBY " KEY_META " waited 1");
    connection_send (self->connection, on_wait_reply, self, "WAIT %" PRId64 " %" PRId64,
                     self->config->replicas, self->config->replica_timeout_ms);
}

void replicas_flush (struct replicas *self)
{
    if (self->connection->inside)
        return; // the turn of that connection ends with a flush
    int64_t most_us = self->config->replica_timeout_ms * 1000 + SLACK_US;
    if (self->in_flight_waiters.first && clock_mono_us () - self->asked_us > most_us)
        connection_close (self->connection);
    if (self->next_waiters.first && !self->connection->context)
        connect_to_master (self);
    if (self->next_waiters.first && !self->in_flight_waiters.first) {
        if (connection_context (self->connection))
            send_wait (self);
        else
            answer_waiters (&self->next_waiters, false);
    }
    connection_flush (self->connection);
    connection_update_events (self->connection);
}

static void on_replicas_turn (void *owner)
{
    replicas_flush (owner);
}

void replicas_wait (struct replicas *self, link_replicated_fn *reply, void *owner)
{
    struct replica_waiter *waiter = memory_new (sizeof *waiter);
    *waiter = (struct replica_waiter){NULL, reply, owner};
    *(self->next_waiters.first ? self->next_waiters.end : &self->next_waiters.first) = waiter;
    self->next_waiters.end = &waiter->next;
}

void replicas_open (struct replicas *self, const struct address *address)
{
    self->address = *address;
}

void replicas_reset (struct replicas *self)
{
    connection_close (self->connection);
    answer_waiters (&self->in_flight_waiters, false);
    answer_waiters (&self->next_waiters, false);
}

struct replicas *replicas_new (const struct link_config *config, struct reactor *reactor)
{
    struct replicas *self = memory_new (sizeof *self);
    self->config = config;
    self->connection = connection_new (reactor, on_replicas_turn, self);
    return self;
}

void replicas_destroy (struct replicas **self_p)
{
    struct replicas *self = *self_p;
    if (!self)
        return;
    replicas_reset (self);
    connection_destroy (&self->connection);
    free (self);
    *self_p = NULL;
}
