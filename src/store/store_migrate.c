// Converts data of schema 1, written by versions without an owner in which all stations claimed
// plans, to schema 2. Those versions moved due plans that could not start yet into keys of their
// own (plan:held, plan:lane), and gave them a later score in the queue. These plans return to their
// places in the queue, and the keys that only those versions used are deleted. All steps may be
// repeated, so an interrupted migration simply restarts.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core_pull.h"
#include "frames.h"
#include "log.h"
#include "memory.h"
#include "plan_json.h"
#include "store_private.h"

enum { PAGE = 1000, PRESENT_MAX_AGE_S = 15, WAIT_MS = 1000, KEY_MAX = 2 * STATION_NAME_MAX + 96 };

struct migration {
    struct store *store; // NULL: the migration was aborted
    struct timer timer;  // checks again for stations of the former version
    bool logged;         // it was logged that the migration waits for them
    // the keys with held plans and plans in lanes
    char (*keys)[KEY_MAX];
    size_t key_count, key_room;
    size_t key_at, offset;  // how far they are read: the key, and the first member of the page
    bool held;              // the key has held plans, else plans in a lane
    struct frames *members; // members of the page
    double scores[PAGE];    // their scores in that key; NAN: do not move the plan
    int64_t moved;          // number of plans moved so far
    // Gets the answer to the command that was sent last; it may be an error.
    void (*next) (struct migration *self, const redisReply *reply);
};

static void migration_destroy (struct migration *self)
{
    timer_end (&self->timer);
    free (self->members);
    free (self->keys);
    free (self);
}

// Free the migration if it was aborted, or `reply` is missing (NULL). Returns whether it was freed.
static bool free_if_aborted (struct migration *self, const redisReply *reply)
{
    if (self->store && reply)
        return false;
    if (self->store)
        self->store->migration = NULL; // the connection was lost: the next takeover starts it again
    migration_destroy (self);
    return true;
}

static void on_migration_answer (void *owner, const redisReply *reply)
{
    struct migration *self = owner;
    if (!free_if_aborted (self, reply))
        self->next (self, reply);
}

static void send_migration_read (struct migration *self, const struct span *words, size_t count,
                                 void (*next) (struct migration *self, const redisReply *reply))
{
    self->next = next;
    store_get (self->store, words, count, on_migration_answer, self);
}

void store_migrate_abort (struct store *self)
{
    struct migration *migration = self->migration;
    self->migration = NULL;
    if (!migration)
        return;
    if (timer_is_set (&migration->timer))
        migration_destroy (migration);
    else
        migration->store = NULL;
}

static void write_key_command (struct migration *self, const char *command, const char *key)
{
    store_put (self->store, WORDS (TEXT (command), span_text (key)));
}

// -- the last step

// The migration is written: load the converted data.
static void on_migration_written (void *owner, enum store_result result, const char *error)
{
    struct migration *self = owner;
    struct store *store = self->store;
    (void)error;
    if (store && result == STORE_DONE) {
        log_event (LEVEL_INFO, "migration.done", "schema=%d moved=%" PRId64, STORE_SCHEMA,
                   self->moved);
        store->migration = NULL;
        core_reset (store->core);
        store_load_start (store);
    } else if (store) {
        store->migration = NULL;
    }
    migration_destroy (self);
}

// -- a page of held plans or plans in a lane

static void read_key_page (struct migration *self);

// Set the score of a plan in the queue, unless the plan has left the queue (XX).
static void requeue_member (struct migration *self, struct span member, int64_t due_us)
{
    store_put (self->store,
               WORDS (TEXT ("ZADD"), TEXT (KEY_TIME_SET), TEXT ("XX"), SCORE (due_us), member));
    self->moved++;
}

static void on_page_written (void *owner, enum store_result result, const char *error)
{
    struct migration *self = owner;
    const redisReply written = {0};
    (void)error;
    free (self->members);
    self->members = NULL;
    if (free_if_aborted (self, result == STORE_DONE ? &written : NULL))
        return;
    self->offset += PAGE;
    read_key_page (self);
}

