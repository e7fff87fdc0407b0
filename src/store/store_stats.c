// Statistics of the database, and which stations are present.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "store_private.h"

// A call of store_stats: its commands are sent together and answered in order.
struct stats_call {
    struct store *store;
    size_t at; // index of the next answer
    struct store_stats answer;
    int64_t oldest; // seq of the oldest outcome in the history; 0 = unknown
    store_stats_fn *reply;
    void *owner;
};

static void set_next_score (struct stats_call *self, const redisReply *reply)
{
    if (!reply_is_array (reply, 2))
        return;
    struct span score = reply_text (reply->element[1]);
    self->answer.next = score.size ? fmin (fmax (strtod ((const char *)score.data, NULL), 0),
                                           (double)SCHEDULE_TIME_MAX)
                                   : 0;
}

// Set the seq of the oldest outcome. An entry may hold several outcomes, and has the id of the
// last.
static void set_oldest_seq (struct stats_call *self, const redisReply *reply)
{
    enum { OUTCOMES_MAX = 1000 }; // history.lua
    uint64_t seq, sub;
    int64_t size = 1;
    if (!reply_is_array (reply, 1) || !reply_is_array (reply->element[0], 2))
        return;
    const redisReply *entry = reply->element[0], *fields = entry->element[1];
    if (reply_field (fields, "n"))
        size = reply_number (reply_field (fields, "n"));
    if (size < 1 || size > OUTCOMES_MAX)
        size = 1; // out of range: no station writes that
    if (history_entry_parse (reply_text (entry->element[0]), &seq, &sub))
        self->oldest = (int64_t)seq - size + 1;
}

static void set_memory (struct stats_call *self, const redisReply *reply)
{
    struct span text = reply_text (reply);
    const char *at = text.size ? memmem (text.data, text.size, "used_memory:", 12) : NULL;
    self->answer.memory = at ? strtoll (at + 12, NULL, 10) : 0;
}

enum { PLANS, QUEUED, DUE, RUNNING, OUTCOMES, STOPPED, DEAD, OLDEST, NEXT, MEMORY, STATS_COMMANDS };

// Process the next answer; after the last one, answer the caller.
static void on_stats_answer (void *owner, const redisReply *reply)
{
    struct stats_call *self = owner;
    struct store_stats *answer = &self->answer;
    int64_t *const numbers[] = {
        [PLANS] = &answer->plans,     [QUEUED] = &answer->queued,     [DUE] = &answer->due,
        [RUNNING] = &answer->running, [OUTCOMES] = &answer->outcomes, [STOPPED] = &answer->stopped,
        [DEAD] = &answer->dead};
    size_t at = self->at++;
    if (!reply)
        answer->result = STORE_LOST;
    else if (at <= DEAD)
        *numbers[at] = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    else if (at == OLDEST)
        set_oldest_seq (self, reply);
    else if (at == NEXT)
        set_next_score (self, reply);
    else
        set_memory (self, reply);
    if (self->at < STATS_COMMANDS)
        return;
    struct core *core = self->store->core;
    answer->seq = core_seq (core);
    answer->epoch = span_text (core_epoch (core));
    if (self->oldest && answer->seq - self->oldest + 1 > answer->outcomes)
        answer->outcomes = answer->seq - self->oldest + 1;
    self->reply (self->owner, answer);
    free (self);
}

void store_stats (struct store *self, store_stats_fn *reply, void *owner)
{
    struct stats_call *stats_call = memory_new (sizeof *stats_call);
    *stats_call =
        (struct stats_call){.store = self, .answer = {.error = ""}, .reply = reply, .owner = owner};
    const char *const commands[STATS_COMMANDS][7] = {
        [PLANS] = {"ZCARD", KEY_INDEX},
        [QUEUED] = {"ZCARD", KEY_TIME_SET},
        [DUE] = {"ZCOUNT", KEY_TIME_SET, "-inf", (const char *)SCORE (store_now_us (self)).data},
        [RUNNING] = {"HLEN", KEY_RUNS},
        [OUTCOMES] = {"XLEN", KEY_HISTORY},
        [STOPPED] = {"ZCARD", KEY_STOPPED},
        [DEAD] = {"ZCARD", KEY_DEAD},
        [OLDEST] = {"XRANGE", KEY_HISTORY, "-", "+", "COUNT", "1"},
        [NEXT] = {"ZRANGE", KEY_TIME_SET, "0", "0", "WITHSCORES"},
        [MEMORY] = {"INFO", "memory"},
    };
    for (size_t i = 0; i < STATS_COMMANDS; i++)
        store_get_texts (self, commands[i], on_stats_answer, stats_call);
}

