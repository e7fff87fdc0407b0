// Data of schema 1, of versions in which any number of stations took plans side by side, become
// data of schema 2: plans that stood in lanes or were held get their places in the queue back, and
// what only those versions used is deleted. In steps that may be repeated: a migration that is cut
// off begins anew.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "clock.h"
#include "log.h"
#include "memory.h"
#include "plan_json.h"
#include "store_private.h"

enum { PAGE = 1000, ABSENT_S = 15, WAIT_MS = 1000 };

struct migration {
    struct store *store; // NULL: it was given up
    struct timer timer;
    bool told;
    char (*targets)[STATION_NAME_MAX + 1];
    size_t count, at;
    // the keys of the present target, and how far the present one is read
    char (*keys)[2 * STATION_NAME_MAX + 96];
    size_t key_count, key_at, offset;
    bool held;
    struct span *members; // of the page: texts of `bytes`
    double *scores;
    size_t member_count;
    char *bytes;
    int64_t moved;
};

static void free_page (struct migration *self)
{
    free (self->members);
    free (self->scores);
    free (self->bytes);
    self->members = NULL;
    self->scores = NULL;
    self->bytes = NULL;
}

static void end (struct migration *self)
{
    timer_end (&self->timer);
    free_page (self);
    free (self->targets);
    free (self->keys);
    free (self);
}

// Whether it was given up; then its memory goes with the last answer.
static bool is_over (struct migration *self, const redisReply *reply)
{
    if (self->store && reply)
        return false;
    if (self->store)
        self->store->migration = NULL; // the connection is lost: the next takeover begins anew
    end (self);
    return true;
}

void store_migrate_end (struct store *self)
{
    struct migration *migration = self->migration;
    self->migration = NULL;
    if (!migration)
        return;
    if (timer_is_set (&migration->timer))
        end (migration);
    else
        migration->store = NULL;
}

static void write_pair (struct migration *self, const char *command, const char *key)
{
    store_write (self->store, WORDS (TEXT (command), span_text (key)));
}

// -- the end

static void on_finished (void *owner, enum store_result result, const char *error)
{
    struct migration *self = owner;
    struct store *store = self->store;
    (void)error;
    if (store && result == STORE_DONE) {
        log_event (LEVEL_INFO, "migration.done", "schema=%d moved=%" PRId64, STORE_SCHEMA,
                   self->moved);
        store->migration = NULL;
        core_reset (store->core);
        store_load_begin (store);
    } else if (store) {
        store->migration = NULL;
    }
    end (self);
}

static void finish (struct migration *self)
{
    char schema[8];
    static const char *const keys[] = {"plan:told"};
    snprintf (schema, sizeof schema, "%d", STORE_SCHEMA);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        write_pair (self, "DEL", keys[i]);
    store_write (self->store,
                 WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("schema"), span_text (schema)));
    store_wait (self->store, WAITER_SURE, on_finished, self);
}

// -- a page of plans that stand apart

static void next_page (struct migration *self);

static void move (struct migration *self, struct span member, int64_t due_us)
{
    char score[40];
    snprintf (score, sizeof score, "%" PRId64 ".%06" PRId64, due_us / 1000000, due_us % 1000000);
    store_write (self->store, WORDS (TEXT ("ZADD"), TEXT (KEY_TIME_SET), TEXT ("XX"),
                                     span_text (score), member));
    self->moved++;
}

static void on_page_written (void *owner, enum store_result result, const char *error)
{
    struct migration *self = owner;
    const redisReply written = {0};
    (void)error;
    free_page (self);
    if (is_over (self, result == STORE_DONE ? &written : NULL))
        return;
    self->offset += PAGE;
    next_page (self);
}

// A lane's plan stood in the queue a multiple of this later, in seconds, than it was due.
static bool stays_in_lane (double score, double since)
{
    const double unit = 61.803399;
    double units = (score - since) / unit;
    return units > 0.5 && fabs (units - round (units)) < 0.00000003;
}

static void on_held_messages (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    if (is_over (self, reply))
        return;
    for (size_t i = 0; i < self->member_count && reply_is_array (reply, self->member_count); i++) {
        struct reason reason;
        struct span target, message = reply_text (reply->element[i]);
        uint64_t id;
        if (isnan (self->scores[i]) || !message.data ||
            !message_key_parse (self->members[i], &target, &id))
            continue;
        struct plan *plan = plan_from_stored_json (id, message, &reason);
        if (plan) // of a retry its time is over, or it would not be held
            move (self, self->members[i],
                  plan->state == PLAN_RETRY ? store_now_us (self->store)
                                            : plan_due_time (plan) * 1000000);
        plan_destroy (&plan);
    }
    store_wait (self->store, WAITER_SURE, on_page_written, self);
}

