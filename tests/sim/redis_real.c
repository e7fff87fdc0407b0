// What redis_model.h says, by a real redis-server at the socket that OWNER_REDIS names: so the
// model is not wrong about it. Saving and rolling back are of the keys that a model has.
#include "redis_model.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { QUEUE_MAX = 64, OWNER_FIELDS_MAX = 16 };

static const char FENCED[] =
    "#!lua flags=allow-oom\n"
    "local found = redis.call('HMGET', KEYS[1], 'token', 'batch')\n"
    "if (found[1] or '') ~= ARGV[1] or (found[2] or '') ~= ARGV[2] then return false end\n"
    "redis.call('RPUSH', 'applied', ARGV[5])\n"
    "return redis.call('HSET', KEYS[1], 'token', ARGV[3], 'batch', ARGV[4])\n";

struct connection {
    redisContext *redis; // NULL = it has ended
    struct model_command sent[QUEUE_MAX];
    size_t sent_first, sent_count;
    size_t unread; // answers to what was delivered
};

struct redis_model {
    redisContext *admin;
    struct connection *connections;
    size_t count, room;
    redisReply *saved; // the hash, the list
    redisReply *items;
    const char *refusal;
};

static redisContext *connect_to (void)
{
    redisContext *redis = redisConnectUnix (getenv ("OWNER_REDIS"));
    if (!redis || redis->err) {
        fprintf (stderr, "redis: %s\n", redis ? redis->errstr : "no memory");
        abort ();
    }
    return redis;
}

static redisReply *ask (struct redis_model *self, const char *const *words, size_t count)
{
    redisReply *reply = redisCommandArgv (self->admin, (int)count, (const char **)words, NULL);
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        fprintf (stderr, "redis: %s: %s\n", words[0], reply ? reply->str : self->admin->errstr);
        abort ();
    }
    return reply;
}

#define ASK(...)                                                                                   \
    ask (self, (const char *[]){__VA_ARGS__},                                                      \
         sizeof ((const char *[]){__VA_ARGS__}) / sizeof (char *))

struct redis_model *redis_model_new (void)
{
    struct redis_model *self = memory_new (sizeof *self);
    self->admin = connect_to ();
    freeReplyObject (ASK ("FLUSHALL"));
    return self;
}

static void end_connections (struct redis_model *self)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->connections[i].redis)
            redisFree (self->connections[i].redis);
        self->connections[i].redis = NULL;
    }
    freeReplyObject (ASK ("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"));
}

static void forget (redisReply **reply)
{
    if (*reply)
        freeReplyObject (*reply);
    *reply = NULL;
}

void redis_model_destroy (struct redis_model **model)
{
    struct redis_model *self = *model;
    redis_model_refuse (self, NULL);
    end_connections (self);
    forget (&self->saved);
    forget (&self->items);
    redisFree (self->admin);
    free (self->connections);
    free (self);
    *model = NULL;
}

int redis_model_open (struct redis_model *self)
{
    if (self->count == self->room) {
        self->room = self->room ? 2 * self->room : 16;
        self->connections =
            memory_resize (self->connections, self->room * sizeof *self->connections);
    }
    self->connections[self->count] = (struct connection){.redis = connect_to ()};
    return (int)self->count++;
}

void redis_model_send (struct redis_model *self, int number, const struct model_command *command)
{
    struct connection *connection = &self->connections[number];
    if (connection->redis && connection->sent_count < QUEUE_MAX)
        connection->sent[(connection->sent_first + connection->sent_count++) % QUEUE_MAX] =
            *command;
}

size_t redis_model_pending (const struct redis_model *self, int number)
{
    return self->connections[number].redis ? self->connections[number].sent_count : 0;
}

static void append (redisContext *redis, const struct model_command *command)
{
    const char *words[MODEL_ARGS_MAX + 4];
    size_t count = 0, first = 0;
    if (strcmp (command->args[0], "FENCED") == 0) {
        words[count++] = "EVAL";
        words[count++] = FENCED;
        words[count++] = "1";
        words[count++] = "plan:owner";
        first = 1;
    }
    for (size_t i = first; i < command->count; i++)
        words[count++] = command->args[i];
    redisAppendCommandArgv (redis, (int)count, words, NULL);
}

