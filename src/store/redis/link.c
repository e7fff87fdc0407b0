#include <czmq.h>
#include <stdlib.h>

#include "clock.h"
#include "commands.h"
#include "link_private.h"
#include "memory.h"

enum {
    TICK_MS = 50,
    QUIET_TICK_MS = 250, // tick while the link is up and nothing is in flight
    CONNECT_MAX_US = 1000000,
    MAYBE_STOPPED_US =
        500000, // without an answer for this long, this process itself may have been stopped
    ANSWER_MAX_US = 3000000, // a Redis that is unresponsive for longer counts as lost
    BUSY_BYTES = 4 << 20,    // bounds hiredis' buffer, whose rest is moved at every write
    BACKOFF_LAST_US = 250000 // short, so that the link is up within a second of Redis' return
};

// -- lists of calls

static void call_list_add (struct call_list *list, struct call *call)
{
    call->next = NULL;
    *(list->first ? list->end : &list->first) = call;
    list->end = &call->next;
    list->count++;
    list->bytes += call->size;
}

static struct call *call_list_take (struct call_list *list)
{
    struct call *call = list->first;
    if (call) {
        list->first = call->next;
        list->count--;
        list->bytes -= call->size;
    }
    return call;
}

static void call_destroy (struct call *call)
{
    free (call->text);
    free (call);
}

// -- state

void link_set_state (struct link *self, enum link_state state)
{
    if (self->state == state)
        return;
    self->state = state;
    if (!self->closing)
        self->io.changed (self->io.owner, state);
}

void link_mark_broken (struct link *self, const char *why)
{
    if (self->broken)
        return;
    self->broken = true;
    reason_set (&self->trouble, "Redis: %s", why);
}

void link_close_and_retry (struct link *self)
{
    connection_close (self->connection);
    bool was_broken = self->broken; // `trouble` has the reason
    self->broken = false;
    // Calls that were sent are resent before those made since.
    for (struct call *call; (call = call_list_take (&self->waiting));)
        call_list_add (&self->lost, call);
    self->waiting = self->lost;
    self->lost = (struct call_list){0};
    self->retry_us = clock_mono_us () + self->backoff_us;
    self->backoff_us =
        self->backoff_us * 2 < BACKOFF_LAST_US ? self->backoff_us * 2 : BACKOFF_LAST_US;
    if (!was_broken)
        reason_set (&self->trouble, "Redis: %s",
                    self->connection->trouble.text[0] ? self->connection->trouble.text
                                                      : "the connection was lost");
    self->opened_us = 0;
    timer_set (&self->timer, self->reactor, TICK_MS);
    link_set_state (self, self->refused ? LINK_REFUSED : LINK_DOWN);
    if (self->replicas)
        replicas_reset (self->replicas);
}

void link_check_connection (struct link *self)
{
    bool gone = self->opened_us && !self->connection->context;
    if (self->broken || gone)
        link_close_and_retry (self);
    connection_update_events (self->connection);
}

// Whether calls are in flight and Redis has sent nothing for longer than `for_us`.
static bool answer_overdue (const struct link *self, int64_t for_us)
{
    const struct call *oldest = self->sent.first;
    if (!oldest)
        return false;
    int64_t since = oldest->sent_us > self->answered_us ? oldest->sent_us : self->answered_us;
    // A part of a large answer is an answer.
    if (self->connection->received_us > since)
        since = self->connection->received_us;
    return clock_mono_us () - since > for_us;
}

void link_flush (struct link *self)
{
    if (!self || self->connection->inside)
        return; // the call that runs hiredis' callbacks ends with a flush
    // This process may have been stopped, and Redis may have closed the connection meanwhile. Read
    // the answers that arrived before: a write would fail and discard them.
    if (answer_overdue (self, MAYBE_STOPPED_US))
        connection_read (self->connection);
    self->io.gather (self->io.owner);
    if (!self->broken)
        connection_flush (self->connection);
    if (self->replicas)
        replicas_flush (self->replicas);
    self->io.flushed (self->io.owner);
    link_check_connection (self);
}

void link_renew (struct link *self, const char *why)
{
    if (self->connection->context)
        link_mark_broken (self, why);
}

static void flush_link (void *owner)
{
    link_flush (owner);
}

// -- calls

// Temporary errors: calls that may be repeated are then resent later.
static const char *const temporary_errors[] = {"LOADING",     "BUSY",       "MISCONF",  "READONLY",
                                               "NOREPLICAS",  "MASTERDOWN", "TRYAGAIN", "OOM",
                                               "CLUSTERDOWN", NULL};

