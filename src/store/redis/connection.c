#include "connection.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "memory.h"

// -- hooks with which hiredis selects the events to poll for

// Watch the socket for the events that hiredis waits for now.
static void update_polled_events (struct connection *self)
{
    if (self->wanted == self->polled)
        return;
    if (self->wanted)
        source_set (&self->source, self->reactor, self->context->c.fd, self->wanted);
    else
        source_end (&self->source);
    self->polled = self->wanted;
}

static void add_read (void *arg)
{
    ((struct connection *)arg)->wanted |= EPOLLIN;
}

static void del_read (void *arg)
{
    ((struct connection *)arg)->wanted &= ~(uint32_t)EPOLLIN;
}

static void add_write (void *arg)
{
    ((struct connection *)arg)->wanted |= EPOLLOUT;
}

static void del_write (void *arg)
{
    ((struct connection *)arg)->wanted &= ~(uint32_t)EPOLLOUT;
}

// hiredis frees the context after this.
static void on_cleanup (void *arg)
{
    struct connection *self = arg;
    self->wanted = 0;
    update_polled_events (self);
    self->context = NULL;
}

// Called after connecting, successfully or not, and after disconnecting.
static void note_trouble (const redisAsyncContext *context, int status)
{
    struct connection *self = context->data;
    if (status != REDIS_OK && !self->trouble.text[0])
        reason_set (&self->trouble, "%s", context->errstr);
}

enum io { IO_READ, IO_WRITE, IO_CLOSE };

// All calls during which hiredis may call back are made here.
static void run_hiredis (struct connection *self, enum io io)
{
    if (!self->context || self->inside)
        return;
    self->inside = true;
    if (io == IO_READ) {
        self->read_us = clock_mono_us ();
        redisAsyncHandleRead (self->context);
    } else if (io == IO_WRITE) {
        redisAsyncHandleWrite (self->context);
    } else {
        redisAsyncFree (self->context);
    }
    self->inside = false;
}

static void on_ready (void *owner, uint32_t events)
{
    struct connection *self = owner;
    if (events & EPOLLIN)
        self->received_us = clock_mono_us ();
    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
        run_hiredis (self, IO_READ);
    if (events & EPOLLOUT)
        run_hiredis (self, IO_WRITE);
    self->turn (self->owner);
}

// -- replies

// The reply to each command between MULTI and EXEC. As the most frequent reply, it is one shared
// object that is never freed.
static redisReply queued = {
    .type = REDIS_REPLY_STATUS, .str = (char[]){"QUEUED"}, .len = sizeof "QUEUED" - 1};
static const redisReplyObjectFunctions *hiredis_functions;

static void *create_string_reply (const redisReadTask *task, char *text, size_t size)
{
    bool is_queued = task->type == REDIS_REPLY_STATUS && !task->parent &&
                     size == (size_t)queued.len && memcmp (text, queued.str, size) == 0;
    return is_queued ? &queued : hiredis_functions->createString (task, text, size);
}

static void free_reply_object (void *reply)
{
    if (reply != &queued)
        hiredis_functions->freeObject (reply);
}

// Make the reader use the shared object for QUEUED replies.
static void share_queued_reply (redisReader *reader)
{
    static redisReplyObjectFunctions functions;
    if (!hiredis_functions) {
        hiredis_functions = reader->fn;
        functions = *reader->fn;
        functions.createString = create_string_reply;
        functions.freeObject = free_reply_object;
    }
    reader->fn = &functions;
}

// -- calls of the owner

int connection_open (struct connection *self, const struct address *address, struct reason *reason)
{
    redisAsyncContext *context = address->kind == ADDRESS_UNIX
                                     ? redisAsyncConnectUnix (address->host)
                                     : redisAsyncConnect (address->host, address->port);
    if (!context)
        abort (); // out of memory
    if (context->err) {
        reason_set (reason, "%s", context->errstr);
        redisAsyncFree (context);
        return -1;
    }
    self->trouble.text[0] = '\0';
    self->context = context;
    share_queued_reply (context->c.reader);
    context->data = self;
    context->ev.data = self;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = on_cleanup;
    redisAsyncSetConnectCallback (context, note_trouble);
    redisAsyncSetDisconnectCallback (context, note_trouble);
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

void connection_send (struct connection *self, redisCallbackFn *reply, void *owner,
                      const char *format, ...)
{
    redisAsyncContext *context = connection_context (self);
    va_list args;
    va_start (args, format);
    if (context)
        redisvAsyncCommand (context, reply, owner, format, args);
    va_end (args);
}

void connection_log_in (struct connection *self, const char *user, const char *password, int64_t db,
                        redisCallbackFn *reply, void *owner)
{
    if (*user)
        connection_send (self, reply, owner, "AUTH %s %s", user, password);
    else if (*password)
        connection_send (self, reply, owner, "AUTH %s", password);
    connection_send (self, reply, owner, "SELECT %" PRId64, db);
}

void connection_read (struct connection *self)
{
    run_hiredis (self, IO_READ);
}

void connection_flush (struct connection *self)
{
    bool connected = self->context && self->context->c.flags & REDIS_CONNECTED;
    if (connected && self->wanted & EPOLLOUT)
        run_hiredis (self, IO_WRITE);
}

void connection_update_events (struct connection *self)
{
    if (self->context)
        update_polled_events (self);
}

struct connection *connection_new (struct reactor *reactor, connection_turn_fn *turn, void *owner)
{
    struct connection *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->source = (struct source){.call = on_ready, .owner = self};
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
