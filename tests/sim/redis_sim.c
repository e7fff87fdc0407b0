#include "redis_sim.h"

#include <stdlib.h>

#include "memory.h"

#define KEY_OWNER "plan:owner"

struct redis_link {
    struct redis_link *next;
    int client;
    bool ended;
    char watched[2][32]; // keys, "" = none
    bool broken;         // one of them was changed
    bool multi, failed;
    size_t first;  // of the packet at work: the word behind MULTI
    size_t queued; // commands behind it
};

struct redis_sim {
    struct redis_observer observer;
    struct redis_data *data;
    struct redis_link *links;
    const char *refusal;
};

struct redis_sim *redis_sim_new (const struct redis_observer *observer)
{
    struct redis_sim *self = memory_new (sizeof *self);
    self->observer = *observer;
    self->data = redis_data_new ();
    return self;
}

void redis_sim_destroy (struct redis_sim **self_p)
{
    struct redis_sim *self = *self_p;
    for (struct redis_link *link; (link = self->links);)
        redis_sim_close (self, &link);
    redis_data_destroy (&self->data);
    free (self);
    *self_p = NULL;
}

struct redis_data *redis_sim_data (struct redis_sim *self)
{
    return self->data;
}

struct redis_link *redis_sim_open (struct redis_sim *self, int client)
{
    struct redis_link *link = memory_new (sizeof *link);
    link->client = client;
    link->next = self->links;
    self->links = link;
    return link;
}

void redis_sim_close (struct redis_sim *self, struct redis_link **link)
{
    struct redis_link **at = &self->links;
    while (*at != *link)
        at = &(*at)->next;
    *at = (*link)->next;
    free (*link);
    *link = NULL;
}

bool redis_link_ended (const struct redis_link *link)
{
    return link->ended;
}

void redis_sim_end_links (struct redis_sim *self)
{
    for (struct redis_link *link = self->links; link; link = link->next)
        link->ended = true;
}

void redis_sim_refuse (struct redis_sim *self, const char *error)
{
    self->refusal = error;
}

const char *redis_sim_refusal (const struct redis_sim *self)
{
    return self->refusal;
}

// -- writes

// Whoever watches a key does not get what it does under the watch.
static void touched (struct redis_sim *self, struct span key)
{
    for (struct redis_link *link = self->links; link; link = link->next)
        link->broken =
            link->broken ||
            (key.size && (span_is (key, link->watched[0]) || span_is (key, link->watched[1])));
}

static void touch_all (struct redis_sim *self)
{
    for (struct redis_link *link = self->links; link; link = link->next)
        link->broken = link->broken || link->watched[0][0];
}

static redisReply *apply (struct redis_sim *self, const struct span *words, size_t count,
                          int64_t redis_us, struct arena *arena)
{
    bool writes = redis_data_writes (words[0]);
    if (writes)
        self->observer.applies (self->observer.owner, words, count);
    redisReply *reply = redis_data_run (self->data, words, count, redis_us, arena);
    if (writes)
        touched (self, words[1]); // the keys that are watched are written alone
    return reply;
}

static void begin (struct redis_sim *self, int client)
{
    self->observer.begins (self->observer.owner, client, redis_data_begin (self->data));
}

static redisReply *array_of (struct arena *arena, size_t count)
{
    redisReply *reply = reply_new (arena, REDIS_REPLY_ARRAY);
    reply->elements = count;
    reply->element = arena_take (arena, (count + 1) * sizeof *reply->element);
    return reply;
}

static void unwatch (struct redis_link *link)
{
    link->watched[0][0] = link->watched[1][0] = '\0';
    link->broken = link->multi = link->failed = false;
}

static redisReply *run_exec (struct redis_sim *self, struct redis_link *link,
                             const struct redis_packet *packet, size_t command, int64_t redis_us)
{
    struct arena *arena = (struct arena *)(uintptr_t)&packet->arena;
    bool failed = link->failed, broken = link->broken;
    const struct span *word = packet->words + link->first;
    unwatch (link);
    if (failed)
        return reply_error (arena, "EXECABORT Transaction discarded because of previous errors.");
    if (broken)
        return reply_new (arena, REDIS_REPLY_NIL);
    redisReply *reply = array_of (arena, link->queued);
    begin (self, link->client);
    for (size_t i = 0; i < link->queued; i++) {
        size_t count = packet->sizes[command - link->queued + i];
        reply->element[i] = apply (self, word, count, redis_us, arena);
        word += count;
    }
    self->observer.ends (self->observer.owner);
    return reply;
}

