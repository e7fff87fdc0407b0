// The commands of a simulated Redis.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "redis_data_private.h"

// -- answers

redisReply *reply_new (struct arena *arena, int type)
{
    redisReply *reply = arena_take (arena, sizeof *reply);
    memset (reply, 0, sizeof *reply);
    reply->type = type;
    return reply;
}

static redisReply *reply_text (struct arena *arena, int type, struct span text)
{
    redisReply *reply = reply_new (arena, type);
    reply->str = (char *)(uintptr_t)arena_copy (arena, text).data;
    reply->len = text.size;
    return reply;
}

redisReply *reply_error (struct arena *arena, const char *text)
{
    return reply_text (arena, REDIS_REPLY_ERROR, span_text (text));
}

static redisReply *reply_integer (struct arena *arena, long long value)
{
    redisReply *reply = reply_new (arena, REDIS_REPLY_INTEGER);
    reply->integer = value;
    return reply;
}

static redisReply *reply_array (struct arena *arena, size_t count)
{
    redisReply *reply = reply_new (arena, REDIS_REPLY_ARRAY);
    reply->elements = count;
    reply->element = arena_take (arena, (count + 1) * sizeof *reply->element);
    return reply;
}

static redisReply *reply_value (struct arena *arena, const struct entry *entry)
{
    return entry ? reply_text (arena, REDIS_REPLY_STRING, span_of (entry->value, entry->value_size))
                 : reply_new (arena, REDIS_REPLY_NIL);
}

static redisReply *reply_score (struct arena *arena, const struct entry *entry)
{
    char text[40];
    if (!entry)
        return reply_new (arena, REDIS_REPLY_NIL);
    int size = snprintf (text, sizeof text, "%" PRId64 ".%06" PRId64, entry->score_us / 1000000,
                         entry->score_us % 1000000);
    return reply_text (arena, REDIS_REPLY_STRING, span_of (text, (size_t)size));
}

// -- a command at work

struct call {
    struct redis_data *data;
    const struct span *words;
    size_t count;
    int64_t now_us;
    struct arena *arena;
};

static int64_t number_of (struct span text)
{
    char copy[40];
    snprintf (copy, sizeof copy, "%.*s", (int)text.size, (const char *)text.data);
    return strtoll (copy, NULL, 10);
}

static int64_t score_of (struct span text)
{
    int64_t score = 0, unit = 1000000;
    size_t at = 0;
    for (; at < text.size && text.data[at] != '.'; at++)
        score = 10 * score + text.data[at] - '0';
    if (score > INT64_MAX / 1000000)
        return score; // of plan:wait: microseconds, which have their order among themselves
    score *= 1000000;
    for (at++; at < text.size && unit > 1; at++)
        score += (text.data[at] - '0') * (unit /= 10);
    return score;
}

static const struct entry *field_of (const struct call *call, size_t key, size_t field)
{
    return entry_find (call->data, key_find (call->data, call->words[key]), call->words[field]);
}

static redisReply *ok (const struct call *call)
{
    return reply_text (call->arena, REDIS_REPLY_STATUS, span_text ("OK"));
}

// -- strings

static redisReply *run_mset (const struct call *call)
{
    for (size_t i = 1; i + 1 < call->count; i += 2) {
        const struct key *key = key_find (call->data, call->words[i]);
        if (key && key->kind != KIND_STRING)
            key_drop (call->data, call->words[i]);
        entry_set (call->data, call->words[i], KIND_STRING, (struct span){0}, call->words[i + 1],
                   0);
    }
    return ok (call);
}

static const struct entry *string_of (const struct call *call, struct span name)
{
    const struct key *key = key_find (call->data, name);
    return key && key->kind == KIND_STRING ? key->first : NULL;
}

static redisReply *run_get (const struct call *call)
{
    return reply_value (call->arena, string_of (call, call->words[1]));
}

static redisReply *run_mget (const struct call *call)
{
    redisReply *reply = reply_array (call->arena, call->count - 1);
    for (size_t i = 1; i < call->count; i++)
        reply->element[i - 1] = reply_value (call->arena, string_of (call, call->words[i]));
    return reply;
}

static redisReply *run_setrange (const struct call *call)
{
    const struct entry *entry = string_of (call, call->words[1]);
    struct span part = call->words[3];
    size_t at = (size_t)number_of (call->words[2]), size = entry ? entry->value_size : 0;
    size_t whole = at + part.size > size ? at + part.size : size;
    uint8_t *text = memory_new (whole + 1);
    if (size)
        memcpy (text, entry->value, size);
    memcpy (text + at, part.data, part.size);
    entry_set (call->data, call->words[1], KIND_STRING, (struct span){0}, span_of (text, whole), 0);
    free (text);
    return reply_integer (call->arena, (long long)whole);
}

