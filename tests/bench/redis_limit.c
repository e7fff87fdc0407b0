// zplan-bench-redis: what Redis itself can do on this machine. The writes that the station's keys
// need at the least, and nothing else: in batches, so many of them under way at one time.
//   intake: MULTI, MSET of the messages, ZADD of the queue, ZADD of the index, EXEC
//   drain:  ZRANGEBYSCORE, MGET, and MULTI, ZREM, ZREM, UNLINK, an XADD each, EXEC
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "figures.h"
#include "memory.h"
#include "options.h"
#include "traffic.h"

enum { BATCH_MAX = 1024, KEY_SIZE = 40, MESSAGE_SIZE = 750, ARGS_MAX = 4 + 2 * BATCH_MAX };

static const char queue[] = "plan:time:set", ids[] = "plan:ids", history[] = "plan:history";

// A command in the making: its arguments are borrowed until it is appended.
struct request {
    const char *argv[ARGS_MAX];
    size_t sizes[ARGS_MAX];
    int count;
};

struct limit {
    redisContext *redis;
    int64_t plans, batch, depth; // in all; in a batch; batches under way
    char message[MESSAGE_SIZE];
    struct request request;
    char keys[BATCH_MAX][KEY_SIZE], entries[BATCH_MAX][KEY_SIZE], scores[BATCH_MAX][24];
};

// -- commands

static void add (struct request *self, const char *argument, size_t size)
{
    self->argv[self->count] = argument;
    self->sizes[self->count++] = size;
}

static void add_text (struct request *self, const char *argument)
{
    add (self, argument, strlen (argument));
}

static void start (struct request *self, const char *name, const char *key)
{
    self->count = 0;
    add_text (self, name);
    if (key)
        add_text (self, key);
}

static void append (struct limit *self)
{
    if (redisAppendCommandArgv (self->redis, self->request.count, self->request.argv,
                                self->request.sizes))
        fail ("Redis: %s", self->redis->errstr);
}

static void append_word (struct limit *self, const char *word)
{
    start (&self->request, word, NULL);
    append (self);
}

static void flush (struct limit *self)
{
    int done = 0;
    while (!done)
        if (redisBufferWrite (self->redis, &done))
            fail ("Redis: %s", self->redis->errstr);
}

static redisReply *next_reply (struct limit *self)
{
    void *reply;
    if (redisGetReply (self->redis, &reply))
        fail ("Redis: %s", self->redis->errstr);
    const redisReply *answer = reply;
    if (answer->type == REDIS_REPLY_ERROR)
        fail ("Redis: %s", answer->str);
    return reply;
}

static void skip_replies (struct limit *self, int count)
{
    for (int i = 0; i < count; i++)
        freeReplyObject (next_reply (self));
}

static redisReply *call (struct limit *self, const char *word, const char *key)
{
    start (&self->request, word, key);
    append (self);
    return next_reply (self);
}

// -- intake

// The ids ascend as the station's do; the number names the plan.
static void name_plan (struct limit *self, int64_t number, int64_t at)
{
    uint64_t id = UINT64_C (0x19c0000000000000) + ((uint64_t)number << 8);
    snprintf (self->keys[at], KEY_SIZE, "plan:msg:jobs:%" PRIx64, id);
    snprintf (self->entries[at], KEY_SIZE, "%016" PRIx64 ":jobs", id);
    snprintf (self->scores[at], sizeof self->scores[0], "%" PRId64, 1800000000 + number / 1000);
}

static void submit_batch (struct limit *self, int64_t first, int64_t count)
{
    struct request *request = &self->request;
    for (int64_t i = 0; i < count; i++)
        name_plan (self, first + i, i);
    append_word (self, "MULTI");
    start (request, "MSET", NULL);
    for (int64_t i = 0; i < count; i++) {
        add_text (request, self->keys[i]);
        add (request, self->message, sizeof self->message);
    }
    append (self);
    start (request, "ZADD", queue);
    for (int64_t i = 0; i < count; i++) {
        add_text (request, self->scores[i]);
        add_text (request, self->keys[i]);
    }
    append (self);
    start (request, "ZADD", ids);
    for (int64_t i = 0; i < count; i++) {
        add_text (request, "0");
        add_text (request, self->entries[i]);
    }
    append (self);
    append_word (self, "EXEC");
    flush (self);
}

enum { SUBMIT_REPLIES = 5 };

static int64_t intake (struct limit *self)
{
    int64_t begin = clock_mono_us (), under_way = 0;
    for (int64_t at = 0; at < self->plans; at += self->batch) {
        if (under_way++ >= self->depth)
            skip_replies (self, SUBMIT_REPLIES);
        int64_t left = self->plans - at;
        submit_batch (self, at, left < self->batch ? left : self->batch);
    }
    if (under_way > self->depth)
        under_way = self->depth;
    skip_replies (self, SUBMIT_REPLIES * (int)under_way);
    return clock_mono_us () - begin;
}

// -- drain

static void append_range (struct limit *self, int64_t offset)
{
    struct request *request = &self->request;
    char from[24], count[24];
    snprintf (from, sizeof from, "%" PRId64, offset);
    snprintf (count, sizeof count, "%" PRId64, self->batch);
    start (request, "ZRANGEBYSCORE", queue);
    add_text (request, "-inf");
    add_text (request, "+inf");
    add_text (request, "LIMIT");
    add_text (request, from);
    add_text (request, count);
    append (self);
}

static void add_names (struct request *request, const redisReply *names)
{
    for (size_t i = 0; i < names->elements; i++)
        add (request, names->element[i]->str, names->element[i]->len);
}

