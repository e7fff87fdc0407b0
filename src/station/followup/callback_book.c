#include "callback_book.h"

#include <czmq.h>
#include <inttypes.h>
#include <stdlib.h>

#include "memory.h"
#include "redis_keys.h"
#include "clock.h"
#include "codes.h"
#include "plan_json.h"
#include "stored_text.h"

struct callback_tally {
    int64_t count, bytes;
    bool changed; // since the last write to Redis
};

struct callback_book {
    zhashx_t *sources; // by name
    struct callback_tally all;
    uint64_t resets; // number of resets of the store when loading began
    bool loading;    // the counts of Redis are being read
    bool loaded;     // the counts of Redis are included
};

static void destroy_tally (void **tally)
{
    free (*tally);
    *tally = NULL;
}

static struct callback_tally *find_or_create_tally (struct callback_book *self, const char *source)
{
    struct callback_tally *tally = zhashx_lookup (self->sources, source);
    if (!tally) {
        tally = memory_new (sizeof *tally);
        zhashx_insert (self->sources, source, tally);
    }
    return tally;
}

// The book of the present load of the store: an earlier book is dropped, as another owner may have
// changed the counts in between.
static struct callback_book *refresh_book (struct station *self)
{
    if (self->callbacks && self->callbacks->resets != store_resets (self->store))
        callback_book_stop (self);
    if (!self->callbacks) {
        self->callbacks = memory_new (sizeof *self->callbacks);
        self->callbacks->resets = store_resets (self->store);
        self->callbacks->sources = zhashx_new ();
        zhashx_set_destructor (self->callbacks->sources, destroy_tally);
    }
    return self->callbacks;
}

// Fields: SOURCE -> count, " SOURCE" -> bytes of the frames. The absolute number is written, not an
// increment, as a write may be repeated. 0 removes the field.
static void write_number (struct station *self, const char *field, int64_t number)
{
    char text[24];
    snprintf (text, sizeof text, "%" PRId64, number);
    const struct span set[] = {span_text ("HSET"), span_text (KEY_CALLBACKS), span_text (field),
                               span_text (text)};
    const struct span drop[] = {span_text ("HDEL"), span_text (KEY_CALLBACKS), span_text (field)};
    store_put (self->store, number ? set : drop, number ? 4 : 3);
}

static void write_tally (struct station *self, const char *source,
                         const struct callback_tally *tally)
{
    char field[STATION_NAME_MAX + 2];
    snprintf (field, sizeof field, " %s", source);
    write_number (self, field + 1, tally->count);
    write_number (self, field, tally->bytes);
}

static void write_changed_tallies (struct station *self)
{
    zhashx_t *sources = self->callbacks->sources;
    for (struct callback_tally *tally = zhashx_first (sources); tally;
         tally = zhashx_next (sources)) {
        if (tally->changed)
            write_tally (self, zhashx_cursor (sources), tally);
        tally->changed = false;
    }
}

// Add the numbers of Redis to the changes counted during the request.
static void on_counts (void *owner, const redisReply *reply)
{
    struct station *station = owner;
    struct callback_book *self = station->callbacks;
    if (!self || self->loaded || self->resets != store_resets (station->store))
        return;
    self->loading = false;
    if ((!reply || reply->type == REDIS_REPLY_ERROR) && !link_is_wrong_type (reply))
        return; // retried with the next change
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const char *name = reply->element[i]->str, *number = reply->element[i + 1]->str;
        if (!name || !number)
            continue;
        bool bytes = name[0] == ' ';
        int64_t value = strtoll (number, NULL, 10);
        struct callback_tally *tally = find_or_create_tally (self, name + bytes);
        *(bytes ? &tally->bytes : &tally->count) += value;
        *(bytes ? &self->all.bytes : &self->all.count) += value;
    }
    self->loaded = true;
    write_changed_tallies (station);
}