bool link_error_is (const redisReply *reply, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (strncmp (reply->str, *prefixes, strlen (*prefixes)) == 0)
            return true;
    return false;
}

static bool link_can_send (const struct link *self)
{
    return self->state == LINK_UP && !self->broken && connection_context (self->connection);
}

static void send_call (struct link *self, struct call *call);

// Handle a missing answer or an error. True: the call is kept and resent, so it has no answer yet.
static bool keep_failed_call (struct link *self, struct call *call, const redisReply *reply)
{
    if (!reply) {
        bool repeat = call->repeat == LINK_REPEAT && !self->closing;
        if (repeat)
            call_list_add (&self->lost, call);
        return repeat;
    }
    if (strncmp (reply->str, "NOSCRIPT", 8) == 0 && call->script != SCRIPTS &&
        link_can_send (self)) {
        link_load_script (self, call->script);
        send_call (self, call);
        return true;
    }
    // NOSCRIPT while nothing can be sent: an earlier error broke the connection.
    bool is_broken = strncmp (reply->str, "NOSCRIPT", 8) == 0;
    if ((is_broken || link_error_is (reply, temporary_errors)) && call->repeat == LINK_REPEAT) {
        link_mark_broken (self, reply->str);
        call_list_add (&self->lost, call);
        return true;
    }
    return false;
}

static void on_call_reply (redisAsyncContext *context, void *data, void *arg)
{
    const redisReply *reply = data;
    struct call *call = arg;
    struct link *self = call->link;
    (void)context;
    call_list_take (&self->sent); // Redis answers in order, so the first one is `call`
    self->answered_us = self->connection->read_us;
    if ((!reply || reply->type == REDIS_REPLY_ERROR) && keep_failed_call (self, call, reply))
        return;
    call->reply (call->owner, reply);
    call_destroy (call);
}

static void send_call (struct link *self, struct call *call)
{
    call->sent_us = clock_mono_us ();
    call_list_add (&self->sent, call);
    if (redisAsyncFormattedCommand (connection_context (self->connection), on_call_reply, call,
                                    call->text, call->size) != REDIS_OK)
        abort (); // link_can_send was true: only out of memory is possible
}

// A call with its command in the form in which it is sent, so that it can be resent.
static struct call *call_new (struct link *self, const struct link_call *request)
{
    enum { SCRIPT_HEAD = 3, COMMAND_HEAD = 1 };
    char keys[24];
    snprintf (keys, sizeof keys, "%zu", request->keys);
    const struct span script[SCRIPT_HEAD] = {
        span_text ("EVALSHA"), span_text (self->sha[request->script]), span_text (keys)};
    const struct span command[COMMAND_HEAD] = {
        span_text (request->command ? request->command : "")};
    struct call *call = memory_new (sizeof *call);
    *call = (struct call){.link = self,
                          .script = request->command ? SCRIPTS : request->script,
                          .repeat = request->repeat,
                          .reply = request->reply,
                          .owner = request->owner};
    call->text = resp_command (NULL, request->command ? command : script,
                               request->command ? COMMAND_HEAD : SCRIPT_HEAD, request->args,
                               request->count, &call->size);
    return call;
}

void link_call (struct link *self, const struct link_call *request)
{
    struct call *call = call_new (self, request);
    if (link_can_send (self)) {
        send_call (self, call);
    } else if (call->repeat == LINK_REPEAT && !self->closing) {
        call_list_add (&self->waiting, call);
    } else {
        call->reply (call->owner, NULL);
        call_destroy (call);
    }
}

void link_send (struct link *self, const struct commands *commands, link_reply_fn *reply,
                void *owner)
{
    const struct span *words = commands->words;
    char *text = NULL;
    for (size_t i = 0; i < commands->commands && link_can_send (self);
         words += commands->sizes[i++]) {
        struct call *call = memory_new (sizeof *call);
        *call = (struct call){
            .link = self, .script = SCRIPTS, .repeat = LINK_ONCE, .reply = reply, .owner = owner};
        // hiredis copies the text, and the call is never resent, so one buffer serves all.
        call->text = text = resp_command (text, words, commands->sizes[i], NULL, 0, &call->size);
        send_call (self, call);
        call->text = NULL;
    }
    free (text);
}

size_t link_pending (const struct link *self)
{
    return self->sent.count + self->waiting.count;
}

int64_t link_received_us (const struct link *self)
{
    int64_t part_us = self->connection->received_us;
    return part_us > self->answered_us ? part_us : self->answered_us;
}

