// Loads the data that a new owner needs before it decides: counters, limits and the runs in flight.
// Waiting plans are read as they become due (store_queue.c), other plans on request.
#include <inttypes.h>
#include <stdlib.h>

#include "core_pull.h"
#include "frames.h"
#include "memory.h"
#include "store_private.h"

// A loading in progress. All commands are sent at once and answered in order.
struct store_loading {
    struct store *store; // NULL: the loading was aborted
    size_t answered;     // number of answers to load_commands
    size_t left;         // number of all answers still to come
    bool lost; // an answer is missing: the connection was lost, and everything will be read again
    bool refused; // an answer was an error, so the data are unknown
    struct core_numbers numbers;
    bool has_seq;        // plan:meta has a valid seq
    int64_t history_seq; // the highest seq that the history ever had
    char schema[16];     // `schema` in plan:meta
};

// All answers have come: serve, migrate, or reconnect to read again.
static void end_loading (struct store_loading *loading)
{
    struct store *store = loading->store;
    bool former = strcmp (loading->schema, "1") == 0 || strcmp (loading->schema, "1>2") == 0;
    bool unknown = *loading->schema && !former && strcmp (loading->schema, SCHEMA_TEXT) != 0;
    if (store)
        store->loading = NULL;
    if (loading->lost)
        store = NULL;
    if (store && loading->refused)
        link_renew (store->link, "refuses to be read"); // unread data must not count as empty
    else if (store && unknown) // an owner of a later version wrote it after the link was opened
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
    if (!reply || reply->type != REDIS_REPLY_ERROR)
        return !reply;
    loading->refused = loading->refused || !store_replace_wrong_key (loading->store, key, reply);
    return true;
}

// -- counters

// Keep the counters of plan:meta, and notice data that were replaced.
static void load_meta (struct store_loading *self, const redisReply *reply)
{
    struct store *store = self->store;
    char data[sizeof store->data_id];
    if (!reply_is_array (reply, 6))
        return;
    self->numbers.exec_id = (uint64_t)reply_counter (reply->element[0]);
    self->numbers.seq = reply_counter (reply->element[1]);
    self->has_seq = self->numbers.seq || span_is (reply_text (reply->element[1]), "0");
    copy_text (self->numbers.epoch, sizeof self->numbers.epoch, reply_text (reply->element[2]));
    copy_text (self->schema, sizeof self->schema, reply_text (reply->element[3]));
    copy_text (data, sizeof data, reply_text (reply->element[4]));
    store->lost_all = store->lost_all || (*store->data_id && strcmp (data, store->data_id) != 0);
    memcpy (store->data_id, data, sizeof data);
    self->numbers.plan_id = (uint64_t)reply_counter (reply->element[5]);
}

static void load_index_size (struct store_loading *self, const redisReply *reply)
{
    self->numbers.plans = reply_counter (reply);
}

// Note the highest entry id of the history. Ids that are too high are ignored: the writer then
// replaces the key.
static void note_entry_id (struct store_loading *self, struct span id)
{
    uint64_t seq, sub;
    if (!history_entry_parse (id, &seq, &sub) || seq >= INT64_MAX / 4 || sub >= INT64_MAX / 4 ||
        (int64_t)seq < self->history_seq)
        return;
    self->history_seq = (int64_t)seq;
    self->numbers.sub = (int64_t)sub;
}

static void load_newest_entry (struct store_loading *self, const redisReply *reply)
{
    if (reply_is_array (reply, 1) && reply_is_array (reply->element[0], 1))
        note_entry_id (self, reply_text (reply->element[0]->element[0]));
}

// Note the highest entry id that the history ever had, even if that entry was deleted: Redis
// rejects lower ids. If XINFO is not permitted or there is no history, the id of the newest entry
// remains.
static void load_highest_entry_id (struct store_loading *self, const redisReply *reply)
{
    note_entry_id (self, reply_text (reply_field (reply, "last-generated-id")));
}

