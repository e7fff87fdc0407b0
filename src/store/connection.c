#include "connection.h"

#include <czmq.h>
#include <stdlib.h>

#include "memory.h"

struct connection {
    zloop_t *loop;
    connection_turn_fn *turn;
    void *owner;
    redisAsyncContext *context; // NULL while closed
    int fd; // of the context, for the reactor; it outlives the context by a turn
    bool want_read, want_write; // what hiredis asked for
    int polled;                 // ZMQ_POLLIN | ZMQ_POLLOUT as the reactor has it
    bool inside;                // hiredis is on the stack
    struct reason trouble;
};

// -- the reactor's side: hiredis says what it wants to poll for

static int on_ready (zloop_t *loop, zmq_pollitem_t *item, void *arg);

static void poll_as_wanted (struct connection *self)
{
    int wanted = (self->want_read ? ZMQ_POLLIN : 0) | (self->want_write ? ZMQ_POLLOUT : 0);
    if (wanted == self->polled)
        return;
    zmq_pollitem_t item = {.fd = self->fd, .events = (short)wanted};
    if (self->polled)
        zloop_poller_end (self->loop, &item);
    if (wanted) {
        zloop_poller (self->loop, &item, on_ready, self);
        zloop_poller_set_tolerant (self->loop, &item);
    }
    self->polled = wanted;
}

static void add_read (void *arg)
{
    ((struct connection *)arg)->want_read = true;
}

static void del_read (void *arg)
{
    ((struct connection *)arg)->want_read = false;
}

static void add_write (void *arg)
{
    ((struct connection *)arg)->want_write = true;
}

static void del_write (void *arg)
{
    ((struct connection *)arg)->want_write = false;
}

// The context is gone after this.
static void on_cleanup (void *arg)
{
    struct connection *self = arg;
    self->context = NULL;
    self->want_read = self->want_write = false;
    poll_as_wanted (self);
}

static void on_connect (const redisAsyncContext *context, int status)
{
    struct connection *self = context->data;
    if (status != REDIS_OK)
        reason_set (&self->trouble, "%s", context->errstr);
}

static void on_disconnect (const redisAsyncContext *context, int status)
{
    struct connection *self = context->data;
    if (status != REDIS_OK && !self->trouble.text[0])
        reason_set (&self->trouble, "%s", context->errstr);
}

enum io { IO_READ, IO_WRITE, IO_CLOSE };

// Every call that lets hiredis run callbacks goes through here.
static void run_hiredis (struct connection *self, enum io io)
{
    if (!self->context || self->inside)
        return;
    self->inside = true;
    if (io == IO_READ)
        redisAsyncHandleRead (self->context);
    else if (io == IO_WRITE)
        redisAsyncHandleWrite (self->context);
    else
        redisAsyncFree (self->context);
    self->inside = false;
}

static int on_ready (zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct connection *self = arg;
    short events = item->revents;
    (void)loop;
    if (events & (ZMQ_POLLIN | ZMQ_POLLERR))
        run_hiredis (self, IO_READ);
    if (events & ZMQ_POLLOUT)
        run_hiredis (self, IO_WRITE);
    self->turn (self->owner);
    return 0;
}

// -- the owner's side

int connection_open (struct connection *self, const struct address *address, struct reason *reason)
{
    redisAsyncContext *context = address->kind == ADDRESS_UNIX
                                     ? redisAsyncConnectUnix (address->host)
                                     : redisAsyncConnect (address->host, address->port);
    if (!context)
        abort (); // memory
    if (context->err) {
        reason_set (reason, "%s", context->errstr);
        redisAsyncFree (context);
        return -1;
    }
    self->trouble.text[0] = '\0';
    self->context = context;
    self->fd = context->c.fd;
    context->data = self;
    context->ev.data = self;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = on_cleanup;
    redisAsyncSetConnectCallback (context, on_connect);
    redisAsyncSetDisconnectCallback (context, on_disconnect);
    return 0;
}

void connection_close (struct connection *self)
{
    run_hiredis (self, IO_CLOSE);
}

redisAsyncContext *connection_context (const struct connection *self)
{
    bool takes = self->context && !(self->context->c.flags & (REDIS_DISCONNECTING | REDIS_FREEING));
    return takes ? self->context : NULL;
}

bool connection_exists (const struct connection *self)
{
    return self->context != NULL;
}

void connection_read (struct connection *self)
{
    run_hiredis (self, IO_READ);
}

void connection_flush (struct connection *self)
{
    bool connected = self->context && self->context->c.flags & REDIS_CONNECTED;
    if (connected && self->want_write)
        run_hiredis (self, IO_WRITE);
}

void connection_settle (struct connection *self)
{
    if (self->context)
        poll_as_wanted (self);
}

bool connection_inside (const struct connection *self)
{
    return self->inside;
}

const char *connection_trouble (const struct connection *self)
{
    return self->trouble.text;
}

struct connection *connection_new (void *loop, connection_turn_fn *turn, void *owner)
{
    struct connection *self = memory_new (sizeof *self);
    self->loop = loop;
    self->turn = turn;
    self->owner = owner;
    return self;
}

void connection_destroy (struct connection **self_p)
{
    struct connection *self = *self_p;
    if (!self)
        return;
    connection_close (self);
    free (self);
    *self_p = NULL;
}