void callback_book_load (struct station *self)
{
    struct callback_book *book = refresh_book (self);
    if (book->loaded || book->loading)
        return;
    book->loading = true;
    store_get (self->store, (const struct span[]){span_text ("HGETALL"), span_text (KEY_CALLBACKS)},
               2, on_counts, self);
}

void callback_book_stop (struct station *self)
{
    if (!self->callbacks)
        return;
    zhashx_destroy (&self->callbacks->sources);
    free (self->callbacks);
    self->callbacks = NULL;
}

static void count_callback (struct station *self, const struct plan *callback, int sign)
{
    const char *source = callback->source ? callback->source : "";
    int64_t bytes = 0;
    for (size_t i = 0; i < callback->message_count; i++)
        bytes += (int64_t)callback->messages[i].size;
    struct callback_book *book = refresh_book (self);
    struct callback_tally *tally = find_or_create_tally (book, source);
    tally->count += sign;
    tally->bytes += sign * bytes;
    book->all.count += sign;
    book->all.bytes += sign * bytes;
    tally->changed = !book->loaded;
    if (book->loaded)
        write_tally (self, source, tally);
    else
        callback_book_load (self);
}

// Whether no source has more bytes of callbacks: at the common limit the largest has to wait.
static bool has_most_bytes (const struct callback_book *self, const struct callback_tally *tally)
{
    for (const struct callback_tally *other = zhashx_first (self->sources); other;
         other = zhashx_next (self->sources))
        if (other->bytes > tally->bytes)
            return false;
    return true;
}

// Whether the source has reached its own limit, or has the most bytes at the common limit.
static bool is_source_full (const struct station *self, const struct callback_tally *tally)
{
    const struct limits *limits = &self->settings->limits;
    const struct callback_tally *all = &self->callbacks->all;
    return tally->count >= limits->callbacks_station ||
           tally->bytes >= limits->callbacks_station_bytes ||
           ((all->count >= limits->callbacks || all->bytes >= limits->callbacks_bytes) &&
            has_most_bytes (self->callbacks, tally));
}

void callback_book_add (struct station *self, const struct plan *callback)
{
    count_callback (self, callback, 1);
}

void callback_book_remove (struct station *self, const struct plan *callback)
{
    count_callback (self, callback, -1);
}

bool callback_book_full (const struct station *self, struct span source)
{
    char name[STATION_NAME_MAX + 1];
    if (!self->callbacks || source.size > STATION_NAME_MAX)
        return false;
    snprintf (name, sizeof name, "%.*s", (int)source.size, (const char *)source.data);
    const struct callback_tally *tally = zhashx_lookup (self->callbacks->sources, name);
    return tally && is_source_full (self, tally);
}

bool callback_book_full_source (const struct station *self, char ret_name[STATION_NAME_MAX + 1],
                                int64_t *ret_count)
{
    bool found = false;
    zlistx_t *names = self->callbacks ? zhashx_keys (self->callbacks->sources) : NULL;
    for (const char *name = names ? zlistx_first (names) : NULL; name && !found;
         name = zlistx_next (names)) {
        const struct callback_tally *tally = zhashx_lookup (self->callbacks->sources, name);
        found = tally && is_source_full (self, tally);
        if (found) {
            snprintf (ret_name, STATION_NAME_MAX + 1, "%s", name);
            *ret_count = tally->count;
        }
    }
    zlistx_destroy (&names);
    return found;
}

// -- drops of callbacks that failed permanently

enum { PAGE = 100, RETRY_US = 5000000, OLD_S = 30 * 86400 };

struct callback_drop {
    struct station *station;
    char source[STATION_NAME_MAX + 1]; // "" = drop those that are too old
    char member[STATION_NAME_MAX + 16];
    struct span members[1];
    struct store_filter filter;
    bool dropped_any; // else there is no point in retrying at once
};

