// Loads the data that a new owner needs before it decides: counters, limits and the runs in flight.
// Waiting plans are read as they become due (store_queue.c), other plans on request.
#include <inttypes.h>
#include <stdlib.h>

#include "core_pull.h"
#include "memory.h"
#include "store_private.h"

// A loading in progress. All commands are sent at once and answered in order.
struct store_loading {
    struct store *store; // NULL: the loading was aborted
    size_t left;         // number of answers still to come
    bool lost; // an answer is missing: the connection was lost, and everything will be read again
    bool refused; // an answer was an error, so the data are unknown
    struct core_numbers numbers;
    bool has_seq;        // plan:meta has a valid seq
    int64_t history_seq; // the highest seq that the history ever had
    char schema[16];     // `schema` in plan:meta
};

// The loading that owns an answer, or NULL if it was aborted.
static struct store_loading *loading_if_current (void *owner)
{
    struct store_loading *loading = owner;
    return loading->store ? loading : NULL;
}

// All answers have come: serve, migrate, or reconnect to read again.
static void end_loading (struct store_loading *loading)
{
    struct store *store = loading->store;
    bool former = strcmp (loading->schema, "1") == 0 || strcmp (loading->schema, "1>2") == 0;
    char schema[8];
    snprintf (schema, sizeof schema, "%d", STORE_SCHEMA);
    bool other = *loading->schema && !former && strcmp (loading->schema, schema) != 0;
    if (store)
        store->loading = NULL;
    if (loading->lost)
        store = NULL;
    if (store && loading->refused)
        link_renew (store->link, "refuses to be read"); // unread data must not count as empty
    else if (store && other) // an owner of a later version wrote it after the link was opened
        link_renew (store->link, "holds plans of another version");
    else if (store && former)
        store_migrate_start (store);
    else if (store)
        store_begin_serving (store);
    free (loading);
}

// Count an answer as processed; the last one ends the loading.
static void count_load_answer (struct store_loading *loading, const redisReply *reply)
{
    loading->lost = loading->lost || !reply;
    if (--loading->left == 0)
        end_loading (loading);
}

void store_load_abort (struct store *self)
{
    if (self->loading)
        self->loading->store = NULL; // its memory is freed after the last answer
    self->loading = NULL;
}

// Whether the answer cannot be used. A key of a wrong type is deleted by the first batch, and
// counts as empty; after any other error, which may be temporary, everything is read again.
static bool answer_is_unusable (struct store_loading *loading, const char *key,
                                const redisReply *reply)
{
    struct store *store = loading->store;
    if (!store || !reply || reply->type != REDIS_REPLY_ERROR)
        return !store || !reply;
    loading->refused = loading->refused || !store_replace_wrong_key (store, key, reply);
    return true;
}

static void copy_reply_text (char *out, size_t room, const redisReply *reply)
{
    struct span text = reply_text (reply);
    snprintf (out, room, "%.*s", (int)text.size, text.size ? (const char *)text.data : "");
}

// -- counters

// Keep the counters of plan:meta, and notice data that were replaced.
static void on_meta_read (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading && !answer_is_unusable (loading, KEY_META, reply) && reply_is_array (reply, 6)) {
        struct store *store = loading->store;
        char data[sizeof store->data];
        loading->numbers.exec_id = (uint64_t)reply_counter (reply->element[0]);
        loading->numbers.seq = reply_counter (reply->element[1]);
        loading->has_seq = loading->numbers.seq || span_is (reply_text (reply->element[1]), "0");
        copy_reply_text (loading->numbers.epoch, sizeof loading->numbers.epoch, reply->element[2]);
        copy_reply_text (loading->schema, sizeof loading->schema, reply->element[3]);
        copy_reply_text (data, sizeof data, reply->element[4]);
        store->lost_all = store->lost_all || (*store->data && strcmp (data, store->data) != 0);
        memcpy (store->data, data, sizeof data);
        loading->numbers.plan_id = (uint64_t)reply_counter (reply->element[5]);
    }
    count_load_answer (owner, reply);
}