// -- the stations present: plan:attending, the only key that a standby writes

enum { PRESENT_AGE_MAX_S = 15, DELETE_AGE_S = 86400 };

int64_t presence_value_age_s (const redisReply *seen, int64_t now_s)
{
    int64_t seen_s = reply_number (seen);
    return seen_s > 0 && seen_s <= SCHEDULE_TIME_MAX ? llabs (now_s - seen_s) : now_s;
}

// Answer who owns the plans. The first of the owner's endpoints is its request socket.
static void on_owner_read (void *owner, const redisReply *reply)
{
    struct store_caller *caller = owner;
    const char *error = "";
    struct store_owner answer = {.result = reply_result (reply, &error)};
    if (reply_is_array (reply, 4)) {
        struct span token = reply_text (reply->element[0]);
        struct span endpoints = reply_text (reply->element[2]);
        const uint8_t *blank = endpoints.size ? memchr (endpoints.data, ' ', endpoints.size) : NULL;
        answer.owned = token.size && !owner_is_free (token);
        answer.name = reply_text (reply->element[1]);
        answer.request =
            span_of (endpoints.data, blank ? (size_t)(blank - endpoints.data) : endpoints.size);
        answer.key = reply_text (reply->element[3]);
    }
    ((store_owner_fn *)caller->reply) (caller->owner, &answer);
    free (caller);
}

void store_owner (struct store *self, store_owner_fn *reply, void *owner)
{
    store_get (self,
               WORDS (TEXT ("HMGET"), TEXT (KEY_OWNER), TEXT ("token"), TEXT ("name"),
                      TEXT ("endpoints"), TEXT ("key")),
               on_owner_read, store_caller_new (self, (void (*) (void))reply, owner));
}

// Count the stations present, and delete entries of those that ended long ago.
static void on_presence_read (void *owner, const redisReply *reply)
{
    struct store_caller *caller = owner;
    struct store *self = caller->store;
    struct store_presence answer = {.error = ""};
    answer.result = reply_result (reply, &answer.error);
    int64_t now_s = store_now_us (self) / 1000000;
    for (size_t i = 0; reply_is_array (reply, 0) && i + 1 < reply->elements; i += 2) {
        int64_t age_s = presence_value_age_s (reply->element[i + 1], now_s);
        answer.attending += age_s <= PRESENT_AGE_MAX_S;
        if (age_s > DELETE_AGE_S && store_is_serving (self))
            store_put (self,
                       WORDS (TEXT ("HDEL"), TEXT (KEY_ATTENDING), reply_text (reply->element[i])));
    }
    answer.lost = self->lost_tail;
    answer.replaced = self->lost_all;
    answer.wrong = span_text (self->wrong_key);
    answer.stations = self->stations_revision;
    ((store_presence_fn *)caller->reply) (caller->owner, &answer);
    if (answer.result == STORE_DONE) {
        self->lost_tail = self->lost_all = false;
        self->wrong_key[0] = '\0';
    }
    free (caller);
}

static void on_targets_revision (void *owner, const redisReply *reply)
{
    struct store *self = owner;
    if (reply && reply->type == REDIS_REPLY_STRING)
        self->stations_revision = reply_number (reply);
}

static void on_presence_written (void *owner, const redisReply *reply)
{
    struct store *self = owner;
    if (store_is_serving (self))
        store_replace_wrong_key (self, KEY_ATTENDING, reply);
}

void store_leave_presence (struct store *self)
{
    store_send_command (self, LINK_ONCE,
                        WORDS (TEXT ("HDEL"), TEXT (KEY_ATTENDING), TEXT (self->instance)),
                        store_ignore_reply, self);
}

void store_enter_presence (struct store *self, store_presence_fn *reply, void *owner)
{
    char now[24];
    // The value is the time, a blank and the schema; former versions wrote only the time.
    snprintf (now, sizeof now, "%" PRId64 " %d", store_now_us (self) / 1000000, STORE_SCHEMA);
    store_run_script (self, SCRIPT_ATTEND, 1,
                      WORDS (TEXT (KEY_ATTENDING), TEXT (self->instance), TEXT (now)),
                      on_presence_written, self);
    store_get (self, WORDS (TEXT ("HGET"), TEXT (KEY_META), TEXT ("stations")), on_targets_revision,
               self);
    store_get (self, WORDS (TEXT ("HGETALL"), TEXT (KEY_ATTENDING)), on_presence_read,
               store_caller_new (self, (void (*) (void))reply, owner));
}