// Record the drop and its reason in the history of callbacks.
static void record_drop (const struct callback_drop *self, const struct plan *callback)
{
    struct station *station = self->station;
    size_t size;
    struct outcome_record record = {
        .title = callback->description,
        .nominal = callback->plan_time,
        .status = ZERO_STATUS_CANCELLED_ID,
        .state = PLAN_CLOSE,
        .exec_id = callback->exec_id,
        .worker = callback->station,
        .reason = span_text (self->source[0] ? "dropped: too many callbacks of its source are kept"
                                             : "dropped: it had failed for good 30 days before")};
    char *text = store_record (&record, &size);
    store_callback_try (station->store, callback->id, callback->station, span_of (text, size));
    free (text);
}

static bool drop_callback (const struct callback_drop *self, const struct store_listed *listed)
{
    struct station *station = self->station;
    struct reason ignored;
    struct plan *callback = plan_from_stored_json (listed->plan_id, listed->message, &ignored);
    // It is not dropped if it is being retried or removed at this moment.
    bool drops = callback && store_drop_stopped (station->store, callback);
    if (drops) {
        callback_record_resolved (station, callback->id);
        callback_book_remove (station, callback);
        station->counters.dropped_callbacks++;
        record_drop (self, callback);
    }
    plan_destroy (&callback);
    return drops;
}

// Whether to drop a callback that stopped at this time.
static bool must_drop (const struct callback_drop *self, int64_t stopped_us)
{
    if (self->source[0])
        return callback_book_full (self->station, span_text (self->source));
    return stopped_us < (station_now (self->station) - OLD_S) * 1000000;
}

static void list_callbacks (struct callback_drop *self);

static void on_page (void *owner, const struct store_page *page)
{
    struct callback_drop *self = owner;
    struct station *station = self->station;
    size_t at = 0, dropped = 0;
    for (; page->result == STORE_DONE && at < page->count &&
           must_drop (self, page->plans[at].score_us);
         at++)
        dropped += drop_callback (self, &page->plans[at]);
    bool done = page->result == STORE_DONE;
    bool more = done && page->last && at == page->count && must_drop (self, page->last_us);
    self->dropped_any = self->dropped_any || dropped;
    if (dropped)
        link_flush (store_link (station->store));
    if (more) {
        self->filter.after = page->last;
        self->filter.after_us = page->last_us;
        list_callbacks (self);
    } else if (done && self->filter.order == STORE_DEAD && must_drop (self, 0)) {
        // Then drop those that an operator resolved.
        self->filter.order = STORE_STOPPED;
        self->filter.state = PLAN_CLOSE;
        self->filter.after = 0;
        self->filter.after_us = 0;
        list_callbacks (self);
    } else {
        station->dropping_us = self->dropped_any ? 0 : clock_mono_us () + RETRY_US;
        free (self);
    }
}

static void list_callbacks (struct callback_drop *self)
{
    self->filter.after_station = self->station->settings->callback_target;
    store_list (self->station->store, &self->filter, on_page, self);
}

static void begin_drop (struct station *self, struct span source)
{
    struct callback_drop *drop = memory_new (sizeof *drop);
    drop->station = self;
    drop->filter = (struct store_filter){.order = STORE_DEAD,
                                         .oldest = true,
                                         .limit = PAGE,
                                         .station = self->settings->callback_target,
                                         .state = -1,
                                         .type = -1};
    if (source.size) {
        snprintf (drop->source, sizeof drop->source, "%.*s", (int)source.size,
                  (const char *)source.data);
        snprintf (drop->member, sizeof drop->member, "\"source\":\"%s\"", drop->source);
        drop->members[0] = span_text (drop->member);
        drop->filter.members = drop->members;
        drop->filter.member_count = 1;
    }
    self->dropping_us = INT64_MAX; // until it is done
    list_callbacks (drop);
}

void callback_drop_full (struct station *self, struct span source)
{
    if (callback_book_full (self, source) && clock_mono_us () >= self->dropping_us)
        begin_drop (self, source);
}

void callback_drop_old (struct station *self)
{
    if (self->dropping_us != INT64_MAX && self->callbacks)
        begin_drop (self, (struct span){0});
}

