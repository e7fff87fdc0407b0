// Added targets, kinds of plans, limits and identities. Each of these is a hash, which is read as a
// whole unless a single kind is requested. A change is a row of the next batch.
#include <stdlib.h>

#include "memory.h"
#include "store_private.h"

enum { KINDS_MAX = 1000, LIMITS_MAX = 1000, NAME_MAX_SIZE = 96 };

// A pending call.
struct hash_call {
    struct store *store;
    const char *key;
    char name[NAME_MAX_SIZE];
    char *text; // NULL = none
    int command;
    void (*reply) (void); // the caller's function, cast back to its own type for the call
    void *owner;
};

static struct hash_call *hash_call_new (struct store *self, const char *key, struct span name,
                                        const char *text, int command, void (*reply) (void),
                                        void *owner)
{
    struct hash_call *hash_call = memory_new (sizeof *hash_call);
    *hash_call = (struct hash_call){.store = self,
                                    .key = key,
                                    .text = text ? memory_text (text) : NULL,
                                    .command = command,
                                    .reply = reply,
                                    .owner = owner};
    copy_text (hash_call->name, sizeof hash_call->name, name);
    return hash_call;
}

static void hash_call_free (struct hash_call *self)
{
    free (self->text);
    free (self);
}

static void read_hash (struct hash_call *self, enum link_repeat repeat, link_reply_fn *reply)
{
    store_send_command (self->store, repeat, WORDS (TEXT ("HGETALL"), TEXT (self->key)), reply,
                        self);
}

static void write_hash_field (struct hash_call *self)
{
    store_put (self->store,
               WORDS (TEXT ("HSET"), TEXT (self->key), TEXT (self->name), TEXT (self->text)));
}

static void remove_hash_field (struct hash_call *self)
{
    store_put (self->store, WORDS (TEXT ("HDEL"), TEXT (self->key), TEXT (self->name)));
}

// -- targets that were added

static void on_targets_read (void *owner, const redisReply *reply)
{
    struct hash_call *self = owner;
    struct store_stations answer = {.reply = reply};
    answer.result = reply_key_result (reply, &answer.error);
    ((store_stations_fn *)self->reply) (self->owner, &answer);
    hash_call_free (self);
}

static void on_target_written (void *owner, enum store_result result, const char *error)
{
    struct hash_call *self = owner;
    if (result == STORE_DONE || result == STORE_UNSURE) {
        read_hash (self, LINK_ONCE, on_targets_read);
        return;
    }
    ((store_stations_fn *)self->reply) (self->owner,
                                        &(struct store_stations){.result = result, .error = error});
    hash_call_free (self);
}

void store_stations (struct store *self, const char *name, const char *text,
                     enum link_repeat repeat, store_stations_fn *reply, void *owner)
{
    struct hash_call *hash_call = hash_call_new (self, KEY_STATIONS, span_text (name ? name : ""),
                                                 text, 0, (void (*) (void))reply, owner);
    if (!name) {
        read_hash (hash_call, repeat, on_targets_read);
        return;
    }
    if (text)
        write_hash_field (hash_call);
    else
        remove_hash_field (hash_call);
    store_put (self, WORDS (TEXT ("HINCRBY"), TEXT (KEY_META), TEXT ("stations"), TEXT ("1")));
    store_reply_when_written (self, repeat == LINK_REPEAT ? WAITER_SURE : WAITER_CLIENT,
                              on_target_written, hash_call);
}

bool store_station_at (const struct store_stations *answer, size_t index, struct span *ret_name,
                       struct span *ret_text)
{
    const redisReply *reply = answer->reply;
    if (!reply || reply->type != REDIS_REPLY_ARRAY || 2 * index + 1 >= reply->elements)
        return false;
    *ret_name = reply_text (reply->element[2 * index]);
    *ret_text = reply_text (reply->element[2 * index + 1]);
    return true;
}

// -- kinds

static void answer_kinds (struct hash_call *self, const struct store_kinds *answer)
{
    ((store_kinds_fn *)self->reply) (self->owner, answer);
    hash_call_free (self);
}

static void on_kind_written (void *owner, enum store_result result, const char *error)
{
    struct hash_call *self = owner;
    answer_kinds (self, &(struct store_kinds){.result = result,
                                              .count = 1,
                                              .name = span_text (self->name),
                                              .json = span_text (self->text ? self->text : ""),
                                              .error = error});
}

