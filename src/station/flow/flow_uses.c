#include "flow_uses.h"

#include <stdlib.h>

#include "flow.h"
#include "flow_book.h"
#include "flow_redis.h"
#include "ident.h"
#include "memory.h"
#include "redis_keys.h"

enum { CURSOR_SIZE = 24 };

struct uses_search {
    struct station *station;
    char name[FLOW_NAME_MAX + 1];
    int versions[2 * STORE_FLOW_VERSIONS]; // the requested versions
    size_t count;
    struct flow_uses found;
    char cursor[CURSOR_SIZE]; // ZSCAN cursor of the current page
    size_t left;              // pending replies of the page
    bool lost;
    flow_uses_fn *reply;
    void *owner;
};

static bool uses_version (const struct flow_uses *self, int version)
{
    for (size_t i = 0; i < self->count; i++)
        if (self->versions[i] == version)
            return true;
    return false;
}

size_t flow_uses_filter_unused (const struct flow_uses *self, int *versions, size_t count,
                                size_t most)
{
    const struct flow_cache *cache = &self->station->flows->cache;
    size_t left = 0;
    for (size_t i = 0; i < count && left < most; i++)
        if (!uses_version (self, versions[i]) &&
            !flow_cache_is_held (cache, span_text (self->name), versions[i]))
            versions[left++] = versions[i];
    return left;
}

static void read_uses_page (struct uses_search *self);

// Read the next page, or reply: all replies of a page have arrived.
static void end_uses_page (struct uses_search *self)
{
    bool more = strcmp (self->cursor, "0") != 0 && self->found.count < self->count;
    if (more && !self->lost) {
        read_uses_page (self);
        return;
    }
    self->reply (self->owner, self->lost ? NULL : &self->found);
    free (self);
}

// Count a reply; the last one ends the page.
static void count_uses_reply (struct uses_search *self)
{
    if (--self->left == 0)
        end_uses_page (self);
}

static void on_run_version (void *owner, const redisReply *reply)
{
    struct uses_search *self = owner;
    int version = 0; // no version
    if (!reply)
        self->lost = true;
    else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
             reply->element[0]->type == REDIS_REPLY_STRING &&
             reply->element[1]->type == REDIS_REPLY_STRING &&
             strcmp (reply->element[0]->str, self->name) == 0)
        version = (int)strtol (reply->element[1]->str, NULL, 10);
    for (size_t i = 0; i < self->count; i++)
        if (self->versions[i] == version && !uses_version (&self->found, version))
            self->found.versions[self->found.count++] = version;
    count_uses_reply (self);
}

// Read the flow and version of a run.
static void read_run_version (struct uses_search *self, const redisReply *run)
{
    if (run->type != REDIS_REPLY_STRING)
        return;
    self->left++;
    flow_redis_get (self->station, on_run_version, self, "HMGET " KEY_FLOW_RUN "%.*s flow version",
                    IDENT_SIZE, run->str);
}

static void on_uses_page (void *owner, const redisReply *reply)
{
    struct uses_search *self = owner;
    bool well_formed = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
                       reply->element[0]->type == REDIS_REPLY_STRING &&
                       reply->element[1]->type == REDIS_REPLY_ARRAY;
    self->left = 1; // the page itself counts as a pending reply until the end of this function
    self->lost = !well_formed;
    snprintf (self->cursor, sizeof self->cursor, "%s", well_formed ? reply->element[0]->str : "0");
    // Members alternate with their scores.
    for (size_t i = 0; well_formed && i < reply->element[1]->elements; i += 2)
        read_run_version (self, reply->element[1]->element[i]);
    link_flush (store_link (self->station->store));
    count_uses_reply (self);
}

// Read the next page of the list of runs.
static void read_uses_page (struct uses_search *self)
{
    flow_redis_get (self->station, on_uses_page, self, "ZSCAN " KEY_FLOW_RUNS " %s COUNT 200",
                    self->cursor);
    link_flush (store_link (self->station->store));
}

void flow_uses_read (struct station *self, const char *name, const int *versions, size_t count,
                     flow_uses_fn *reply, void *owner)
{
    struct uses_search *uses_search = memory_new (sizeof *uses_search);
    *uses_search =
        (struct uses_search){.station = self, .cursor = "0", .reply = reply, .owner = owner};
    snprintf (uses_search->name, sizeof uses_search->name, "%s", name);
    uses_search->count = count < 2 * STORE_FLOW_VERSIONS ? count : 2 * STORE_FLOW_VERSIONS;
    memcpy (uses_search->versions, versions, uses_search->count * sizeof *versions);
    uses_search->found.station = self;
    uses_search->found.name = uses_search->name;
    read_uses_page (uses_search);
}
