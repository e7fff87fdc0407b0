// Added targets, kinds of plans, limits and identities. Each of these is a hash, which is read as a
// whole unless a single kind is requested. A change is a row of the next batch.
#include <stdlib.h>

#include "memory.h"
#include "store_private.h"

enum { NAMES_MAX = 1000, NAME_MAX_SIZE = 96 };

// A pending call about targets, kinds or limits.
struct hash_call {
    struct store *store;
    const char *key;
    char name[NAME_MAX_SIZE];
    char *text; // NULL = none
    bool puts, removes, is_limit;
    store_named_fn *reply;
    void *owner;
};

static struct hash_call *hash_call_new (struct store *self, const char *key, struct span name,
                                        const char *text, store_named_fn *reply, void *owner)
{
    struct hash_call *hash_call = memory_new (sizeof *hash_call);
    *hash_call = (struct hash_call){.store = self,
                                    .key = key,
                                    .text = text ? memory_text (text) : NULL,
                                    .reply = reply,
                                    .owner = owner};
    copy_text (hash_call->name, sizeof hash_call->name, name);
    return hash_call;
}

static void answer_hash_call (struct hash_call *self, const struct store_named *answer)
{
    self->reply (self->owner, answer);
    free (self->text);
    free (self);
}

static void write_hash_change (struct hash_call *self)
{
    if (self->puts)
        store_put (self->store,
                   WORDS (TEXT ("HSET"), TEXT (self->key), TEXT (self->name), TEXT (self->text)));
    else
        store_put (self->store, WORDS (TEXT ("HDEL"), TEXT (self->key), TEXT (self->name)));
}

static void on_hash_written (void *owner, enum store_result result, const char *error)
{
    struct hash_call *self = owner;
    if (self->is_limit)
        self->store->limits_unwritten--;
    if (self->is_limit && result == STORE_UNSURE)
        result = STORE_DONE;
    answer_hash_call (self, &(struct store_named){.result = result,
                                                  .count = 1,
                                                  .name = span_text (self->name),
                                                  .text = span_text (self->text ? self->text : ""),
                                                  .error = error});
}

// The whole hash was read: return it, or make the change if it is possible.
static void on_hash_read (void *owner, const redisReply *reply)
{
    struct hash_call *self = owner;
    struct store *store = self->store;
    struct store_named answer = {.reply = reply};
    answer.result = reply_key_result (reply, &answer.error);
    bool present = reply_field (reply, self->name) != NULL;
    size_t count = reply_is_array (reply, 0) ? reply->elements / 2 : 0;
    bool changes = (self->puts && (present || count < NAMES_MAX)) || (self->removes && present);
    answer.count = self->puts || self->removes ? 0 : count;
    if (answer.result != STORE_DONE || !changes) {
        answer_hash_call (self, &answer);
        return;
    }
    write_hash_change (self);
    if (self->is_limit) {
        struct limit limit = limit_read (span_text (self->text));
        core_set_limit (store->core, span_text (self->name), self->puts ? &limit : NULL);
        store->limits_unwritten++;
        store->limit_writes++;
    }
    store_reply_when_written (store, WAITER_CLIENT, on_hash_written, self);
}

static void read_hash (struct hash_call *self, enum link_repeat repeat)
{
    store_send_command (self->store, repeat, WORDS (TEXT ("HGETALL"), TEXT (self->key)),
                        on_hash_read, self);
}

bool store_named_at (const struct store_named *answer, size_t index, struct span *ret_name,
                     struct span *ret_text)
{
    if (index >= answer->count)
        return false;
    *ret_name = answer->name;
    *ret_text = answer->text;
    if (answer->name.size)
        return true;
    *ret_name = reply_text (answer->reply->element[2 * index]);
    *ret_text = reply_text (answer->reply->element[2 * index + 1]);
    return true;
}

// -- targets that were added