static void on_scores (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    if (is_over (self, reply))
        return;
    for (size_t i = 0; i < self->member_count && reply_is_array (reply, self->member_count); i++) {
        struct span text = reply_text (reply->element[i]);
        double score = text.size ? strtod ((const char *)text.data, NULL) : NAN;
        bool same = self->held ? fabs (score - self->scores[i]) < 0.0000005
                               : stays_in_lane (score, self->scores[i]);
        if (same && !self->held)
            move (self, self->members[i], llround (self->scores[i] * 1e6));
        if (!same) // it was moved since
            self->scores[i] = NAN;
    }
    if (!self->held) {
        store_wait (self->store, WAITER_SURE, on_page_written, self);
        return;
    }
    struct span *words = memory_new ((self->member_count + 1) * sizeof *words);
    words[0] = TEXT ("MGET");
    memcpy (words + 1, self->members, self->member_count * sizeof *words);
    store_ask (self->store, LINK_ONCE, words, self->member_count + 1, on_held_messages, self);
    free (words);
}

static void keep_page (struct migration *self, const redisReply *reply)
{
    size_t bytes = 0, count = reply->elements / 2;
    for (size_t i = 0; i < count; i++)
        bytes += reply_text (reply->element[2 * i]).size;
    self->members = memory_new ((count + 1) * sizeof *self->members);
    self->scores = memory_new ((count + 1) * sizeof *self->scores);
    char *at = self->bytes = memory_new (bytes + 1);
    for (size_t i = 0; i < count; i++) {
        struct span member = reply_text (reply->element[2 * i]);
        if (member.size)
            memcpy (at, member.data, member.size);
        self->members[i] = span_of (at, member.size);
        self->scores[i] = strtod (reply->element[2 * i + 1]->str, NULL);
        at += member.size;
    }
    self->member_count = count;
}

static void next_key (struct migration *self);

static void on_page (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    if (is_over (self, reply))
        return;
    if (!reply_is_array (reply, 2)) {
        write_pair (self, "DEL", self->keys[self->key_at]);
        self->key_at++;
        next_key (self);
        return;
    }
    keep_page (self, reply);
    struct span *words = memory_new ((self->member_count + 2) * sizeof *words);
    words[0] = TEXT ("ZMSCORE");
    words[1] = TEXT (KEY_TIME_SET);
    memcpy (words + 2, self->members, self->member_count * sizeof *words);
    store_ask (self->store, LINK_ONCE, words, self->member_count + 2, on_scores, self);
    free (words);
}

static void next_page (struct migration *self)
{
    char first[24], last[24];
    snprintf (first, sizeof first, "%zu", self->offset);
    snprintf (last, sizeof last, "%zu", self->offset + PAGE - 1);
    store_ask (self->store, LINK_ONCE,
               WORDS (TEXT ("ZRANGE"), TEXT (self->keys[self->key_at]), TEXT (first), TEXT (last),
                      TEXT ("WITHSCORES")),
               on_page, self);
}

// -- the keys of a target

static void next_target (struct migration *self);

static void next_key (struct migration *self)
{
    self->offset = 0;
    self->held = self->key_at == 0;
    if (self->key_at < self->key_count) {
        next_page (self);
        return;
    }
    self->at++;
    next_target (self);
}

static void on_lanes (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    if (is_over (self, reply))
        return;
    const char *target = self->targets[self->at];
    size_t lanes = reply_is_array (reply, 0) ? reply->elements : 0;
    free (self->keys);
    self->keys = memory_new ((lanes + 1) * sizeof *self->keys);
    snprintf (self->keys[0], sizeof *self->keys, "plan:held:%s", target);
    for (size_t i = 0; i < lanes; i++) {
        struct span class = reply_text (reply->element[i]);
        snprintf (self->keys[1 + i], sizeof *self->keys, "plan:lane:%s:%.*s", target,
                  class.size ? (int)class.size : 2, class.size ? (const char *)class.data : "0:");
    }
    self->key_count = lanes + 1;
    self->key_at = 0;
    next_key (self);
}