// Answer KIND_GET, which reads only the requested kind: all kinds may be megabytes, and each
// submission with a kind reads one.
static void on_kind_read (void *owner, const redisReply *reply)
{
    struct hash_call *self = owner;
    struct store_kinds answer = {.name = span_text (self->name)};
    answer.result = reply_key_result (reply, &answer.error);
    if (answer.result == STORE_DONE)
        answer.json = reply_text (reply);
    answer.count = answer.json.data ? 1 : 0;
    answer_kinds (self, &answer);
}

// All kinds are read: list them, or make the change if it is possible.
static void on_kinds_read (void *owner, const redisReply *reply)
{
    struct hash_call *self = owner;
    struct store_kinds answer = {.reply = reply};
    answer.result = reply_key_result (reply, &answer.error);
    const redisReply *present = reply_field (reply, self->name);
    size_t count = reply_is_array (reply, 0) ? reply->elements / 2 : 0;
    if (answer.result != STORE_DONE) {
        answer_kinds (self, &answer);
        return;
    }
    bool fits = present || count < KINDS_MAX;
    if (self->command == KIND_LIST) {
        answer.count = count;
    } else if ((self->command == KIND_PUT && fits) || (self->command == KIND_REMOVE && present)) {
        if (self->command == KIND_PUT)
            write_hash_field (self);
        else
            remove_hash_field (self);
        store_reply_when_written (self->store, WAITER_CLIENT, on_kind_written, self);
        return;
    }
    answer_kinds (self, &answer);
}

void store_kinds (struct store *self, enum kind_command command, struct span name, const char *json,
                  store_kinds_fn *reply, void *owner)
{
    struct hash_call *hash_call =
        hash_call_new (self, KEY_KINDS, name, json, (int)command, (void (*) (void))reply, owner);
    if (command == KIND_GET)
        store_get (self, WORDS (TEXT ("HGET"), TEXT (KEY_KINDS), TEXT (hash_call->name)),
                   on_kind_read, hash_call);
    else
        read_hash (hash_call, LINK_ONCE, on_kinds_read);
}

bool store_kind_at (const struct store_kinds *answer, size_t index, struct span *ret_name,
                    struct span *ret_json)
{
    if (index >= answer->count)
        return false;
    *ret_name = answer->name;
    *ret_json = answer->json;
    if (answer->name.size)
        return true;
    *ret_name = reply_text (answer->reply->element[2 * index]);
    *ret_json = reply_text (answer->reply->element[2 * index + 1]);
    return true;
}

// -- limits

static void answer_limits (struct hash_call *self, const struct store_limits *answer)
{
    ((store_limits_fn *)self->reply) (self->owner, answer);
    hash_call_free (self);
}

static void on_limit_written (void *owner, enum store_result result, const char *error)
{
    struct hash_call *self = owner;
    self->store->limits_unwritten--;
    answer_limits (self,
                   &(struct store_limits){.result = result == STORE_UNSURE ? STORE_DONE : result,
                                          .done = true,
                                          .error = error});
}

// All limits are read: list them, or make the change if it is possible.
static void on_limits_read (void *owner, const redisReply *reply)
{
    struct hash_call *self = owner;
    struct core *core = self->store->core;
    struct store_limits answer = {.reply = reply};
    answer.result = reply_key_result (reply, &answer.error);
    answer.count = reply_is_array (reply, 0) ? reply->elements / 2 : 0;
    bool present = reply_field (reply, self->name) != NULL,
         fits = present || answer.count < LIMITS_MAX;
    bool writes =
        (self->command == LIMIT_SET && fits) || (self->command == LIMIT_REMOVE && present);
    if (answer.result != STORE_DONE || !writes) {
        answer_limits (self, &answer);
        return;
    }
    struct limit limit = limit_read (span_text (self->text));
    if (self->command == LIMIT_SET)
        write_hash_field (self);
    else
        remove_hash_field (self);
    core_set_limit (core, span_text (self->name), self->command == LIMIT_SET ? &limit : NULL);
    self->store->limits_unwritten++;
    self->store->limit_writes++;
    store_reply_when_written (self->store, WAITER_CLIENT, on_limit_written, self);
}

void store_limits (struct store *self, enum limit_command command, const char *name,
                   const struct limit *limit, store_limits_fn *reply, void *owner)
{
    char text[LIMIT_TEXT_MAX] = "";
    if (limit)
        limit_write (limit, text);
    struct hash_call *hash_call = hash_call_new (self, KEY_LIMITS, span_text (name ? name : ""),
                                                 text, (int)command, (void (*) (void))reply, owner);
    read_hash (hash_call, LINK_ONCE, on_limits_read);
}