// The script rows.lua: EVAL text 1 key token batch, then of each command its size and its words.
static redisReply *run_rows (struct redis_sim *self, struct redis_link *link,
                             const struct span *words, size_t count, int64_t redis_us,
                             struct arena *arena)
{
    enum { KEY = 3, TOKEN, BATCH, ROWS };
    struct span token, batch;
    redis_data_get (self->data, words[KEY], span_text ("token"), &token);
    redis_data_get (self->data, words[KEY], span_text ("batch"), &batch);
    if (!span_equal (token, words[TOKEN]) || !span_equal (batch, words[BATCH]))
        return reply_new (arena, REDIS_REPLY_NIL);
    redisReply *reply = array_of (arena, count);
    reply->elements = 0;
    begin (self, link->client);
    for (size_t at = ROWS, size; at < count; at += size + 1) {
        size = (size_t)strtoul ((const char *)words[at].data, NULL, 10);
        reply->element[reply->elements++] = apply (self, words + at + 1, size, redis_us, arena);
    }
    self->observer.ends (self->observer.owner);
    return reply;
}

// -- commands

static bool is_refused (const struct redis_sim *self, const struct redis_link *link,
                        struct span command)
{
    if (!self->refusal)
        return false;
    if (strncmp (self->refusal, "LOADING", 7) == 0)
        return true;
    bool full = strncmp (self->refusal, "OOM", 3) == 0;
    if (span_is (command, "EVAL"))
        return !full; // it may write then
    return redis_data_writes (command) || (full && link->multi && !span_is (command, "EXEC"));
}

static redisReply *status (struct arena *arena, const char *text)
{
    redisReply *reply = reply_error (arena, text);
    reply->type = REDIS_REPLY_STATUS;
    return reply;
}

static redisReply *watch (struct redis_link *link, struct arena *arena, struct span key)
{
    char *place = link->watched[link->watched[0][0] && !span_is (key, link->watched[0])];
    size_t size = key.size < sizeof link->watched[0] ? key.size : sizeof link->watched[0] - 1;
    memcpy (place, key.data, size);
    place[size] = '\0';
    return status (arena, "OK");
}

static redisReply *run (struct redis_sim *self, struct redis_link *link,
                        struct redis_packet *packet, size_t command, const struct span *words,
                        int64_t redis_us)
{
    struct arena *arena = &packet->arena;
    size_t count = packet->sizes[command];
    if (is_refused (self, link, words[0])) {
        link->failed = link->failed || link->multi;
        if (span_is (words[0], "EXEC"))
            unwatch (link);
        return reply_error (arena, self->refusal);
    }
    if (span_is (words[0], "EXEC"))
        return run_exec (self, link, packet, command, redis_us);
    if (link->multi) {
        link->queued++;
        return status (arena, "QUEUED");
    }
    if (span_is (words[0], "MULTI")) {
        link->multi = true;
        link->queued = 0;
        link->first = (size_t)(words - packet->words) + 1;
        return status (arena, "OK");
    }
    if (span_is (words[0], "WATCH"))
        return watch (link, arena, words[1]);
    if (span_is (words[0], "UNWATCH")) {
        unwatch (link);
        return status (arena, "OK");
    }
    if (span_is (words[0], "EVAL"))
        return run_rows (self, link, words, count, redis_us, arena);
    return redis_data_run (self->data, words, count, redis_us, arena);
}

void redis_sim_run (struct redis_sim *self, struct redis_link *link, struct redis_packet *packet,
                    int64_t redis_us)
{
    const struct span *word = packet->words;
    struct span expired = redis_data_expired (self->data, redis_us);
    if (expired.size) // Redis deletes it by a command
        redis_sim_edit (self, (const struct span[]){span_text ("DEL"), expired}, 2, redis_us);
    for (size_t i = 0; i < packet->count; word += packet->sizes[i++])
        packet->replies[i] = run (self, link, packet, i, word, redis_us);
    if (link->multi) // the rest of it was lost
        unwatch (link);
}

void redis_sim_edit (struct redis_sim *self, const struct span *words, size_t count,
                     int64_t redis_us)
{
    struct arena arena = {0};
    begin (self, -1);
    apply (self, words, count, redis_us, &arena);
    self->observer.ends (self->observer.owner);
    arena_free (&arena);
}

// -- what befalls it

void redis_sim_back (struct redis_sim *self, size_t steps)
{
    redis_data_back (self->data, steps);
    touch_all (self);
}

void redis_sim_flush (struct redis_sim *self)
{
    redis_data_flush (self->data);
    touch_all (self);
}