static void append_removal (struct limit *self, const redisReply *names)
{
    enum { KEY_HEAD = sizeof "plan:msg:jobs:" - 1 };
    struct request *request = &self->request;
    start (request, "ZREM", queue);
    add_names (request, names);
    append (self);
    start (request, "ZREM", ids);
    for (size_t i = 0; i < names->elements; i++) {
        snprintf (self->entries[i], KEY_SIZE, "%s:jobs", names->element[i]->str + KEY_HEAD);
        add_text (request, self->entries[i]);
    }
    append (self);
    start (request, "UNLINK", NULL);
    add_names (request, names);
    append (self);
}

static void append_records (struct limit *self, const redisReply *names)
{
    struct request *request = &self->request;
    for (size_t i = 0; i < names->elements; i++) {
        start (request, "XADD", history);
        add_text (request, "MAXLEN");
        add_text (request, "~");
        add_text (request, "100000");
        add_text (request, "*");
        add_text (request, "p");
        add_text (request, names->element[i]->str);
        add_text (request, "r");
        add (request, self->message, 100);
        append (self);
    }
}

// One turn: read the messages of this batch, write what became of the one before, and ask for the
// names of a later one. Returns how many replies it will have before the names.
static int append_turn (struct limit *self, const redisReply *names, const redisReply *before)
{
    int replies = 1;
    start (&self->request, "MGET", NULL);
    add_names (&self->request, names);
    append (self);
    if (before) {
        append_word (self, "MULTI");
        append_removal (self, before);
        append_records (self, before);
        append_word (self, "EXEC");
        replies += 5 + (int)before->elements;
    }
    // Behind what is left of the batches whose names are known.
    append_range (self, self->depth * self->batch);
    flush (self);
    return replies;
}

enum { DEPTH_MAX = 16 };

// Names are known of `depth` batches; as many turns are under way.
static int64_t drain (struct limit *self)
{
    redisReply *names[DEPTH_MAX + 1] = {NULL}; // [0]: the batch of the next turn
    redisReply *before = NULL;
    int replies[DEPTH_MAX], under_way = 0;
    int64_t begin = clock_mono_us (), known = self->depth;
    for (int64_t i = 0; i < known; i++) {
        append_range (self, i * self->batch);
        names[i] = next_reply (self);
    }
    while (known || under_way) {
        if (known && names[0]->elements == 0) {
            // The end: what is left in the queue is the batch before.
            freeReplyObject (names[0]);
            memmove (names, names + 1, DEPTH_MAX * sizeof *names);
            known--;
            continue;
        }
        if (known) {
            replies[under_way++] = append_turn (self, names[0], before);
            if (before)
                freeReplyObject (before);
            before = names[0];
            memmove (names, names + 1, DEPTH_MAX * sizeof *names);
            known--;
        }
        if (known < 1 || under_way >= self->depth) {
            skip_replies (self, replies[0]);
            names[known++] = next_reply (self);
            memmove (replies, replies + 1, sizeof replies - sizeof *replies);
            under_way--;
        }
    }
    if (before) {
        append_word (self, "MULTI");
        append_removal (self, before);
        append_records (self, before);
        append_word (self, "EXEC");
        flush (self);
        skip_replies (self, 5 + (int)before->elements);
        freeReplyObject (before);
    }
    return clock_mono_us () - begin;
}

// -- the program

static const char *const names[] = {"redis", "plans", "batch", "in_flight", NULL};

static void open_redis (struct limit *self, const char *address)
{
    static const char prefix[] = "unix:";
    size_t size = sizeof prefix - 1;
    if (strncmp (address, prefix, size) != 0)
        fail ("--redis: want unix:PATH");
    self->redis = redisConnectUnix (address + size);
    if (!self->redis || self->redis->err)
        fail ("cannot connect to Redis at '%s'", address);
    redisReply *size_reply = call (self, "DBSIZE", NULL);
    if (size_reply->integer)
        fail ("that Redis is not empty");
    freeReplyObject (size_reply);
}

static int measure (const struct options *options)
{
    struct limit *self = memory_new (sizeof *self);
    self->plans = options->plans;
    self->batch = options->batch;
    self->depth = options->in_flight;
    memset (self->message, 'x', sizeof self->message);
    open_redis (self, options->redis);
    int64_t intake_us = intake (self), drain_us = drain (self);
    freeReplyObject (call (self, "UNLINK", history));
    redisReply *left = call (self, "DBSIZE", NULL);
    result_begin ("redis_limit");
    result_integer ("plans", self->plans);
    result_integer ("left", left->integer);
    result_real ("intake_per_s", rate_of (self->plans, intake_us));
    result_real ("drain_per_s", rate_of (self->plans, drain_us));
    result_real ("own_cpu_s", cpu_seconds ());
    result_end ();
    int status = left->integer ? 1 : 0;
    freeReplyObject (left);
    redisFree (self->redis);
    free (self);
    return status;
}

int main (int argc, char **argv)
{
    struct options options;
    struct reason reason;
    switch (options_read (names, argc - 1, argv + 1, &options, &reason)) {
    case OPTIONS_READ:
        return measure (&options);
    case OPTIONS_HELP:
        puts ("zplan-bench-redis: what Redis itself takes and gives, at most\n");
        options_print (names);
        return 0;
    case OPTIONS_WRONG:
        break;
    }
    fprintf (stderr, "zplan-bench-redis: %s (try --help)\n", reason.text);
    return 2;
}