// Whether a plan that was put into a lane at score `since` is still there: while in a lane, it was
// queued later by a multiple of `unit` seconds.
static bool is_still_in_lane (double score, double since)
{
    const double unit = 61.803399;
    double units = (score - since) / unit;
    return units > 0.5 && fabs (units - round (units)) < 0.00000003;
}

// Requeue held plans at the due times in their messages, else now.
static void on_held_messages (struct migration *self, const redisReply *reply)
{
    const struct frames *members = self->members;
    for (size_t i = 0; i < members->count && reply_is_array (reply, members->count); i++) {
        struct reason reason;
        struct span target, message = reply_text (reply->element[i]);
        uint64_t id;
        if (isnan (self->scores[i]) || !message.data ||
            !message_key_parse (members->at[i], &target, &id))
            continue;
        struct plan *plan = plan_from_stored_json (id, message, &reason);
        int64_t now_us = store_now_us (self->store), due_s = plan ? plan_due_time (plan) : 0;
        // Only due plans were held. If this one is not due by its schedule, it was a retry or a
        // manual run, and becomes due now.
        bool known = plan && due_s < now_us / 1000000 && plan->state != PLAN_RETRY;
        if (plan)
            requeue_member (self, members->at[i], known ? due_s * 1000000 : now_us);
        plan_destroy (&plan);
    }
    store_reply_when_written (self->store, WAITER_SURE, on_page_written, self);
}

// Compare the plans' scores in the queue: those that are still in the lane are requeued, and the
// messages of held plans are read.
static void on_page_scores (struct migration *self, const redisReply *reply)
{
    const struct frames *members = self->members;
    for (size_t i = 0; i < members->count && reply_is_array (reply, members->count); i++) {
        struct span text = reply_text (reply->element[i]);
        double score = text.size ? strtod ((const char *)text.data, NULL) : NAN;
        bool same = self->held ? fabs (score - self->scores[i]) < 0.0000005
                               : is_still_in_lane (score, self->scores[i]);
        if (same && !self->held)
            requeue_member (self, members->at[i], llround (self->scores[i] * 1e6));
        if (!same) // the plan has been moved since
            self->scores[i] = NAN;
    }
    if (!self->held) {
        store_reply_when_written (self->store, WAITER_SURE, on_page_written, self);
        return;
    }
    struct span words[1 + PAGE] = {TEXT ("MGET")};
    memcpy (words + 1, members->at, members->count * sizeof *words);
    send_migration_read (self, words, 1 + members->count, on_held_messages);
}

static void convert_next_key (struct migration *self);

static void on_key_page (struct migration *self, const redisReply *reply)
{
    if (!reply_is_array (reply, 2)) {
        write_key_command (self, "DEL", self->keys[self->key_at]);
        self->key_at++;
        convert_next_key (self);
        return;
    }
    size_t count = reply->elements / 2 < PAGE ? reply->elements / 2 : PAGE;
    struct span words[2 + PAGE] = {TEXT ("ZMSCORE"), TEXT (KEY_TIME_SET)};
    for (size_t i = 0; i < count; i++) {
        struct span score = reply_text (reply->element[2 * i + 1]);
        words[2 + i] = reply_text (reply->element[2 * i]);
        self->scores[i] = score.size ? strtod ((const char *)score.data, NULL) : NAN;
    }
    self->members = frames_copy (words + 2, count); // the reply is not valid after this function
    send_migration_read (self, words, 2 + count, on_page_scores);
}

static void read_key_page (struct migration *self)
{
    int64_t first = (int64_t)self->offset;
    send_migration_read (self,
                         WORDS (TEXT ("ZRANGE"), TEXT (self->keys[self->key_at]), NUMBER (first),
                                NUMBER (first + PAGE - 1), TEXT ("WITHSCORES")),
                         on_key_page);
}

// -- finding the keys of schema 1

static void convert_next_key (struct migration *self)
{
    self->offset = 0;
    if (self->key_at == self->key_count) {
        write_key_command (self, "DEL", KEY_FORMER_TOLD);
        store_put (self->store,
                   WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("schema"), TEXT (SCHEMA_TEXT)));
        store_reply_when_written (self->store, WAITER_SURE, on_migration_written, self);
        return;
    }
    self->held = strncmp (self->keys[self->key_at], KEY_FORMER_HELD, strlen (KEY_FORMER_HELD)) == 0;
    read_key_page (self);
}