static void on_index_size (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading && !answer_is_unusable (loading, KEY_INDEX, reply))
        loading->numbers.plans = reply_counter (reply);
    count_load_answer (owner, reply);
}

// The size of the queue is not used: this only checks that the key has the right type.
static void on_queue_size (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading)
        answer_is_unusable (loading, KEY_TIME_SET, reply);
    count_load_answer (owner, reply);
}

// Note the id of the newest entry of the history.
static void on_newest_entry (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    uint64_t seq = 0, sub = 0;
    if (loading && !answer_is_unusable (loading, KEY_HISTORY, reply) && reply_is_array (reply, 1) &&
        reply_is_array (reply->element[0], 1) &&
        history_entry_parse (reply_text (reply->element[0]->element[0]), &seq, &sub) &&
        seq < INT64_MAX / 4 &&
        sub < INT64_MAX / 4) { // with higher ids, the writer replaces the key
        loading->history_seq = (int64_t)seq;
        loading->numbers.sub = (int64_t)sub;
    }
    count_load_answer (owner, reply);
}

// Note the highest entry id that the history ever had, even if that entry was deleted: Redis
// rejects lower ids. If XINFO is not permitted or there is no history, the id of the newest entry
// remains.
static void on_highest_entry_id (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    uint64_t seq, sub;
    for (size_t i = 0; loading && reply_is_array (reply, 0) && i + 1 < reply->elements; i += 2) {
        if (!span_is (reply_text (reply->element[i]), "last-generated-id") ||
            !history_entry_parse (reply_text (reply->element[i + 1]), &seq, &sub) ||
            seq >= INT64_MAX / 4 || sub >= INT64_MAX / 4 || (int64_t)seq < loading->history_seq)
            continue;
        loading->history_seq = (int64_t)seq;
        loading->numbers.sub = (int64_t)sub;
    }
    count_load_answer (owner, reply);
}

// Pass the targets' numbers of plans to the core.
static void on_target_counts (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading && !answer_is_unusable (loading, KEY_COUNT, reply) && reply_is_array (reply, 0))
        for (size_t i = 0; i + 1 < reply->elements; i += 2) {
            struct span field = reply_text (reply->element[i]);
            if (field.size > 2 && field.data[0] == 's' &&
                station_name_valid (span_of (field.data + 2, field.size - 2)))
                core_load_count (loading->store->core, span_of (field.data + 2, field.size - 2),
                                 reply_counter (reply->element[i + 1]));
        }
    count_load_answer (owner, reply);
}

// Process whether plan:class exists. This is the answer to the last of the commands about counters:
// pass all counters to the core, and give new data an identity and a schema.
static void on_class_key_exists (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading && !answer_is_unusable (loading, KEY_CLASS, reply)) {
        struct store *store = loading->store;
        struct core_numbers *numbers = &loading->numbers;
        numbers->classes = reply_number (reply) == 1;
        // If the seq counter was lost, it continues after the history. Without a history it
        // restarts in a new epoch, so that no number is used twice in an epoch.
        if (!loading->has_seq)
            numbers->seq = loading->history_seq;
        if (!loading->has_seq && !loading->history_seq)
            numbers->epoch[0] = '\0';
        if (numbers->seq != loading->history_seq)
            numbers->sub = 0;
        core_load_numbers (store->core, numbers);
        char text[24], schema[8];
        snprintf (text, sizeof text, "%" PRIx64, (uint64_t)store_now_us (store));
        snprintf (schema, sizeof schema, "%d", STORE_SCHEMA);
        if (!*store->data) {
            snprintf (store->data, sizeof store->data, "%s", text);
            store_write (store, WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("store"), TEXT (text),
                                       TEXT ("schema"), TEXT (schema)));
        }
    }
    count_load_answer (owner, reply);
}

// -- limits

void store_pass_limits (struct store *self, const redisReply *reply)
{
    if (!reply_is_array (reply, 0))
        return;
    core_begin_limits (self->core);
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const struct limit limit = limit_read (reply_text (reply->element[i + 1]));
        core_set_limit (self->core, reply_text (reply->element[i]), &limit);
    }
    core_end_limits (self->core);
}

