#include "sentinel.h"

#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "memory.h"
#include "settings.h"

enum { ANSWER_MAX_MS = 500 };

// One sentinel that is being asked.
struct probe {
    struct sentinel *sentinel;
    struct connection *connection;
    bool done; // it answered, or its connection failed
};

struct sentinel {
    const struct address *address;
    struct reactor *reactor;
    sentinel_found_fn *found;
    void *owner;
    struct probe probes[SENTINELS_MAX];
    bool asking;
    bool checking_probes; // check_probes is running: it must not be reentered
    struct timer timer;   // timeout of the request
    int64_t epoch;        // configuration epoch of the newest answer; -1 = none yet
    struct address master;
    struct reason trouble; // error of the last sentinel that did not answer
};

static void end_sentinel_request (struct sentinel *self)
{
    for (size_t i = 0; i < self->address->sentinel_count; i++)
        connection_close (self->probes[i].connection);
    timer_end (&self->timer);
    self->asking = false;
    self->found (self->owner, self->epoch >= 0 ? &self->master : NULL, self->trouble.text);
}

// Write to all sentinels, and end the request when each has answered or failed.
static void check_probes (struct sentinel *self)
{
    bool all = true;
    if (!self->asking || self->checking_probes)
        return;
    self->checking_probes = true;
    for (size_t i = 0; i < self->address->sentinel_count; i++) {
        struct probe *probe = &self->probes[i];
        connection_flush (probe->connection);
        if (!probe->connection->context && !probe->done) {
            probe->done = true;
            if (probe->connection->trouble.text[0])
                reason_set (&self->trouble, "%s", probe->connection->trouble.text);
        }
        connection_update_events (probe->connection);
        all = all && probe->done;
    }
    self->checking_probes = false;
    if (all)
        end_sentinel_request (self);
}

static void on_probe_turn (void *owner)
{
    check_probes (((struct probe *)owner)->sentinel);
}

// A field of a reply "name", "value", "name", "value", ...
static const char *reply_field (const redisReply *reply, const char *name)
{
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *key = reply->element[i], *value = reply->element[i + 1];
        if (key->type == REDIS_REPLY_STRING && value->type == REDIS_REPLY_STRING &&
            strcmp (key->str, name) == 0)
            return value->str;
    }
    return "";
}

// Keep the master that this sentinel names if its answer has the greatest epoch so far.
static void on_master_reply (redisAsyncContext *context, void *data, void *arg)
{
    struct probe *probe = arg;
    struct sentinel *self = probe->sentinel;
    const redisReply *reply = data;
    int64_t epoch, port;
    (void)context;
    probe->done = true;
    if (!reply)
        return;
    if (reply->type != REDIS_REPLY_ARRAY) {
        reason_set (&self->trouble, "%s",
                    reply->type == REDIS_REPLY_ERROR ? reply->str : "an invalid answer");
        return;
    }
    const char *host = reply_field (reply, "ip");
    if (!*host || strlen (host) >= sizeof self->master.host ||
        !number_parse (reply_field (reply, "port"), &port) || port < 1 || port > 65535 ||
        !number_parse (reply_field (reply, "config-epoch"), &epoch) || epoch <= self->epoch)
        return;
    self->epoch = epoch;
    self->master.kind = ADDRESS_TCP;
    self->master.port = (int)port;
    memcpy (self->master.host, host, strlen (host) + 1);
}

static void on_request_timeout (void *owner)
{
    struct sentinel *self = owner;
    if (!self->trouble.text[0])
        reason_set (&self->trouble, "no sentinel answers");
    end_sentinel_request (self);
}

static void probe_sentinel (struct probe *probe, const struct endpoint *endpoint, const char *name)
{
    struct address address = {.kind = ADDRESS_TCP, .port = endpoint->port};
    memcpy (address.host, endpoint->host, sizeof endpoint->host);
    probe->done = connection_open (probe->connection, &address, &probe->sentinel->trouble) != 0;
    if (!probe->done)
        connection_send (probe->connection, on_master_reply, probe, "SENTINEL MASTER %s", name);
}

void sentinel_ask (struct sentinel *self)
{
    if (self->asking)
        return;
    self->asking = true;
    self->epoch = -1;
    self->trouble.text[0] = '\0';
    timer_set (&self->timer, self->reactor, ANSWER_MAX_MS);
    for (size_t i = 0; i < self->address->sentinel_count; i++) {
        probe_sentinel (&self->probes[i], &self->address->sentinels[i], self->address->host);
        connection_update_events (self->probes[i].connection);
    }
}

struct sentinel *sentinel_new (const struct address *address, struct reactor *reactor,
                               sentinel_found_fn *found, void *owner)
{
    struct sentinel *self = memory_new (sizeof *self);
    self->address = address;
    self->reactor = reactor;
    self->found = found;
    self->owner = owner;
    self->timer = (struct timer){.call = on_request_timeout, .owner = self};
    for (size_t i = 0; i < address->sentinel_count; i++) {
        self->probes[i].sentinel = self;
        self->probes[i].connection = connection_new (reactor, on_probe_turn, &self->probes[i]);
    }
    return self;
}

void sentinel_destroy (struct sentinel **self_p)
{
    struct sentinel *self = *self_p;
    if (!self)
        return;
    self->asking = false;
    timer_end (&self->timer);
    for (size_t i = 0; i < self->address->sentinel_count; i++)
        connection_destroy (&self->probes[i].connection);
    free (self);
    *self_p = NULL;
}