// Handle a key that only schema 1 has: note it if it has plans to move, else delete it.
static void handle_former_key (struct migration *self, struct span name)
{
    static const char *const former[] = {KEY_FORMER_HELD,   KEY_FORMER_LANE, KEY_FORMER_LANES,
                                         KEY_FORMER_OFFERS, KEY_FORMER_BUSY, KEY_FORMER_CLAIM,
                                         KEY_FORMER_SENT};
    enum { COUNT = sizeof former / sizeof *former, WITH_PLANS = 2 };
    char key[KEY_MAX] = "";
    if (name.size >= KEY_MAX || !name.size)
        return;
    memcpy (key, name.data, name.size);
    size_t kind = 0;
    while (kind < COUNT && strncmp (key, former[kind], strlen (former[kind])) != 0)
        kind++;
    if (kind >= WITH_PLANS) {
        if (kind < COUNT)
            write_key_command (self, "DEL", key);
        return;
    }
    self->keys = memory_grow (self->keys, self->key_count, &self->key_room, sizeof *self->keys);
    memcpy (self->keys[self->key_count++], key, sizeof key);
}

static void scan_key_names (struct migration *self, const char *cursor);

// Process a page of key names; after the last page, convert the keys that were noted.
static void on_key_names (struct migration *self, const redisReply *reply)
{
    const redisReply *page = reply_is_array (reply, 2) ? reply->element[1] : NULL;
    char cursor[24];
    if (!page || !reply_is_array (page, 0)) {
        struct link *link = self->store->link;
        self->store->migration = NULL;
        migration_destroy (self);
        link_renew (link, "refuses to be searched");
        return;
    }
    for (size_t i = 0; i < page->elements; i++)
        handle_former_key (self, reply_text (page->element[i]));
    struct span next = reply_text (reply->element[0]);
    copy_text (cursor, sizeof cursor, next);
    if (strcmp (cursor, "0") == 0)
        convert_next_key (self);
    else
        scan_key_names (self, cursor);
}

// Scan all keys once, as no list names the keys of former targets, groups and stations.
// The pattern excludes messages and results.
static void scan_key_names (struct migration *self, const char *cursor)
{
    send_migration_read (self,
                         WORDS (TEXT ("SCAN"), TEXT (cursor), TEXT ("MATCH"), TEXT (KEY_FORMER_ALL),
                                TEXT ("COUNT"), TEXT ("1000")),
                         on_key_names);
}

// -- the first step: wait until no station of the former version is running, as it would claim
// plans without checking who owns them

// Whether another station of schema 2 or, if not `schema_2`, of schema 1 is, or was a moment ago,
// on this Redis. A value of plan:attending is of schema 2 if it has a blank (store_stats.c).
static bool another_is_present (const struct store *self, const redisReply *attending,
                                bool schema_2)
{
    int64_t now_s = store_now_us (self) / 1000000;
    for (size_t i = 0; !self->alone && reply_is_array (attending, i + 2); i += 2) {
        struct span seen = reply_text (attending->element[i + 1]);
        bool own = span_is (reply_text (attending->element[i]), self->instance);
        bool has_schema = seen.size && memchr (seen.data, ' ', seen.size);
        if (!own && has_schema == schema_2 &&
            presence_value_age_s (attending->element[i + 1], now_s) <= PRESENT_MAX_AGE_S)
            return true;
    }
    return false;
}

// Wait while a station of the former version is present, else begin to convert.
static void on_stations_present (struct migration *self, const redisReply *reply)
{
    struct store *store = self->store;
    if (another_is_present (store, reply, false)) {
        if (!self->logged)
            log_event (LEVEL_WARN, "migration.waits",
                       "reason=\"a station of the former version is, or was a moment ago, on this "
                       "Redis: stop it\"");
        self->logged = true;
        timer_set (&self->timer, store->reactor, WAIT_MS);
        return;
    }
    store_put (store, WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("schema"), TEXT ("1>2")));
    scan_key_names (self, "0");
}