static void on_limits_loaded (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading && !answer_is_unusable (loading, KEY_LIMITS, reply))
        store_pass_limits (loading->store, reply);
    count_load_answer (owner, reply);
}

static void on_tokens_loaded (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading && !answer_is_unusable (loading, KEY_TOKENS, reply) && reply_is_array (reply, 0))
        for (size_t i = 0; i + 1 < reply->elements; i += 2) {
            struct span used = reply_text (reply->element[i + 1]);
            core_load_tokens (loading->store->core, reply_text (reply->element[i]),
                              used.size ? strtod ((const char *)used.data, NULL) : 0);
        }
    count_load_answer (owner, reply);
}

// -- runs in flight

enum { PAGE = 1000 };

// Queue members of up to PAGE runs, kept while their classes are read.
struct run_page {
    struct store_loading *loading;
    size_t count;
    struct span members[PAGE]; // their texts are in `bytes`
    char bytes[];
};

static void on_run_classes (void *owner, const redisReply *reply)
{
    struct run_page *page = owner;
    struct store_loading *loading = loading_if_current (page->loading);
    if (loading)
        answer_is_unusable (loading, KEY_CLASS, reply);
    for (size_t i = 0; loading && reply_is_array (reply, page->count) && i < page->count; i++) {
        struct span target, class = reply_text (reply->element[i]);
        uint64_t id;
        if (class.size && message_key_parse (page->members[i], &target, &id))
            core_load_class (loading->store->core, target, id, class);
    }
    struct store_loading *all = page->loading;
    free (page);
    count_load_answer (all, reply);
}

// A page with copies of these members, every second element of the reply.
static struct run_page *run_page_new (struct store_loading *loading, redisReply *const *members,
                                      size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += reply_text (members[2 * i]).size;
    struct run_page *page = memory_new (sizeof *page + bytes);
    char *at = page->bytes;
    page->loading = loading;
    page->count = count;
    for (size_t i = 0; i < count; i++) {
        struct span member = reply_text (members[2 * i]);
        if (member.size)
            memcpy (at, member.data, member.size);
        page->members[i] = span_of (at, member.size);
        at += member.size;
    }
    return page;
}

// Read priority and group (plan:class) of plans with runs in flight, which count for limits.
static void read_run_classes (struct store_loading *loading, redisReply *const *members,
                              size_t count)
{
    struct span words[2 + PAGE] = {TEXT ("HMGET"), TEXT (KEY_CLASS)};
    struct run_page *page = run_page_new (loading, members, count);
    memcpy (words + 2, page->members, count * sizeof *words);
    loading->left++;
    store_send_command (loading->store, LINK_ONCE, words, 2 + count, on_run_classes, page);
}

static void read_teams (struct store_loading *loading);

// Pass the runs in flight to the core, then read their classes and teams.
static void on_runs_loaded (void *owner, const redisReply *reply)
{
    struct store_loading *loading = loading_if_current (owner);
    if (loading && !answer_is_unusable (loading, KEY_RUNS, reply) && reply_is_array (reply, 0)) {
        struct core *core = loading->store->core;
        for (size_t i = 0; i + 1 < reply->elements; i += 2) {
            struct span target;
            uint64_t id;
            if (message_key_parse (reply_text (reply->element[i]), &target, &id))
                core_load_run (core, target, id, reply_text (reply->element[i + 1]));
        }
        for (size_t i = 0; core_has_classes (core) && 2 * i < reply->elements; i += PAGE) {
            size_t left = reply->elements / 2 - i;
            read_run_classes (loading, reply->element + 2 * i, left < PAGE ? left : PAGE);
        }
        read_teams (loading);
    }
    count_load_answer (owner, reply);
}

// -- the teams of runs that workers may take

enum { TEAMS_MAX = 4096 };

struct team_read {
    struct store_loading *loading;
    struct core_team_name name;
    char *message;
    struct core_found found;
};