bool link_busy (const struct link *self)
{
    return self->sent.bytes >= BUSY_BYTES;
}

bool link_idle (const struct link *self)
{
    return self->sent.bytes < BUSY_BYTES / 2;
}

void link_set_up (struct link *self)
{
    self->backoff_us = BACKOFF_FIRST_US;
    self->trouble.text[0] = '\0';
    self->state = LINK_UP;
    if (self->replicas)
        replicas_open (self->replicas, self->sentinel ? &self->master : &self->config.address);
    // First the owner checks whether the data are still the same: waiting calls contain numbers
    // from them.
    self->io.changed (self->io.owner, LINK_UP);
    for (struct call *call; (call = call_list_take (&self->waiting));)
        send_call (self, call);
}

void link_replicate (struct link *self, link_replicated_fn *reply, void *owner)
{
    if (self->replicas && link_can_send (self))
        replicas_wait (self->replicas, reply, owner);
    else
        reply (owner, !self->replicas);
}

// -- time

// hiredis has no timeouts. They are implemented here, for the whole link, by its oldest call.
static void check_timeouts (struct link *self, int64_t now)
{
    // An answer may be unread in the socket, as this process may have been stopped: read it first.
    if (answer_overdue (self, ANSWER_MAX_US))
        connection_read (self->connection);
    // A slow connect and a missing answer have one text: they have the same cause, and people
    // search for the text.
    if ((self->state != LINK_UP && now - self->opened_us > CONNECT_MAX_US) ||
        answer_overdue (self, ANSWER_MAX_US))
        link_mark_broken (self, "does not answer");
    else if (self->state == LINK_UP && now >= self->check_us)
        link_check_redis (self);
    if (self->sentinel && now >= self->sentinel_us)
        sentinel_ask (self->sentinel);
    link_flush (self);
}

// Check the timeouts of a connection, or connect again when it is time.
static void on_link_tick (void *owner)
{
    struct link *self = owner;
    int64_t now = clock_mono_us ();
    if (self->connection->context)
        check_timeouts (self, now);
    else if (now >= self->retry_us)
        link_open (self);
    if (!timer_is_set (&self->timer))
        timer_set (&self->timer, self->reactor,
                   self->state == LINK_UP && !self->sent.count ? QUIET_TICK_MS : TICK_MS);
}

// -- life

struct link *link_new (const struct link_config *config, struct reactor *reactor,
                       const struct link_io *io)
{
    struct link *self = memory_new (sizeof *self);
    self->config = *config;
    self->reactor = reactor;
    self->io = *io;
    self->backoff_us = BACKOFF_FIRST_US;
    reason_set (&self->trouble, "Redis: not connected yet");
    for (int i = 0; i < SCRIPTS; i++) {
        zdigest_t *digest = zdigest_new ();
        zdigest_update (digest, (const byte *)script_texts[i].text, script_texts[i].size);
        snprintf (self->sha[i], sizeof self->sha[i], "%s", zdigest_string (digest));
        zdigest_destroy (&digest);
    }
    self->connection = connection_new (reactor, flush_link, self);
    if (config->address.kind == ADDRESS_SENTINEL)
        self->sentinel = sentinel_new (&self->config.address, reactor, link_on_master, self);
    if (config->replicas)
        self->replicas = replicas_new (&self->config, reactor);
    self->timer = (struct timer){.call = on_link_tick, .owner = self};
    timer_set (&self->timer, reactor, TICK_MS);
    link_open (self);
    return self;
}

void link_destroy (struct link **self_p)
{
    struct link *self = *self_p;
    if (!self)
        return;
    self->closing = true;
    timer_end (&self->timer);
    sentinel_destroy (&self->sentinel);
    connection_close (self->connection);
    replicas_destroy (&self->replicas);
    for (struct call *call; (call = call_list_take (&self->waiting));) {
        call->reply (call->owner, NULL);
        call_destroy (call);
    }
    connection_destroy (&self->connection);
    free (self);
    *self_p = NULL;
}

enum link_state link_state (const struct link *self)
{
    return self->state;
}

const char *link_state_name (enum link_state state)
{
    static const char *const names[] = {[LINK_DOWN] = "down",
                                        [LINK_OPENING] = "opening",
                                        [LINK_UP] = "up",
                                        [LINK_REFUSED] = "refused"};
    return names[state];
}

const char *link_trouble (const struct link *self)
{
    return self->trouble.text;
}

const struct link_facts *link_facts (const struct link *self)
{
    return &self->facts;
}

const char *link_fsync (const struct link *self)
{
    return self->fsync;
}
