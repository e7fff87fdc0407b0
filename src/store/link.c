#include "link.h"

#include <assert.h>
#include <czmq.h>
#include <hiredis/async.h>
#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "memory.h"
#include "redis_info.h"

enum {
    TICK_MS = 50,
    CONNECT_MAX_US = 1000000,
    ANSWER_MAX_US = 3000000, // a Redis that is silent for longer counts as lost
    BUSY_CALLS = 2048,
    BUSY_BYTES = 4 << 20, // hiredis moves what is left of its buffer at every write: keep it small
    BACKOFF_FIRST_US = 20000,
    BACKOFF_LAST_US = 1000000
};

// One call, kept with its text on the wire until it is answered.
struct call {
    struct call *next;
    struct link *link;
    char *text;
    int size;
    enum script script;
    enum link_repeat repeat;
    int64_t sent_us;
    link_reply_fn *reply;
    void *owner;
};

struct call_list {
    struct call *first;
    struct call **end;
    size_t count;
    size_t bytes;
};

struct link {
    struct link_config config;
    zloop_t *loop;
    int timer;
    link_state_fn *changed;
    void *owner;

    enum link_state state;
    struct reason trouble;
    char fsync[16];
    char sha[SCRIPTS][41];

    redisAsyncContext *context; // NULL while down
    int fd; // of the context, for the reactor; it outlives the context by a turn
    bool want_read, want_write; // what hiredis asked for
    int polled;                 // ZMQ_POLLIN | ZMQ_POLLOUT as the reactor has it
    bool broken;                // the connection is to be given up, outside hiredis' callbacks
    bool inside;                // hiredis is on the stack
    int64_t opened_us;
    int64_t retry_us; // when to try again
    int64_t backoff_us;

    struct call_list sent;    // in the order Redis will answer
    struct call_list lost;    // sent, and not answered by a connection that is being given up
    struct call_list waiting; // to be sent when the link is up
    int64_t heard_us;         // of the last answer
    bool closing;
};

// -- lists of calls

static void list_add (struct call_list *list, struct call *call)
{
    call->next = NULL;
    *(list->first ? list->end : &list->first) = call;
    list->end = &call->next;
    list->count++;
    list->bytes += (size_t)call->size;
}

static struct call *list_take (struct call_list *list)
{
    struct call *call = list->first;
    if (call) {
        list->first = call->next;
        list->count--;
        list->bytes -= (size_t)call->size;
    }
    return call;
}

static void call_destroy (struct call *call)
{
    redisFreeCommand (call->text);
    free (call);
}

// -- state

static void set_state (struct link *self, enum link_state state)
{
    if (self->state == state)
        return;
    self->state = state;
    if (!self->closing)
        self->changed (self->owner, state);
}

// Give the connection up as soon as no callback of hiredis is on the stack.
static void give_up (struct link *self, const char *why)
{
    if (self->broken)
        return;
    self->broken = true;
    reason_set (&self->trouble, "Redis: %s", why);
}

// -- the reactor's side: hiredis says what it wants to poll for

static int on_ready (zloop_t *loop, zmq_pollitem_t *item, void *arg);

static void poll_as_wanted (struct link *self)
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
    ((struct link *)arg)->want_read = true;
}

static void del_read (void *arg)
{
    ((struct link *)arg)->want_read = false;
}

static void add_write (void *arg)
{
    ((struct link *)arg)->want_write = true;
}

static void del_write (void *arg)
{
    ((struct link *)arg)->want_write = false;
}

// The context is gone after this.
static void on_cleanup (void *arg)
{
    struct link *self = arg;
    self->context = NULL;
    self->want_read = self->want_write = false;
    poll_as_wanted (self);
}

enum io { IO_READ, IO_WRITE, IO_CLOSE };

// Every call that lets hiredis run callbacks goes through here. hiredis 0.14 frees its context from
// within a failed write even when a callback is on the stack, so none may come from a callback.
static void run_hiredis (struct link *self, enum io io)
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