static void read_stations_present (void *owner)
{
    struct migration *self = owner;
    struct link *link = self->store->link; // the call may free `self`
    send_migration_read (self, WORDS (TEXT ("HGETALL"), TEXT (KEY_ATTENDING)), on_stations_present);
    link_flush (link);
}

void store_migrate_start (struct store *self)
{
    struct migration *migration = memory_new (sizeof *migration);
    store_migrate_abort (self);
    migration->store = self;
    migration->timer = (struct timer){.call = read_stations_present, .owner = migration};
    self->migration = migration;
    log_event (LEVEL_INFO, "migration.begins", "from=1 to=%d", STORE_SCHEMA);
    read_stations_present (migration);
}

// -- conversion back to schema 1

struct offer {
    struct span target; // borrowed from the core
    uint64_t id;
    int64_t order;
};

struct back_conversion {
    struct store *store;
    store_done_fn *reply;
    void *owner;
    struct offer *offers;
    size_t count, room, written;
};

static void end_back_conversion (struct back_conversion *self, enum store_result result,
                                 const char *error)
{
    self->reply (self->owner, result, error);
    free (self->offers);
    free (self);
}

static void on_owner_deleted (void *owner, const redisReply *reply)
{
    const char *error;
    enum store_result result = reply_result (reply, &error);
    end_back_conversion (owner, result, error);
}

static void on_schema_written (void *owner, enum store_result result, const char *error)
{
    struct back_conversion *self = owner;
    if (result != STORE_DONE) { // another station may own the plans by now: keep plan:owner
        end_back_conversion (self, result, error);
        return;
    }
    store_send_command (self->store, LINK_ONCE, WORDS (TEXT ("DEL"), TEXT (KEY_OWNER)),
                        on_owner_deleted, self);
}

// Write an offer to plan:offers, from which the former version offers plans to workers.
static void write_offer (struct store *store, const struct offer *offer)
{
    char key[STATION_NAME_MAX + 16];
    snprintf (key, sizeof key, KEY_FORMER_OFFERS "%.*s", (int)offer->target.size,
              (const char *)offer->target.data);
    store_put (store, WORDS (TEXT ("ZADD"), TEXT (key), NUMBER (offer->order),
                             PLAN_KEY (KEY_MESSAGE, offer->target, offer->id)));
}

// Write the next page of offers; with the last one, the schema.
static void write_next_offers (void *owner, enum store_result result, const char *error)
{
    struct back_conversion *self = owner;
    if (result != STORE_DONE) {
        end_back_conversion (self, result, error);
        return;
    }
    for (size_t i = 0; i < PAGE && self->written < self->count; i++)
        write_offer (self->store, &self->offers[self->written++]);
    bool last = self->written == self->count;
    if (last)
        store_put (self->store,
                   WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("schema"), TEXT ("1")));
    store_reply_when_written (self->store, WAITER_SURE,
                              last ? on_schema_written : write_next_offers, self);
}

static void note_offer (void *owner, struct span target, uint64_t id, int64_t order)
{
    struct back_conversion *self = owner;
    self->offers = memory_grow (self->offers, self->count, &self->room, sizeof *self->offers);
    self->offers[self->count++] = (struct offer){target, id, order};
}

// Begin the conversion if no other station is present: a standby would take over as soon as the
// data have no owner, and migrate them again.
static void on_other_stations (void *owner, const redisReply *reply)
{
    struct back_conversion *self = owner;
    const char *error;
    enum store_result result = reply_result (reply, &error);
    if (result != STORE_DONE) {
        end_back_conversion (self, result, error);
        return;
    }
    if (another_is_present (self->store, reply, true)) {
        end_back_conversion (self, STORE_ERROR,
                             "another station is, or was a moment ago, on this Redis: stop it");
        return;
    }
    core_each_offer (self->store->core, note_offer, self);
    write_next_offers (self, STORE_DONE, NULL);
}

void store_downgrade (struct store *self, store_done_fn *reply, void *owner)
{
    struct back_conversion *back = memory_new (sizeof *back);
    *back = (struct back_conversion){.store = self, .reply = reply, .owner = owner};
    store_get (self, WORDS (TEXT ("HGETALL"), TEXT (KEY_ATTENDING)), on_other_stations, back);
}