void redis_model_deliver (struct redis_model *self, int number, size_t count)
{
    struct connection *connection = &self->connections[number];
    int done = 0;
    for (; connection->redis && count && connection->sent_count; count--) {
        append (connection->redis, &connection->sent[connection->sent_first]);
        connection->sent_first = (connection->sent_first + 1) % QUEUE_MAX;
        connection->sent_count--;
        connection->unread++;
    }
    while (connection->redis && !done && redisBufferWrite (connection->redis, &done) == REDIS_OK)
        ;
}

static void copy (char out[MODEL_TEXT_MAX], const redisReply *reply)
{
    snprintf (out, MODEL_TEXT_MAX, "%s", reply->type == REDIS_REPLY_NIL ? "" : reply->str);
}

bool redis_model_reply (struct redis_model *self, int number, struct model_reply *ret)
{
    struct connection *connection = &self->connections[number];
    redisReply *reply;
    if (!connection->redis || connection->unread == 0 ||
        redisGetReply (connection->redis, (void **)&reply) != REDIS_OK)
        return false;
    connection->unread--;
    *ret = (struct model_reply){.type = MODEL_OK, .count = reply->elements};
    if (reply->type == REDIS_REPLY_NIL)
        ret->type = MODEL_NIL;
    if (reply->type == REDIS_REPLY_ARRAY)
        ret->type = MODEL_TEXTS;
    if (reply->type == REDIS_REPLY_ERROR) {
        ret->type = MODEL_ERROR;
        copy (ret->texts[0], reply);
    }
    for (size_t i = 0; i < reply->elements && i < 2; i++)
        if (reply->element[i]->type == REDIS_REPLY_STRING)
            copy (ret->texts[i], reply->element[i]);
    freeReplyObject (reply);
    return true;
}

// -- what befalls it

// At one moment: what was delivered may be run meanwhile.
void redis_model_save (struct redis_model *self)
{
    forget (&self->saved);
    self->saved = ASK ("EVAL",
                       "return {redis.call('HGETALL', 'plan:owner'), "
                       "redis.call('LRANGE', 'applied', 0, -1)}",
                       "0");
}

static void put (struct redis_model *self, const char *command, const char *key,
                 const redisReply *values)
{
    enum { CHUNK = 500 };
    for (size_t first = 0; values && first < values->elements; first += CHUNK) {
        const char *words[2 + CHUNK] = {command, key};
        size_t count = 2;
        for (size_t i = first; i < values->elements && i < first + CHUNK; i++)
            words[count++] = values->element[i]->str;
        freeReplyObject (ask (self, words, count));
    }
}

// The data is what it was, of nothing where nothing was saved.
static void restore (struct redis_model *self, bool with_items)
{
    const char *refusal = self->refusal;
    redis_model_refuse (self, NULL);
    end_connections (self);
    freeReplyObject (ASK ("DEL", "plan:owner"));
    put (self, "HSET", "plan:owner", self->saved ? self->saved->element[0] : NULL);
    if (with_items) {
        freeReplyObject (ASK ("DEL", "applied"));
        put (self, "RPUSH", "applied", self->saved ? self->saved->element[1] : NULL);
    }
    redis_model_refuse (self, refusal);
}

void redis_model_roll_back (struct redis_model *self)
{
    restore (self, true);
}

void redis_model_flush (struct redis_model *self)
{
    forget (&self->saved);
    restore (self, false);
    redis_model_save (self);
}

void redis_model_refuse (struct redis_model *self, const char *error)
{
    bool oom = error && strncmp (error, "OOM", 3) == 0;
    if (error == self->refusal)
        return;
    self->refusal = error;
    freeReplyObject (ASK ("CONFIG", "SET", "maxmemory", oom ? "1" : "0"));
    freeReplyObject (ASK ("CONFIG", "SET", "min-replicas-to-write", error && !oom ? "1" : "0"));
}

// From the first one on they are read anew.
const char *redis_model_item (struct redis_model *self, size_t n)
{
    if (n == 0) {
        forget (&self->items);
        self->items = ASK ("LRANGE", "applied", "0", "-1");
    }
    return n < self->items->elements ? self->items->element[n]->str : NULL;
}