// Pass the targets' numbers of plans to the core.
static void load_target_counts (struct store_loading *self, const redisReply *reply)
{
    for (size_t i = 0; reply_is_array (reply, i + 2); i += 2) {
        struct span field = reply_text (reply->element[i]);
        if (field.size > 2 && field.data[0] == 's' &&
            station_name_valid (span_of (field.data + 2, field.size - 2)))
            core_load_count (self->store->core, span_of (field.data + 2, field.size - 2),
                             reply_counter (reply->element[i + 1]));
    }
}

// Process whether plan:class exists. This is the answer to the last of the commands about counters:
// pass all counters to the core, and give new data an identity and a schema.
static void load_class_key (struct store_loading *self, const redisReply *reply)
{
    struct store *store = self->store;
    struct core_numbers *numbers = &self->numbers;
    numbers->classes = reply_number (reply) == 1;
    // If the seq counter was lost, it continues after the history. Without a history it restarts in
    // a new epoch, so that no number is used twice in an epoch.
    if (!self->has_seq)
        numbers->seq = self->history_seq;
    if (!self->has_seq && !self->history_seq)
        numbers->epoch[0] = '\0';
    if (numbers->seq != self->history_seq)
        numbers->sub = 0;
    core_load_numbers (store->core, numbers);
    if (*store->data_id)
        return;
    snprintf (store->data_id, sizeof store->data_id, "%" PRIx64, (uint64_t)store_now_us (store));
    store_put (store, WORDS (TEXT ("HSET"), TEXT (KEY_META), TEXT ("store"), TEXT (store->data_id),
                             TEXT ("schema"), TEXT (SCHEMA_TEXT)));
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

static void load_limits (struct store_loading *self, const redisReply *reply)
{
    store_pass_limits (self->store, reply);
}

static void load_tokens (struct store_loading *self, const redisReply *reply)
{
    for (size_t i = 0; reply_is_array (reply, i + 2); i += 2) {
        struct span used = reply_text (reply->element[i + 1]);
        core_load_tokens (self->store->core, reply_text (reply->element[i]),
                          used.size ? strtod ((const char *)used.data, NULL) : 0);
    }
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
    if (loading->store && reply && reply->type == REDIS_REPLY_ERROR && !link_is_wrong_type (reply))
        loading->refused = true;
    else if (loading->store && reply)
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
    self->found.score_us = reply_score_us (reply);
}

static void on_team_message (void *owner, const redisReply *reply)
{
    struct team_read *self = owner;
    struct span message = reply_text (reply);
    self->message = memory_copy (message.data, message.size);
    self->found.message = message.data ? span_of (self->message, message.size) : message;
    self->found.target = self->name.target;
}

// Read message, score and team of a plan; on_team_loaded gets the last answer.
static void read_team (struct store_loading *loading, const struct core_team_name *name)
{
    struct store *store = loading->store;
    struct span key = PLAN_KEY (KEY_MESSAGE, name->target, name->id);
    struct team_read *read = memory_new (sizeof *read);
    *read = (struct team_read){.loading = loading, .name = *name, .found = {.report = -1}};
    loading->left++;
    store_get (store, WORDS (TEXT ("GET"), key), on_team_message, read);
    store_get (store, WORDS (TEXT ("ZSCORE"), TEXT (KEY_TIME_SET), key), on_team_score, read);
    store_get (store, WORDS (TEXT ("HGETALL"), PLAN_KEY (KEY_TEAM, name->target, name->id)),
               on_team_loaded, read);
}

static void read_teams (struct store_loading *loading)
{
    struct core_team_name *names = memory_new (TEAMS_MAX * sizeof *names);
    for (size_t count; (count = core_unread_teams (loading->store->core, names, TEAMS_MAX));)
        for (size_t i = 0; i < count; i++)
            read_team (loading, &names[i]);
    free (names);
}

// -- runs in flight

enum { PAGE = 1000 };

// Queue members of up to PAGE runs, kept while their classes are read.
struct run_page {
    struct store_loading *loading;
    struct frames *members;
};

static void on_run_classes (void *owner, const redisReply *reply)
{
    struct run_page *page = owner;
    struct store_loading *loading = page->loading;
    struct frames *members = page->members;
    if (loading->store)
        answer_is_unusable (loading, KEY_CLASS, reply);
    for (size_t i = 0;
         loading->store && reply_is_array (reply, members->count) && i < members->count; i++) {
        struct span target, class = reply_text (reply->element[i]);
        uint64_t id;
        if (class.size && message_key_parse (members->at[i], &target, &id))
            core_load_class (loading->store->core, target, id, class);
    }
    free (members);
    free (page);
    count_load_answer (loading, reply);
}

// Read priority and group (plan:class) of plans with runs in flight, which count for limits. The
// members are every second element.
static void read_run_classes (struct store_loading *loading, redisReply *const *members,
                              size_t count)
{
    struct span words[2 + PAGE] = {TEXT ("HMGET"), TEXT (KEY_CLASS)};
    struct run_page *page = memory_new (sizeof *page);
    for (size_t i = 0; i < count; i++)
        words[2 + i] = reply_text (members[2 * i]);
    *page = (struct run_page){loading, frames_copy (words + 2, count)};
    loading->left++;
    store_get (loading->store, words, 2 + count, on_run_classes, page);
}

// Pass the runs in flight to the core, then read their classes and teams.
static void load_runs (struct store_loading *self, const redisReply *reply)
{
    struct core *core = self->store->core;
    if (!reply_is_array (reply, 0))
        return;
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        struct span target;
        uint64_t id;
        if (message_key_parse (reply_text (reply->element[i]), &target, &id))
            core_load_run (core, target, id, reply_text (reply->element[i + 1]));
    }
    for (size_t i = 0; core_has_classes (core) && 2 * i < reply->elements; i += PAGE) {
        size_t left = reply->elements / 2 - i;
        read_run_classes (self, reply->element + 2 * i, left < PAGE ? left : PAGE);
    }
    read_teams (self);
}