// Close the connection; its calls are answered or wait.
static void drop (struct link *self)
{
    run_hiredis (self, IO_CLOSE);
    self->broken = false;
    // What was sent goes out again before what was called since.
    for (struct call *call; (call = list_take (&self->waiting));)
        list_add (&self->lost, call);
    self->waiting = self->lost;
    self->lost = (struct call_list){0};
    self->retry_us = clock_mono_us () + self->backoff_us;
    self->backoff_us =
        self->backoff_us * 2 < BACKOFF_LAST_US ? self->backoff_us * 2 : BACKOFF_LAST_US;
    if (!self->trouble.text[0])
        reason_set (&self->trouble, "Redis: the connection was lost");
    if (self->state != LINK_REFUSED)
        set_state (self, LINK_DOWN);
}

static void settle (struct link *self)
{
    bool gone = !self->context && (self->state == LINK_UP || self->state == LINK_OPENING);
    if (self->broken || gone)
        drop (self);
    if (self->context)
        poll_as_wanted (self);
}

static int on_ready (zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    struct link *self = arg;
    short events = item->revents;
    (void)loop;
    if (events & (ZMQ_POLLIN | ZMQ_POLLERR))
        run_hiredis (self, IO_READ);
    if (events & ZMQ_POLLOUT)
        run_hiredis (self, IO_WRITE);
    link_flush (self);
    return 0;
}

void link_flush (struct link *self)
{
    if (self->inside)
        return; // the call that lets callbacks run ends with a flush
    bool connected = self->context && self->context->c.flags & REDIS_CONNECTED;
    if (connected && self->want_write && !self->broken)
        run_hiredis (self, IO_WRITE);
    settle (self);
}

// -- calls

// Errors that pass by themselves: what may be repeated waits for that.
static bool passes (const char *error)
{
    static const char *const prefixes[] = {"LOADING",    "BUSY",       "MISCONF",
                                           "READONLY",   "NOREPLICAS", "CLUSTERDOWN",
                                           "MASTERDOWN", "TRYAGAIN",   "OOM"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp (error, prefixes[i], strlen (prefixes[i])) == 0)
            return true;
    return false;
}

static void load_script (struct link *self, enum script script);

static bool can_send (const struct link *self)
{
    return self->state == LINK_UP && self->context && !self->broken &&
           !(self->context->c.flags & (REDIS_DISCONNECTING | REDIS_FREEING));
}

static void send_call (struct link *self, struct call *call);

// What an answer that is no answer means; true: the call goes on living.
static bool goes_on (struct link *self, struct call *call, const redisReply *reply)
{
    if (!reply) {
        bool repeat = call->repeat == LINK_REPEAT && !self->closing;
        if (repeat)
            list_add (&self->lost, call);
        return repeat;
    }
    if (reply->type != REDIS_REPLY_ERROR)
        return false;
    if (strncmp (reply->str, "NOSCRIPT", 8) == 0 && can_send (self)) {
        load_script (self, call->script);
        send_call (self, call);
        return true;
    }
    if (passes (reply->str) && call->repeat == LINK_REPEAT) {
        give_up (self, reply->str);
        list_add (&self->lost, call);
        return true;
    }
    return false;
}

static void on_reply (redisAsyncContext *context, void *data, void *arg)
{
    struct call *call = arg;
    struct link *self = call->link;
    (void)context;
    list_take (&self->sent); // Redis answers in order: it is this one
    self->heard_us = clock_mono_us ();
    if (goes_on (self, call, data))
        return;
    call->reply (call->owner, data);
    call_destroy (call);
}

static void send_call (struct link *self, struct call *call)
{
    call->sent_us = clock_mono_us ();
    list_add (&self->sent, call);
    if (redisAsyncFormattedCommand (self->context, on_reply, call, call->text,
                                    (size_t)call->size) != REDIS_OK)
        abort (); // can_send was asked: only memory can lack
}