bool store_limit_at (const struct store_limits *answer, size_t index, struct span *ret_name,
                     struct limit *ret)
{
    if (index >= answer->count)
        return false;
    *ret_name = reply_text (answer->reply->element[2 * index]);
    *ret = limit_read (reply_text (answer->reply->element[2 * index + 1]));
    return true;
}

// -- identities: the hash maps "TARGET IDENTITY" to "INSTANCE HOME". For a target, the identity of
// this home is reused; else one of another home, as its station is not the owner any more; else a
// new one is stored.

struct identity_lookup {
    struct store *store;
    char home[300], target[STATION_NAME_MAX + 1], fresh[64], replaces[64];
    char known[64];
    store_identity_fn *reply;
    void *owner;
};

static void answer_identity (struct identity_lookup *self, const struct store_identity *answer)
{
    self->reply (self->owner, answer);
    free (self);
}

static void on_identity_written (void *owner, enum store_result result, const char *error)
{
    struct identity_lookup *self = owner;
    bool used = *self->known;
    answer_identity (
        self, &(struct store_identity){.result = result == STORE_UNSURE ? STORE_DONE : result,
                                       .identity = span_text (used ? self->known : self->fresh),
                                       .used = used,
                                       .error = error});
}

// Keep a stored identity as `known` if it is of this target and may be reused here.
static void try_identity (struct identity_lookup *self, struct span name, struct span whose)
{
    size_t size = strlen (self->target);
    const uint8_t *blank = whose.size ? memchr (whose.data, ' ', whose.size) : NULL;
    if (name.size <= size + 1 || memcmp (name.data, self->target, size) != 0 ||
        name.data[size] != ' ' || !blank)
        return;
    struct span identity = span_of (name.data + size + 1, name.size - size - 1);
    struct span home = span_of (blank + 1, (size_t)(whose.data + whose.size - (blank + 1)));
    bool own = span_is (home, self->home);
    if (span_is (identity, self->replaces) || identity.size >= sizeof self->known ||
        (!own && (*self->known || *self->replaces)))
        return;
    copy_text (self->known, sizeof self->known, identity);
}

// Choose an identity among the stored ones or the fresh one, and store it under this station.
static void on_identities_read (void *owner, const redisReply *reply)
{
    struct identity_lookup *self = owner;
    struct store *store = self->store;
    char name[sizeof self->target + 1 + sizeof self->fresh], whose[sizeof self->home + 32];
    const char *error;
    if (reply_key_result (reply, &error) != STORE_DONE) {
        answer_identity (self, &(struct store_identity){.result = STORE_ERROR, .error = error});
        return;
    }
    for (size_t i = 0; reply_is_array (reply, 0) && i + 1 < reply->elements; i += 2)
        try_identity (self, reply_text (reply->element[i]), reply_text (reply->element[i + 1]));
    if (*self->replaces) {
        snprintf (name, sizeof name, "%s %s", self->target, self->replaces);
        store_put (store, WORDS (TEXT ("HDEL"), TEXT (KEY_IDENTITIES), TEXT (name)));
    }
    snprintf (name, sizeof name, "%s %s", self->target, *self->known ? self->known : self->fresh);
    snprintf (whose, sizeof whose, "%s %s", store->instance, self->home);
    store_put (store, WORDS (TEXT ("HSET"), TEXT (KEY_IDENTITIES), TEXT (name), TEXT (whose)));
    store_reply_when_written (store, WAITER_SURE, on_identity_written, self);
}

void store_identity (struct store *self, const struct store_identity_wish *wish,
                     store_identity_fn *reply, void *owner)
{
    struct identity_lookup *identity_lookup = memory_new (sizeof *identity_lookup);
    identity_lookup->store = self;
    identity_lookup->reply = reply;
    identity_lookup->owner = owner;
    snprintf (identity_lookup->home, sizeof identity_lookup->home, "%s", wish->home);
    snprintf (identity_lookup->target, sizeof identity_lookup->target, "%s", wish->target);
    snprintf (identity_lookup->fresh, sizeof identity_lookup->fresh, "%s", wish->fresh);
    snprintf (identity_lookup->replaces, sizeof identity_lookup->replaces, "%s", wish->replaces);
    store_send_command (self, LINK_REPEAT, WORDS (TEXT ("HGETALL"), TEXT (KEY_IDENTITIES)),
                        on_identities_read, identity_lookup);
}