// -- the states of the callbacks of outcomes: whether they were delivered. Source: task module
// (Completed, Success); protocol, chapter 19

struct states_query {
    size_t left; // requests without an answer
    callback_states_fn *call;
    void *owner;
};

struct callback_query {
    struct states_query *states;
    json_t *callback;
    bool exists;
};

static void query_answered (struct states_query *self)
{
    if (--self->left)
        return;
    self->call (self->owner);
    free (self);
}

// NULL: the callback has ended or does not exist.
static const char *callback_state_name (struct span head)
{
    if (!head.size)
        return NULL;
    switch ((enum plan_state)message_number (head, "plan_state")) {
    case PLAN_RETRY:
        return "retrying";
    case PLAN_ERROR:
    case PLAN_PAUSE:
        return "dead";
    case PLAN_CLOSE:
        return NULL;
    default:
        return "queued";
    }
}

// Handle the beginning of the callback's plan, which holds the state.
static void on_head (void *owner, const redisReply *reply)
{
    struct callback_query *self = owner;
    bool text = reply && reply->type == REDIS_REPLY_STRING;
    struct span head = text ? span_of (reply->str, reply->len) : (struct span){0};
    const char *word = callback_state_name (head);
    self->exists = word != NULL;
    if (word)
        json_object_set_new (self->callback, "state", json_string (word));
}

static void on_resolved (void *owner, const redisReply *reply)
{
    struct callback_query *self = owner;
    struct states_query *states = self->states;
    if (reply && !self->exists)
        json_object_set_new (
            self->callback, "state",
            json_string (reply->type == REDIS_REPLY_NIL ? "delivered" : "given_up"));
    json_decref (self->callback);
    free (self);
    query_answered (states);
}

static void read_state (struct station *self, struct states_query *states, json_t *run, uint64_t id)
{
    char hex[IDENT_SIZE], key[STATION_NAME_MAX + IDENT_SIZE + 16];
    struct callback_query *query = memory_new (sizeof *query);
    *query = (struct callback_query){states, json_object (), false};
    ident_text (id, hex);
    json_object_set_new (query->callback, "id", json_string (hex));
    json_object_set (run, "callback", query->callback);
    snprintf (key, sizeof key, KEY_MESSAGE "%.*s:%s", STATION_NAME_MAX,
              self->settings->callback_target, hex);
    states->left++;
    store_get (self->store,
               (const struct span[]){span_text ("GETRANGE"), span_text (key), span_text ("0"),
                                     span_text ("255")},
               4, on_head, query);
    store_get (
        self->store,
        (const struct span[]){span_text ("ZSCORE"), span_text (KEY_GIVEN_UP), span_text (hex)}, 3,
        on_resolved, query);
}

void callback_states (struct station *self, json_t *runs, callback_states_fn *call, void *owner)
{
    struct states_query *states = memory_new (sizeof *states);
    *states = (struct states_query){1, call, owner};
    json_t *run;
    size_t index;
    json_array_foreach (runs, index, run)
    {
        json_int_t id = json_integer_value (json_object_get (run, "callback"));
        if (id > 0)
            read_state (self, states, run, (uint64_t)id);
    }
    query_answered (states);
}

void callback_record_resolved (struct station *self, uint64_t id)
{
    char hex[IDENT_SIZE], now[24], oldest[24];
    int64_t now_s = station_now (self);
    snprintf (now, sizeof now, "%" PRId64, now_s);
    snprintf (oldest, sizeof oldest, "(%" PRId64, now_s - self->settings->history_age_s);
    store_put (self->store,
               (const struct span[]){span_text ("ZADD"), span_text (KEY_GIVEN_UP), span_text (now),
                                     span_text (ident_text (id, hex))},
               4);
    store_put (self->store,
               (const struct span[]){span_text ("ZREMRANGEBYSCORE"), span_text (KEY_GIVEN_UP),
                                     span_text ("-inf"), span_text (oldest)},
               4);
}
