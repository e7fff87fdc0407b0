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
    struct replica_waiters asked;  // waiters of the WAIT in flight
    struct replica_waiters asking; // waiters of the next WAIT
    int64_t asked_us;              // when the WAIT was sent, monotonic
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

static void on_replicas (redisAsyncContext *context, void *data, void *arg)
{
    struct replicas *self = arg;
    const redisReply *reply = data;
    (void)context;
    answer_waiters (&self->asked, reply && reply->type == REDIS_REPLY_INTEGER &&
                                      reply->integer >= self->config->replicas);
}

static void on_nothing (redisAsyncContext *context, void *data, void *arg)
{
    (void)context, (void)data, (void)arg; // after an error, the WAIT fails, too
}

static void connect_anew (struct replicas *self)
{
    struct reason reason;
    const struct link_config *config = self->config;
    if (connection_open (self->connection, &self->address, &reason) == 0)
        connection_log_in (self->connection, config->user, config->password, config->db, on_nothing,
                           self);
}

static void send_wait (struct replicas *self)
{
    char count[24], timeout[24];
    const char *touch[] = {"HINCRBY", KEY_META, "waited", "1"};
    const char *wait[] = {"WAIT", count, timeout};
    snprintf (count, sizeof count, "%" PRId64, self->config->replicas);
    snprintf (timeout, sizeof timeout, "%" PRId64, self->config->replica_timeout_ms);
    self->asked = self->asking;
    self->asking = (struct replica_waiters){0};
    self->asked_us = clock_mono_us ();
    connection_send (self->connection, on_nothing, self, 4, touch);
    connection_send (self->connection, on_replicas, self, 3, wait);
}

void replicas_flush (struct replicas *self)
{
    if (connection_inside (self->connection))
        return; // the turn of that connection ends with a flush
    int64_t most_us = self->config->replica_timeout_ms * 1000 + SLACK_US;
    if (self->asked.first && clock_mono_us () - self->asked_us > most_us)
        connection_close (self->connection);
    if (self->asking.first && !connection_exists (self->connection))
        connect_anew (self);
    if (self->asking.first && !self->asked.first) {
        if (connection_context (self->connection))
            send_wait (self);
        else
            answer_waiters (&self->asking, false);
    }
    connection_flush (self->connection);
    connection_settle (self->connection);
}

static void on_turn (void *owner)
{
    replicas_flush (owner);
}

void replicas_wait (struct replicas *self, link_replicated_fn *reply, void *owner)
{
    struct replica_waiter *waiter = memory_new (sizeof *waiter);
    *waiter = (struct replica_waiter){NULL, reply, owner};
    *(self->asking.first ? self->asking.end : &self->asking.first) = waiter;
    self->asking.end = &waiter->next;
}

void replicas_open (struct replicas *self, const struct address *address)
{
    self->address = *address;
}

void replicas_close (struct replicas *self)
{
    connection_close (self->connection);
    answer_waiters (&self->asked, false);
    answer_waiters (&self->asking, false);
}

struct replicas *replicas_new (const struct link_config *config, struct reactor *reactor)
{
    struct replicas *self = memory_new (sizeof *self);
    self->config = config;
    self->connection = connection_new (reactor, on_turn, self);
    return self;
}

void replicas_destroy (struct replicas **self_p)
{
    struct replicas *self = *self_p;
    if (!self)
        return;
    replicas_close (self);
    connection_destroy (&self->connection);
    free (self);
    *self_p = NULL;
}