static redisReply *run_del (const struct call *call)
{
    long long dropped = 0;
    for (size_t i = 1; i < call->count; i++)
        dropped += key_drop (call->data, call->words[i]);
    return reply_integer (call->arena, dropped);
}

static redisReply *run_exists (const struct call *call)
{
    return reply_integer (call->arena, key_find (call->data, call->words[1]) != NULL);
}

// -- hashes

static redisReply *run_hset (const struct call *call)
{
    long long added = 0;
    for (size_t i = 2; i + 1 < call->count; i += 2) {
        added += !field_of (call, 1, i);
        entry_set (call->data, call->words[1], KIND_HASH, call->words[i], call->words[i + 1], 0);
    }
    return reply_integer (call->arena, added);
}

static redisReply *run_remove (const struct call *call) // HDEL, ZREM
{
    long long dropped = 0;
    for (size_t i = 2; i < call->count; i++)
        dropped += entry_drop (call->data, call->words[1], call->words[i]);
    return reply_integer (call->arena, dropped);
}

static redisReply *run_hget (const struct call *call)
{
    return reply_value (call->arena, field_of (call, 1, 2));
}

static redisReply *run_hmget (const struct call *call)
{
    redisReply *reply = reply_array (call->arena, call->count - 2);
    for (size_t i = 2; i < call->count; i++)
        reply->element[i - 2] = reply_value (call->arena, field_of (call, 1, i));
    return reply;
}

static redisReply *run_hgetall (const struct call *call)
{
    const struct key *key = key_find (call->data, call->words[1]);
    redisReply *reply = reply_array (call->arena, key ? 2 * key->count : 0);
    size_t at = 0;
    for (const struct entry *entry = key ? key->first : NULL; entry; entry = entry->next) {
        reply->element[at++] =
            reply_text (call->arena, REDIS_REPLY_STRING, span_of (entry->name, entry->name_size));
        reply->element[at++] = reply_value (call->arena, entry);
    }
    return reply;
}

static redisReply *run_hincrby (const struct call *call)
{
    const struct entry *entry = field_of (call, 1, 2);
    char text[24], *end = "";
    long long value = entry ? strtoll (entry->value, &end, 10) : 0;
    if (*end)
        return reply_error (call->arena, "ERR hash value is not an integer");
    value += number_of (call->words[3]);
    int size = snprintf (text, sizeof text, "%lld", value);
    entry_set (call->data, call->words[1], KIND_HASH, call->words[2], span_of (text, (size_t)size),
               0);
    return reply_integer (call->arena, value);
}

// -- sorted sets

static redisReply *run_zadd (const struct call *call)
{
    long long added = 0;
    for (size_t i = 2; i + 1 < call->count; i += 2) {
        added += !field_of (call, 1, i + 1);
        entry_set (call->data, call->words[1], KIND_SORTED, call->words[i + 1], (struct span){0},
                   score_of (call->words[i]));
    }
    return reply_integer (call->arena, added);
}

static redisReply *run_zscore (const struct call *call)
{
    return reply_score (call->arena, field_of (call, 1, 2));
}

static redisReply *run_zmscore (const struct call *call)
{
    redisReply *reply = reply_array (call->arena, call->count - 2);
    for (size_t i = 2; i < call->count; i++)
        reply->element[i - 2] = reply_score (call->arena, field_of (call, 1, i));
    return reply;
}

static redisReply *run_zcard (const struct call *call)
{
    const struct key *key = key_find (call->data, call->words[1]);
    return reply_integer (call->arena, key ? (long long)key->count : 0);
}

// From -inf.
static redisReply *run_zcount (const struct call *call)
{
    const struct key *key = key_find (call->data, call->words[1]);
    int64_t until_us = score_of (call->words[3]);
    long long count = 0;
    for (const struct entry *entry = key ? key->first : NULL; entry; entry = entry->next)
        count += entry->score_us <= until_us;
    return reply_integer (call->arena, count);
}

static int compare (const void *one, const void *other)
{
    const struct entry *a = *(const struct entry *const *)one;
    const struct entry *b = *(const struct entry *const *)other;
    if (a->score_us != b->score_us)
        return a->score_us < b->score_us ? -1 : 1;
    return strcmp (a->name, b->name);
}

