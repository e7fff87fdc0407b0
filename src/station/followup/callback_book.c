#include "callback_book.h"

#include <czmq.h>
#include <inttypes.h>
#include <stdlib.h>

#include "memory.h"
#include "redis_keys.h"

struct kept_callbacks {
    int64_t count, bytes;
    bool changed; // since it was last written to Redis
};

struct callback_book {
    zhashx_t *sources; // by name
    struct kept_callbacks all;
    uint64_t resets; // number of resets of the store when loading began
    bool asked;      // the counts of Redis are being read
    bool read;       // the counts of Redis are included
};

static void destroy_tally (void **tally)
{
    free (*tally);
    *tally = NULL;
}

static struct kept_callbacks *find_or_create_tally (struct callback_book *self, const char *source)
{
    struct kept_callbacks *tally = zhashx_lookup (self->sources, source);
    if (!tally) {
        tally = memory_new (sizeof *tally);
        zhashx_insert (self->sources, source, tally);
    }
    return tally;
}

static struct callback_book *current_book (struct station *self)
{
    // Another owner may have changed the counts in between.
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
                         const struct kept_callbacks *tally)
{
    char field[STATION_NAME_MAX + 2];
    snprintf (field, sizeof field, " %s", source);
    write_number (self, field + 1, tally->count);
    write_number (self, field, tally->bytes);
}

static void write_changed_tallies (struct station *self)
{
    zlistx_t *names = zhashx_keys (self->callbacks->sources);
    for (const char *name = zlistx_first (names); name; name = zlistx_next (names)) {
        struct kept_callbacks *tally = zhashx_lookup (self->callbacks->sources, name);
        if (tally->changed)
            write_tally (self, name, tally);
        tally->changed = false;
    }
    zlistx_destroy (&names);
}

// Add the numbers of Redis to the changes counted during the request.
static void on_counts (void *owner, const redisReply *reply)
{
    struct station *station = owner;
    struct callback_book *self = station->callbacks;
    if (!self || self->read || self->resets != store_resets (station->store))
        return;
    self->asked = false;
    if ((!reply || reply->type == REDIS_REPLY_ERROR) && !link_is_wrong_type (reply))
        return; // retried with the next change
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        const char *name = reply->element[i]->str, *number = reply->element[i + 1]->str;
        if (!name || !number)
            continue;
        bool bytes = name[0] == ' ';
        int64_t value = strtoll (number, NULL, 10);
        struct kept_callbacks *tally = find_or_create_tally (self, name + bytes);
        *(bytes ? &tally->bytes : &tally->count) += value;
        *(bytes ? &self->all.bytes : &self->all.count) += value;
    }
    self->read = true;
    write_changed_tallies (station);
}

void callback_book_load (struct station *self)
{
    struct callback_book *book = current_book (self);
    if (book->read || book->asked)
        return;
    book->asked = true;
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
    struct callback_book *book = current_book (self);
    struct kept_callbacks *tally = find_or_create_tally (book, source);
    tally->count += sign;
    tally->bytes += sign * bytes;
    book->all.count += sign;
    book->all.bytes += sign * bytes;
    if (book->read) {
        write_tally (self, source, tally);
        return;
    }
    tally->changed = true;
    callback_book_load (self);
}

// Whether no source has more bytes of callbacks: at the common limit that source has to wait.
static bool has_most_bytes (const struct callback_book *self, const struct kept_callbacks *tally)
{
    for (const struct kept_callbacks *other = zhashx_first (self->sources); other;
         other = zhashx_next (self->sources))
        if (other->bytes > tally->bytes)
            return false;
    return true;
}

// Whether the source has reached its own limit, or has the most bytes at the common limit.
static bool is_source_full (const struct station *self, const struct kept_callbacks *tally)
{
    const struct limits *limits = &self->settings->limits;
    const struct kept_callbacks *all = &self->callbacks->all;
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
    const struct kept_callbacks *tally = zhashx_lookup (self->callbacks->sources, name);
    return tally && is_source_full (self, tally);
}

bool callback_book_full_source (const struct station *self, char ret_name[STATION_NAME_MAX + 1],
                                int64_t *ret_count)
{
    bool found = false;
    zlistx_t *names = self->callbacks ? zhashx_keys (self->callbacks->sources) : NULL;
    for (const char *name = names ? zlistx_first (names) : NULL; name && !found;
         name = zlistx_next (names)) {
        const struct kept_callbacks *tally = zhashx_lookup (self->callbacks->sources, name);
        found = tally && is_source_full (self, tally);
        if (found) {
            snprintf (ret_name, STATION_NAME_MAX + 1, "%s", name);
            *ret_count = tally->count;
        }
    }
    zlistx_destroy (&names);
    return found;
}