static struct call *call_new (struct link *self, const struct link_call *asked)
{
    enum { HEAD = 3 };
    const char *argv[HEAD + LINK_ARGS_MAX];
    size_t sizes[HEAD + LINK_ARGS_MAX];
    char keys[24];
    assert (asked->count <= LINK_ARGS_MAX);
    snprintf (keys, sizeof keys, "%zu", asked->keys);
    struct span head[HEAD] = {span_text ("EVALSHA"), span_text (self->sha[asked->script]),
                              span_text (keys)};
    for (size_t i = 0; i < asked->count + HEAD; i++) {
        struct span arg = i < HEAD ? head[i] : asked->args[i - HEAD];
        argv[i] = arg.size ? (const char *)arg.data : "";
        sizes[i] = arg.size;
    }
    struct call *call = memory_new (sizeof *call);
    *call = (struct call){.link = self,
                          .script = asked->script,
                          .repeat = asked->repeat,
                          .reply = asked->reply,
                          .owner = asked->owner};
    call->size = redisFormatCommandArgv (&call->text, (int)asked->count + HEAD, argv, sizes);
    if (call->size < 0)
        abort (); // memory
    return call;
}

void link_call (struct link *self, const struct link_call *asked)
{
    struct call *call = call_new (self, asked);
    if (can_send (self)) {
        send_call (self, call);
    } else if (call->repeat == LINK_REPEAT && !self->closing) {
        list_add (&self->waiting, call);
    } else {
        call->reply (call->owner, NULL);
        call_destroy (call);
    }
}

size_t link_pending (const struct link *self)
{
    return self->sent.count + self->waiting.count;
}

bool link_busy (const struct link *self)
{
    return self->sent.count >= BUSY_CALLS || self->sent.bytes >= BUSY_BYTES;
}

bool link_idle (const struct link *self)
{
    return self->sent.count < BUSY_CALLS / 2 && self->sent.bytes < BUSY_BYTES / 2;
}

// -- opening: AUTH, SELECT, INFO, CONFIG GET, the scripts; only then is the link up

static void send_setup (struct link *self, redisCallbackFn *reply, int argc, const char **argv)
{
    redisAsyncCommandArgv (self->context, reply, self, argc, argv, NULL);
}

static void on_setup_reply (redisAsyncContext *context, void *data, void *arg)
{
    const redisReply *reply = data;
    (void)context;
    if (reply && reply->type == REDIS_REPLY_ERROR)
        give_up (arg, reply->str);
}

static void load_script (struct link *self, enum script script)
{
    const char *argv[] = {"SCRIPT", "LOAD", script_texts[script].text};
    send_setup (self, on_setup_reply, 3, argv);
}

static void on_info (redisAsyncContext *context, void *data, void *arg)
{
    struct link *self = arg;
    const redisReply *reply = data;
    struct reason reason;
    (void)context;
    if (!reply || reply->type != REDIS_REPLY_STRING) {
        on_setup_reply (context, data, arg);
        return;
    }
    enum info_verdict verdict =
        redis_info_check (span_of (reply->str, reply->len),
                          self->config.accept_loss ? LOSS_ACCEPTED : LOSS_REFUSED, &reason);
    if (verdict == INFO_GOOD)
        return;
    give_up (self, reason.text);
    if (verdict == INFO_REFUSED)
        set_state (self, LINK_REFUSED);
}

// Only to tell people what an acknowledgement is worth: a user without CONFIG leaves it unknown.
static void on_fsync (redisAsyncContext *context, void *data, void *arg)
{
    struct link *self = arg;
    const redisReply *reply = data;
    (void)context;
    bool known = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2;
    snprintf (self->fsync, sizeof self->fsync, "%s", known ? reply->element[1]->str : "unknown");
}

static void on_scripts_loaded (redisAsyncContext *context, void *data, void *arg)
{
    struct link *self = arg;
    const redisReply *reply = data;
    if (!reply || reply->type == REDIS_REPLY_ERROR || self->broken) {
        on_setup_reply (context, data, arg);
        return;
    }
    self->backoff_us = BACKOFF_FIRST_US;
    self->trouble.text[0] = '\0';
    self->state = LINK_UP;
    // What waited goes out before anybody who is told of the link can call anew.
    for (struct call *call; (call = list_take (&self->waiting));)
        send_call (self, call);
    self->changed (self->owner, LINK_UP);
}