// Pass the team and what was read before it to the core.
static void on_team_loaded (void *owner, const redisReply *reply)
{
    struct team_read *self = owner;
    struct store_loading *loading = self->loading;
    struct span *spans = reply_texts (reply, &self->found.team_count);
    self->found.team = spans;
    if (loading_if_current (loading) && reply && reply->type == REDIS_REPLY_ERROR &&
        !link_is_wrong_type (reply))
        loading->refused = true;
    else if (loading_if_current (loading) && reply)
        core_load_team (loading->store->core, self->name.target, self->name.id, &self->found,
                        store_now_us (loading->store));
    free (spans);
    free (self->message);
    free (self);
    count_load_answer (loading, reply);
}

static void on_team_score (void *owner, const redisReply *reply)
{
    struct team_read *self = owner;
    self->found.score_us = reply ? reply_score_us (reply) : -1;
}

static void on_team_message (void *owner, const redisReply *reply)
{
    struct team_read *self = owner;
    struct span message = reply ? reply_text (reply) : (struct span){0};
    self->message = memory_copy (message.data, message.size);
    self->found.message = message.data ? span_of (self->message, message.size) : message;
    self->found.target = self->name.target;
}

// Read message, score and team of a plan; on_team_loaded gets the last answer.
static void read_team (struct store_loading *loading, const struct core_team_name *name)
{
    struct store *store = loading->store;
    char key[MEMBER_MAX + 2];
    struct team_read *read = memory_new (sizeof *read);
    *read = (struct team_read){.loading = loading, .name = *name, .found = {.report = -1}};
    loading->left++;
    plan_key_make (key, KEY_MESSAGE, name->target, name->id);
    store_send_command (store, LINK_ONCE, WORDS (TEXT ("GET"), TEXT (key)), on_team_message, read);
    store_send_command (store, LINK_ONCE, WORDS (TEXT ("ZSCORE"), TEXT (KEY_TIME_SET), TEXT (key)),
                        on_team_score, read);
    plan_key_make (key, KEY_TEAM, name->target, name->id);
    store_send_command (store, LINK_ONCE, WORDS (TEXT ("HGETALL"), TEXT (key)), on_team_loaded,
                        read);
}

static void read_teams (struct store_loading *loading)
{
    struct core_team_name *names = memory_new (TEAMS_MAX * sizeof *names);
    for (size_t count; (count = core_unread_teams (loading->store->core, names, TEAMS_MAX));)
        for (size_t i = 0; i < count; i++)
            read_team (loading, &names[i]);
    free (names);
}

void store_load_start (struct store *self)
{
    static const struct load_command {
        link_reply_fn *reply;
        const char *words[8];
    } load_commands[] = {
        {on_meta_read, {"HMGET", KEY_META, "exec", "seq", "epoch", "schema", "store", "id"}},
        {on_index_size, {"ZCARD", KEY_INDEX}},
        {on_queue_size, {"ZCARD", KEY_TIME_SET}},
        {on_newest_entry, {"XREVRANGE", KEY_HISTORY, "+", "-", "COUNT", "1"}},
        {on_highest_entry_id, {"XINFO", "STREAM", KEY_HISTORY}},
        {on_target_counts, {"HGETALL", KEY_COUNT}},
        {on_class_key_exists, {"EXISTS", KEY_CLASS}},
        {on_limits_loaded, {"HGETALL", KEY_LIMITS}},
        {on_tokens_loaded, {"HGETALL", KEY_TOKENS}},
        {on_runs_loaded, {"HGETALL", KEY_RUNS}},
    };
    enum { LOAD_COMMANDS = sizeof load_commands / sizeof *load_commands };
    store_load_abort (self);
    struct store_loading *loading = memory_new (sizeof *loading);
    *loading = (struct store_loading){.store = self, .left = LOAD_COMMANDS};
    self->loading = loading;
    for (size_t i = 0; i < LOAD_COMMANDS; i++) {
        struct span words[8];
        size_t count = 0;
        for (; count < 8 && load_commands[i].words[count]; count++)
            words[count] = TEXT (load_commands[i].words[count]);
        store_send_command (self, LINK_ONCE, words, count, load_commands[i].reply, loading);
    }
}