// The members behind this place, in their order. Free the array.
static const struct entry **sorted (const struct call *call, const struct key *key,
                                    const int64_t *score_us, struct span member, size_t *ret_count)
{
    const struct entry **members =
        memory_resize (NULL, (key ? key->count + 1 : 1) * sizeof *members);
    size_t count = 0;
    (void)call;
    for (const struct entry *entry = key ? key->first : NULL; entry; entry = entry->next) {
        bool behind = !score_us || entry->score_us > *score_us ||
                      (entry->score_us == *score_us && member.size &&
                       strcmp (entry->name, (const char *)member.data) > 0);
        if (behind)
            members[count++] = entry;
    }
    qsort (members, count, sizeof *members, compare);
    *ret_count = count;
    return members;
}

static redisReply *run_zrange (const struct call *call)
{
    size_t count, last = (size_t)number_of (call->words[3]) + 1;
    const struct key *key = key_find (call->data, call->words[1]);
    const struct entry **members = sorted (call, key, NULL, (struct span){0}, &count);
    count = last < count ? last : count;
    redisReply *reply = reply_array (call->arena, count);
    for (size_t i = 0; i < count; i++)
        reply->element[i] = reply_text (call->arena, REDIS_REPLY_STRING,
                                        span_of (members[i]->name, members[i]->name_size));
    free (members);
    return reply;
}

// What the script page.lua answers: PAGE queue classes score member most.
static redisReply *run_page (const struct call *call)
{
    const struct key *key = key_find (call->data, call->words[1]);
    const struct key *classes = key_find (call->data, call->words[2]);
    int64_t score_us = number_of (call->words[3]);
    size_t count, most = (size_t)number_of (call->words[5]);
    const struct entry **members =
        sorted (call, key, call->words[3].size ? &score_us : NULL, call->words[4], &count);
    count = most < count ? most : count;
    redisReply *reply = reply_array (call->arena, 3 * count);
    for (size_t i = 0; i < count; i++) {
        struct span name = span_of (members[i]->name, members[i]->name_size);
        const struct entry *class = entry_find (call->data, classes, name);
        reply->element[3 * i] = reply_text (call->arena, REDIS_REPLY_STRING, name);
        reply->element[3 * i + 1] = reply_score (call->arena, members[i]);
        reply->element[3 * i + 2] =
            class ? reply_value (call->arena, class)
                  : reply_text (call->arena, REDIS_REPLY_STRING, (struct span){0});
    }
    free (members);
    return reply;
}

// -- lists and streams

static redisReply *run_rpush (const struct call *call)
{
    char name[24];
    const struct key *key = key_find (call->data, call->words[1]);
    int size = snprintf (name, sizeof name, "%zu", key ? key->count : 0);
    entry_set (call->data, call->words[1], KIND_LIST, span_of (name, (size_t)size), call->words[2],
               0);
    return reply_integer (call->arena, key ? (long long)key->count : 1);
}

static void entry_id (struct span text, int64_t *ret_seq, int64_t *ret_sub)
{
    const uint8_t *dash = memchr (text.data, '-', text.size);
    size_t size = dash ? (size_t)(dash - text.data) : text.size;
    *ret_seq = number_of (span_of (text.data, size));
    *ret_sub = dash ? number_of (span_of (dash + 1, text.size - size - 1)) : 0;
}

static redisReply *run_xadd (const struct call *call)
{
    int64_t seq, sub, last_seq, last_sub;
    struct span last;
    entry_id (call->words[2], &seq, &sub);
    if (redis_data_get (call->data, call->words[1], span_text ("last"), &last)) {
        entry_id (last, &last_seq, &last_sub);
        if (seq < last_seq || (seq == last_seq && sub <= last_sub))
            return reply_error (call->arena,
                                "ERR The ID specified in XADD is equal or smaller than "
                                "the target stream top item");
    }
    const struct entry *entries =
        entry_find (call->data, key_find (call->data, call->words[1]), span_text ("entries"));
    entry_set (call->data, call->words[1], KIND_STREAM, span_text ("last"), call->words[2], 0);
    entry_set (call->data, call->words[1], KIND_STREAM, span_text ("entries"), (struct span){0},
               entries ? entries->score_us + 1 : 1);
    return reply_text (call->arena, REDIS_REPLY_STRING, call->words[2]);
}

static redisReply *run_xtrim (const struct call *call)
{
    struct entry *entries =
        entry_find (call->data, key_find (call->data, call->words[1]), span_text ("entries"));
    int64_t most = number_of (call->words[call->count - 1]);
    if (entries && span_is (call->words[2], "MAXLEN") && entries->score_us > most)
        entry_set (call->data, call->words[1], KIND_STREAM, span_text ("entries"), (struct span){0},
                   most);
    return reply_integer (call->arena, 0);
}

