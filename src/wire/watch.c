#include "watch.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <zmq.h>

static void schedule_read (struct watch *self)
{
    if (watch_is_on (self))
        task_set (&self->task, self->source.reactor);
}

static void on_ready (void *owner, uint32_t events)
{
    (void)events;
    schedule_read (owner);
}

static void on_task (void *owner)
{
    struct watch *self = owner;
    if (self->read (self->owner))
        schedule_read (self);
}

void watch_start (struct watch *self, struct reactor *reactor, void *socket, watch_fn *read,
                  void *owner)
{
    int fd;
    size_t size = sizeof fd;
    if (watch_is_on (self))
        return;
    if (zmq_getsockopt (socket, ZMQ_FD, &fd, &size))
        abort (); // not a socket
    *self = (struct watch){.source = {.call = on_ready, .owner = self},
                           .task = {.call = on_task, .owner = self},
                           .read = read,
                           .owner = owner};
    source_set (&self->source, reactor, fd, EPOLLIN);
    task_set (&self->task, reactor); // for messages that arrived before
}

bool watch_send (struct watch *self, void *socket, struct span identity,
                 const struct message *message)
{
    bool sent = packet_send_message (socket, identity, message);
    schedule_read (self);
    return sent;
}

bool watch_send_counted (struct watch *self, void *socket, struct span identity,
                         const struct message *message, struct packet_debt *debt)
{
    bool sent = packet_send_counted (socket, identity, message, debt);
    schedule_read (self);
    return sent;
}

void watch_end (struct watch *self)
{
    task_end (&self->task);
    source_end (&self->source);
}

bool watch_is_on (const struct watch *self)
{
    return self->source.reactor != NULL;
}