// -- all commands

static const struct load_command {
    const char *key; // checked to have the right type; NULL = errors are ignored
    void (*load) (struct store_loading *self, const redisReply *reply); // NULL = only checked
    const char *words[9];
} load_commands[] = {
    {KEY_META, load_meta, {"HMGET", KEY_META, "exec", "seq", "epoch", "schema", "store", "id"}},
    {KEY_INDEX, load_index_size, {"ZCARD", KEY_INDEX}},
    {KEY_TIME_SET, NULL, {"ZCARD", KEY_TIME_SET}},
    {KEY_HISTORY, load_newest_entry, {"XREVRANGE", KEY_HISTORY, "+", "-", "COUNT", "1"}},
    {NULL, load_highest_entry_id, {"XINFO", "STREAM", KEY_HISTORY}},
    {KEY_COUNT, load_target_counts, {"HGETALL", KEY_COUNT}},
    {KEY_CLASS, load_class_key, {"EXISTS", KEY_CLASS}},
    {KEY_LIMITS, load_limits, {"HGETALL", KEY_LIMITS}},
    {KEY_TOKENS, load_tokens, {"HGETALL", KEY_TOKENS}},
    {KEY_RUNS, load_runs, {"HGETALL", KEY_RUNS}},
};
enum { LOAD_COMMANDS = sizeof load_commands / sizeof *load_commands };

static void on_load_answer (void *owner, const redisReply *reply)
{
    struct store_loading *self = owner;
    const struct load_command *command = &load_commands[self->answered++];
    bool usable =
        self->store && reply && (!command->key || !answer_is_unusable (self, command->key, reply));
    if (usable && command->load)
        command->load (self, reply);
    count_load_answer (self, reply);
}

void store_load_start (struct store *self)
{
    store_load_abort (self);
    struct store_loading *loading = memory_new (sizeof *loading);
    *loading = (struct store_loading){.store = self, .left = LOAD_COMMANDS};
    self->loading = loading;
    for (size_t i = 0; i < LOAD_COMMANDS; i++)
        store_get_texts (self, load_commands[i].words, on_load_answer, loading);
}