// The newest only.
static redisReply *run_xrevrange (const struct call *call)
{
    struct span last;
    bool there = redis_data_get (call->data, call->words[1], span_text ("last"), &last);
    redisReply *reply = reply_array (call->arena, there);
    if (!there)
        return reply;
    reply->element[0] = reply_array (call->arena, 1);
    reply->element[0]->element[0] = reply_text (call->arena, REDIS_REPLY_STRING, last);
    return reply;
}

// Of one key: that of the last call.
static redisReply *run_pexpire (const struct call *call)
{
    struct redis_data *data = call->data;
    bool there = key_find (data, call->words[1]) != NULL;
    if (there) {
        snprintf (data->expiring, sizeof data->expiring, "%.*s", (int)call->words[1].size,
                  (const char *)call->words[1].data);
        data->expires_us = call->now_us + 1000 * number_of (call->words[2]);
    }
    return reply_integer (call->arena, there);
}

struct span redis_data_expired (const struct redis_data *self, int64_t now_us)
{
    bool over = *self->expiring && now_us >= self->expires_us &&
                key_find (self, span_text (self->expiring));
    return span_text (over ? self->expiring : "");
}

static redisReply *run_time (const struct call *call)
{
    char text[24];
    redisReply *reply = reply_array (call->arena, 2);
    const int64_t parts[] = {call->now_us / 1000000, call->now_us % 1000000};
    for (size_t i = 0; i < 2; i++) {
        int size = snprintf (text, sizeof text, "%" PRId64, parts[i]);
        reply->element[i] =
            reply_text (call->arena, REDIS_REPLY_STRING, span_of (text, (size_t)size));
    }
    return reply;
}

// -- all of them

enum { ANY_KIND = -1 };

static const struct command {
    const char *name;
    redisReply *(*run) (const struct call *call);
    int kind; // of its key
    bool writes;
} commands[] = {
    {"MSET", run_mset, ANY_KIND, true},
    {"SET", run_mset, ANY_KIND, true},
    {"GET", run_get, KIND_STRING, false},
    {"MGET", run_mget, ANY_KIND, false},
    {"DEL", run_del, ANY_KIND, true},
    {"EXISTS", run_exists, ANY_KIND, false},
    {"SETRANGE", run_setrange, KIND_STRING, true},
    {"HSET", run_hset, KIND_HASH, true},
    {"HDEL", run_remove, KIND_HASH, true},
    {"HGET", run_hget, KIND_HASH, false},
    {"HMGET", run_hmget, KIND_HASH, false},
    {"HGETALL", run_hgetall, KIND_HASH, false},
    {"HINCRBY", run_hincrby, KIND_HASH, true},
    {"ZADD", run_zadd, KIND_SORTED, true},
    {"ZREM", run_remove, KIND_SORTED, true},
    {"ZSCORE", run_zscore, KIND_SORTED, false},
    {"ZMSCORE", run_zmscore, KIND_SORTED, false},
    {"ZCARD", run_zcard, KIND_SORTED, false},
    {"ZCOUNT", run_zcount, KIND_SORTED, false},
    {"ZRANGE", run_zrange, KIND_SORTED, false},
    {"PAGE", run_page, KIND_SORTED, false},
    {"RPUSH", run_rpush, KIND_LIST, true},
    {"XADD", run_xadd, KIND_STREAM, true},
    {"XTRIM", run_xtrim, KIND_STREAM, true},
    {"XREVRANGE", run_xrevrange, KIND_STREAM, false},
    {"TIME", run_time, ANY_KIND, false},
    {"PEXPIRE", run_pexpire, ANY_KIND, true},
};

static const struct command *command_of (struct span name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (span_is (name, commands[i].name))
            return &commands[i];
    return NULL;
}

bool redis_data_writes (struct span name)
{
    const struct command *command = command_of (name);
    return command && command->writes;
}

redisReply *redis_data_run (struct redis_data *self, const struct span *words, size_t count,
                            int64_t now_us, struct arena *arena)
{
    const struct call call = {self, words, count, now_us, arena};
    const struct command *command = command_of (words[0]);
    if (!command) {
        fprintf (stderr, "the model has no %.*s\n", (int)words[0].size,
                 (const char *)words[0].data);
        abort ();
    }
    const struct key *key = command->kind == ANY_KIND ? NULL : key_find (self, words[1]);
    if (key && (int)key->kind != command->kind)
        return reply_error (arena, "WRONGTYPE Operation against a key holding the wrong kind of "
                                   "value");
    return command->run (&call);
}