static void on_target_written (void *owner, enum store_result result, const char *error)
{
    struct hash_call *self = owner;
    if (result == STORE_DONE || result == STORE_UNSURE)
        read_hash (self, LINK_ONCE);
    else
        answer_hash_call (self, &(struct store_named){.result = result, .error = error});
}

void store_stations (struct store *self, const char *name, const char *text,
                     enum link_repeat repeat, store_named_fn *reply, void *owner)
{
    struct hash_call *hash_call =
        hash_call_new (self, KEY_STATIONS, span_text (name ? name : ""), text, reply, owner);
    if (!name) {
        read_hash (hash_call, repeat);
        return;
    }
    hash_call->puts = text != NULL;
    write_hash_change (hash_call);
    hash_call->puts = false; // after the write, only read all targets
    store_put (self, WORDS (TEXT ("HINCRBY"), TEXT (KEY_META), TEXT ("stations"), TEXT ("1")));
    store_reply_when_written (self, repeat == LINK_REPEAT ? WAITER_SURE : WAITER_CLIENT,
                              on_target_written, hash_call);
}

// -- kinds

// Answer KIND_GET, which reads only the requested kind: all kinds may be megabytes, and each
// submission with a kind reads one.
static void on_kind_read (void *owner, const redisReply *reply)
{
    struct hash_call *self = owner;
    struct store_named answer = {.name = span_text (self->name)};
    answer.result = reply_key_result (reply, &answer.error);
    if (answer.result == STORE_DONE)
        answer.text = reply_text (reply);
    answer.count = answer.text.data ? 1 : 0;
    answer_hash_call (self, &answer);
}

void store_kinds (struct store *self, enum kind_command command, struct span name, const char *json,
                  store_named_fn *reply, void *owner)
{
    struct hash_call *hash_call = hash_call_new (self, KEY_KINDS, name, json, reply, owner);
    hash_call->puts = command == KIND_PUT;
    hash_call->removes = command == KIND_REMOVE;
    if (command == KIND_GET)
        store_get (self, WORDS (TEXT ("HGET"), TEXT (KEY_KINDS), TEXT (hash_call->name)),
                   on_kind_read, hash_call);
    else
        read_hash (hash_call, LINK_ONCE);
}

// -- limits

void store_limits (struct store *self, enum limit_command command, const char *name,
                   const struct limit *limit, store_named_fn *reply, void *owner)
{
    char text[LIMIT_TEXT_MAX] = "";
    if (limit)
        limit_write (limit, text);
    struct hash_call *hash_call =
        hash_call_new (self, KEY_LIMITS, span_text (name ? name : ""), text, reply, owner);
    hash_call->is_limit = true;
    hash_call->puts = command == LIMIT_SET;
    hash_call->removes = command == LIMIT_REMOVE;
    read_hash (hash_call, LINK_ONCE);
}

// -- identities: the hash maps "TARGET IDENTITY" to "INSTANCE HOME". For a target, the identity of
// this home is reused; else one of another home, whose station is no longer the owner; else a new
// one is stored.

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
static void try_identity (struct identity_lookup *self, struct span name, struct span value)
{
    size_t size = strlen (self->target);
    const uint8_t *blank = value.size ? memchr (value.data, ' ', value.size) : NULL;
    if (name.size <= size + 1 || memcmp (name.data, self->target, size) != 0 ||
        name.data[size] != ' ' || !blank)
        return;
    struct span identity = span_of (name.data + size + 1, name.size - size - 1);
    struct span home = span_of (blank + 1, (size_t)(value.data + value.size - (blank + 1)));
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
    char name[sizeof self->target + 1 + sizeof self->fresh], value[sizeof self->home + 32];
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
    snprintf (value, sizeof value, "%s %s", store->instance, self->home);
    store_put (store, WORDS (TEXT ("HSET"), TEXT (KEY_IDENTITIES), TEXT (name), TEXT (value)));
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