static void next_target (struct migration *self)
{
    char key[STATION_NAME_MAX + 32];
    static const char *const kinds[] = {"lanes", "offers", "busy:s"};
    for (size_t i = 0; self->at && i < sizeof kinds / sizeof *kinds; i++) {
        snprintf (key, sizeof key, "plan:%s:%s", kinds[i], self->targets[self->at - 1]);
        write_pair (self, "DEL", key);
    }
    if (self->at == self->count) {
        finish (self);
        return;
    }
    snprintf (key, sizeof key, "plan:lanes:%s", self->targets[self->at]);
    store_ask (self->store, LINK_ONCE, WORDS (TEXT ("ZRANGE"), TEXT (key), TEXT ("0"), TEXT ("-1")),
               on_lanes, self);
}

// -- the targets, and the limits of groups

static void on_counts (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    if (is_over (self, reply))
        return;
    size_t fields = reply_is_array (reply, 0) ? reply->elements / 2 : 0;
    self->targets = memory_new ((fields + 1) * sizeof *self->targets);
    for (size_t i = 0; i < fields; i++) {
        struct span field = reply_text (reply->element[2 * i]);
        struct span name = field.size > 2 ? span_of (field.data + 2, field.size - 2) : field;
        if (field.size > 2 && field.data[0] == 's' && station_name_valid (name))
            memcpy (self->targets[self->count++], name.data, name.size);
    }
    next_target (self);
}

static void on_limits (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    char key[LIMIT_NAME_MAX + 16];
    for (size_t i = 0; self->store && reply_is_array (reply, 0) && i + 1 < reply->elements;
         i += 2) {
        struct span name = reply_text (reply->element[i]);
        snprintf (key, sizeof key, "plan:busy:%.*s", (int)name.size, (const char *)name.data);
        if (name.size <= LIMIT_NAME_MAX)
            write_pair (self, "DEL", key);
    }
}

// -- the begin: no station of the former version may be at work, as it would take plans beside this
// one without looking whose they are

static void on_attending (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    if (is_over (self, reply))
        return;
    struct store *store = self->store;
    int64_t now_s = store_now_us (store) / 1000000;
    for (size_t i = 0; reply_is_array (reply, 0) && i + 1 < reply->elements; i += 2) {
        struct span seen = reply_text (reply->element[i + 1]);
        bool new = seen.size &&memchr (seen.data, ' ', seen.size); // store_stats.c
        int64_t age_s = llabs (now_s - reply_number (reply->element[i + 1]));
        if (new || age_s > ABSENT_S || store->alone)
            continue;
        if (!self->told)
            log_event (LEVEL_WARN, "migration.waits",
                       "reason=\"a station of the former version is, or was a moment ago, on this "
                       "Redis: stop it\"");
        self->told = true;
        timer_set (&self->timer, store->reactor, WAIT_MS);
        return;
    }
    store_write (store, WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("schema"), TEXT ("1>2")));
    store_ask (store, LINK_ONCE, WORDS (TEXT ("HGETALL"), TEXT (KEY_LIMITS)), on_limits, self);
    store_ask (store, LINK_ONCE, WORDS (TEXT ("HGETALL"), TEXT (KEY_COUNT)), on_counts, self);
}

static void ask_attending (void *owner)
{
    struct migration *self = owner;
    store_ask (self->store, LINK_ONCE, WORDS (TEXT ("HGETALL"), TEXT (KEY_ATTENDING)), on_attending,
               self);
    link_flush (self->store->link);
}

void store_migrate_begin (struct store *self)
{
    struct migration *migration = memory_new (sizeof *migration);
    store_migrate_end (self);
    migration->store = self;
    migration->timer = (struct timer){.call = ask_attending, .owner = migration};
    self->migration = migration;
    log_event (LEVEL_INFO, "migration.begins", "from=1 to=%d", STORE_SCHEMA);
    ask_attending (migration);
}

// -- and back

struct going_back {
    struct store *store;
    store_done_fn *reply;
    void *owner;
};

static void on_owner_gone (void *owner, const redisReply *reply)
{
    struct going_back *self = owner;
    const char *error;
    enum store_result result = reply_result (reply, &error);
    self->reply (self->owner, result, error);
    free (self);
}

static void on_schema_written (void *owner, enum store_result result, const char *error)
{
    struct going_back *self = owner;
    (void)result, (void)error;
    store_ask (self->store, LINK_ONCE, WORDS (TEXT ("DEL"), TEXT ("plan:owner")), on_owner_gone,
               self);
}

void store_go_back (struct store *self, store_done_fn *reply, void *owner)
{
    struct going_back *back = memory_new (sizeof *back);
    *back = (struct going_back){self, reply, owner};
    self->loaded = false; // nothing is decided any more
    store_write (self, WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("schema"), TEXT ("1")));
    store_wait (self, WAITER_SURE, on_schema_written, back);
}
