#include "callback_state.h"

#include <inttypes.h>
#include <stdlib.h>

#include "memory.h"
#include "redis_keys.h"
#include "stored_text.h"

struct states_query {
    size_t left; // requests without an answer
    callback_states_fn *call;
    void *owner;
};

struct state_query {
    struct states_query *asking;
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
    struct state_query *self = owner;
    bool text = reply && reply->type == REDIS_REPLY_STRING;
    struct span head = text ? span_of (reply->str, reply->len) : (struct span){0};
    const char *word = callback_state_name (head);
    self->exists = word != NULL;
    if (word)
        json_object_set_new (self->callback, "state", json_string (word));
}

static void on_resolved (void *owner, const redisReply *reply)
{
    struct state_query *self = owner;
    struct states_query *asking = self->asking;
    if (reply && !self->exists)
        json_object_set_new (
            self->callback, "state",
            json_string (reply->type == REDIS_REPLY_NIL ? "delivered" : "given_up"));
    json_decref (self->callback);
    free (self);
    query_answered (asking);
}

static void read_state (struct station *self, struct states_query *asking, json_t *run, uint64_t id)
{
    char hex[IDENT_SIZE], key[STATION_NAME_MAX + IDENT_SIZE + 16];
    struct state_query *question = memory_new (sizeof *question);
    *question = (struct state_query){asking, json_object (), false};
    ident_text (id, hex);
    json_object_set_new (question->callback, "id", json_string (hex));
    json_object_set (run, "callback", question->callback);
    snprintf (key, sizeof key, KEY_MESSAGE "%.*s:%s", STATION_NAME_MAX,
              self->settings->callback_target, hex);
    asking->left++;
    store_get (self->store,
               (const struct span[]){span_text ("GETRANGE"), span_text (key), span_text ("0"),
                                     span_text ("255")},
               4, on_head, question);
    store_get (
        self->store,
        (const struct span[]){span_text ("ZSCORE"), span_text (KEY_GIVEN_UP), span_text (hex)}, 3,
        on_resolved, question);
}

void callback_states (struct station *self, json_t *runs, callback_states_fn *call, void *owner)
{
    struct states_query *asking = memory_new (sizeof *asking);
    *asking = (struct states_query){1, call, owner};
    json_t *run;
    size_t index;
    json_array_foreach (runs, index, run)
    {
        json_int_t id = json_integer_value (json_object_get (run, "callback"));
        if (id > 0)
            read_state (self, asking, run, (uint64_t)id);
    }
    query_answered (asking);
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