static void set_up (struct link *self)
{
    char db[24];
    const char *auth[] = {"AUTH", self->config.address.password};
    const char *select[] = {"SELECT", db};
    const char *info[] = {"INFO"};
    const char *fsync[] = {"CONFIG", "GET", "appendfsync"};
    const char *done[] = {"PING"};
    snprintf (db, sizeof db, "%" PRId64, self->config.db);
    if (self->config.address.password[0])
        send_setup (self, on_setup_reply, 2, auth);
    send_setup (self, on_setup_reply, 2, select);
    send_setup (self, on_info, 1, info);
    send_setup (self, on_fsync, 3, fsync);
    for (int script = 0; script < SCRIPTS; script++)
        load_script (self, (enum script)script);
    send_setup (self, on_scripts_loaded, 1, done);
}

static void on_connect (const redisAsyncContext *context, int status)
{
    struct link *self = context->data;
    if (status != REDIS_OK)
        reason_set (&self->trouble, "Redis: %s", context->errstr);
}

static void on_disconnect (const redisAsyncContext *context, int status)
{
    struct link *self = context->data;
    if (status != REDIS_OK && !self->trouble.text[0])
        reason_set (&self->trouble, "Redis: %s", context->errstr);
}

static void open_link (struct link *self)
{
    const struct address *address = &self->config.address;
    redisAsyncContext *context = address->kind == ADDRESS_TCP
                                     ? redisAsyncConnect (address->host, address->port)
                                     : redisAsyncConnectUnix (address->host);
    if (!context)
        abort (); // memory
    if (context->err) {
        reason_set (&self->trouble, "Redis: %s", context->errstr);
        redisAsyncFree (context);
        drop (self);
        return;
    }
    self->context = context;
    self->fd = context->c.fd;
    self->opened_us = clock_mono_us ();
    context->data = self;
    context->ev.data = self;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = on_cleanup;
    redisAsyncSetConnectCallback (context, on_connect);
    redisAsyncSetDisconnectCallback (context, on_disconnect);
    if (self->state != LINK_REFUSED)
        set_state (self, LINK_OPENING);
    set_up (self);
    settle (self);
}

static bool is_silent (const struct link *self, int64_t now)
{
    const struct call *oldest = self->sent.first;
    if (!oldest)
        return false;
    int64_t since = oldest->sent_us > self->heard_us ? oldest->sent_us : self->heard_us;
    return now - since > ANSWER_MAX_US;
}

// hiredis has no time-outs: they are here, for the whole link, by its oldest call.
static int on_tick (zloop_t *loop, int timer, void *arg)
{
    struct link *self = arg;
    (void)loop;
    (void)timer;
    int64_t now = clock_mono_us ();
    if (!self->context) {
        if (now >= self->retry_us)
            open_link (self);
        return 0;
    }
    // An answer that waits in the socket is none that is missing: this process may have been
    // stopped.
    if (is_silent (self, now))
        run_hiredis (self, IO_READ);
    if (self->state != LINK_UP && now - self->opened_us > CONNECT_MAX_US)
        give_up (self, "does not answer");
    else if (is_silent (self, now))
        give_up (self, "stopped answering");
    settle (self);
    return 0;
}

// -- life

struct link *link_new (const struct link_config *config, void *loop, link_state_fn *changed,
                       void *owner)
{
    struct link *self = memory_new (sizeof *self);
    self->config = *config;
    self->loop = loop;
    self->changed = changed;
    self->owner = owner;
    self->backoff_us = BACKOFF_FIRST_US;
    reason_set (&self->trouble, "Redis: not connected yet");
    for (int i = 0; i < SCRIPTS; i++) {
        zdigest_t *digest = zdigest_new ();
        zdigest_update (digest, (const byte *)script_texts[i].text, script_texts[i].size);
        snprintf (self->sha[i], sizeof self->sha[i], "%s", zdigest_string (digest));
        zdigest_destroy (&digest);
    }
    self->timer = zloop_timer (loop, TICK_MS, 0, on_tick, self);
    open_link (self);
    return self;
}

void link_destroy (struct link **self_p)
{
    struct link *self = *self_p;
    if (!self)
        return;
    self->closing = true;
    zloop_timer_end (self->loop, self->timer);
    run_hiredis (self, IO_CLOSE);
    for (struct call *call; (call = list_take (&self->waiting));) {
        call->reply (call->owner, NULL);
        call_destroy (call);
    }
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

const char *link_fsync (const struct link *self)
{
    return self->fsync;
}
