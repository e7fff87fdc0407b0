#include "flow_sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "flow_runs_private.h"
#include "memory.h"
#include "plan_step.h"
#include "redis_keys.h"

enum { SWEEP_US = 2000000, PAGE = 100, KEY_SIZE = 96 };

static void delete_run_key (struct station *self, const char *start, const char *run)
{
    char key[KEY_SIZE + 64];
    snprintf (key, sizeof key, "%s%s", start, run);
    const struct span words[] = {span_text ("DEL"), span_text (key)};
    store_put (self->store, words, 2);
}

static void remove_set_member (struct station *self, const char *set, const char *run)
{
    const struct span words[] = {span_text ("ZREM"), span_text (set), span_text (run)};
    store_put (self->store, words, 3);
}

struct run_sweep {
    struct station *station;
    uint64_t id;
    char run[IDENT_SIZE];
};

// Whether a command has reopened the run since it ended. If not, remove it from memory before it is
// deleted: otherwise parts of it could be written once more.
static bool was_reopened (struct station *self, uint64_t run)
{
    struct flow_live *live = flow_live_find (self, run);
    if (live && live->run->phase != FLOW_ENDED)
        return true;
    if (live)
        flow_live_forget (live);
    return false;
}

// Delete all keys of a run. Fields "INDEX.list" of its data name the steps that have a map under a
// key of their own.
static void on_data_fields (void *owner, const redisReply *reply)
{
    struct run_sweep *self = owner;
    struct station *station = self->station;
    static const char list[] = ".list";
    bool deletable = reply && reply->type == REDIS_REPLY_ARRAY && !was_reopened (station, self->id);
    for (size_t i = 0; deletable && i < reply->elements; i++) {
        const redisReply *field = reply->element[i];
        size_t size = field->type == REDIS_REPLY_STRING ? field->len : 0, tail = sizeof list - 1;
        char key[KEY_SIZE];
        if (size <= tail || size > 12 + tail || memcmp (field->str + size - tail, list, tail) != 0)
            continue;
        snprintf (key, sizeof key, "%s:%.*s", self->run, (int)(size - tail), field->str);
        delete_run_key (station, KEY_FLOW_MAP, key);
    }
    static const char *const starts[] = {KEY_FLOW_RUN, KEY_FLOW_NODE, KEY_FLOW_DATA, KEY_FLOW_INPUT,
                                         KEY_FLOW_LOG};
    for (size_t i = 0; deletable && i < sizeof starts / sizeof *starts; i++)
        delete_run_key (station, starts[i], self->run);
    if (deletable) {
        remove_set_member (station, KEY_FLOW_ENDED, self->run);
        remove_set_member (station, KEY_FLOW_RUNS, self->run);
    }
    free (self);
}

// Delete a run: read which maps it has, then delete all its keys.
static void delete_run (struct run_sweep *self)
{
    char key[KEY_SIZE];
    snprintf (key, sizeof key, KEY_FLOW_DATA "%s", self->run);
    const struct span words[] = {span_text ("HKEYS"), span_text (key)};
    store_get (self->station->store, words, 2, on_data_fields, self);
}

// Read a field of a run, which may be the parent of the swept one.
static void read_run_field (struct run_sweep *self, uint64_t run, const char *field,
                            void (*reply) (void *owner, const redisReply *reply))
{
    char key[KEY_SIZE], name[IDENT_SIZE];
    snprintf (key, sizeof key, KEY_FLOW_RUN "%s", ident_text (run, name));
    const struct span words[] = {span_text ("HGET"), span_text (key), span_text (field)};
    store_get (self->station->store, words, 3, reply, self);
}

// Delete the run of a sub-flow, unless its parent run is in progress and may still undo it: then
// move it to the end of the queue of ended runs.
static void on_parent_ended (void *owner, const redisReply *reply)
{
    struct run_sweep *self = owner;
    bool text = reply && reply->type == REDIS_REPLY_STRING;
    if (reply && !(text && strcmp (reply->str, "0") == 0)) {
        delete_run (self);
        return;
    }
    char now[24];
    snprintf (now, sizeof now, "%" PRId64, station_now (self->station));
    const struct span words[] = {span_text ("ZADD"), span_text (KEY_FLOW_ENDED), span_text ("XX"),
                                 span_text (now), span_text (self->run)};
    if (reply)
        store_put (self->station->store, words, 5);
    free (self);
}

// The field `parent` of the swept run: if it has a parent, read whether that has ended.
static void on_parent (void *owner, const redisReply *reply)
{
    struct run_sweep *self = owner;
    struct plan_step call;
    bool text = reply && reply->type == REDIS_REPLY_STRING;
    if (!reply)
        free (self);
    else if (text && plan_step_parse (span_of (reply->str, reply->len), &call))
        read_run_field (self, call.run, "ended_ms", on_parent_ended);
    else
        delete_run (self);
}

// Begin to delete a run.
static void sweep_run (struct station *self, const redisReply *run)
{
    struct run_sweep *sweeping = memory_new (sizeof *sweeping);
    sweeping->station = self;
    if (run->type != REDIS_REPLY_STRING ||
        !ident_parse (span_of (run->str, run->len), &sweeping->id)) {
        free (sweeping);
        return;
    }
    ident_text (sweeping->id, sweeping->run);
    read_run_field (sweeping, sweeping->id, "parent", on_parent);
}

static void on_runs_to_sweep (void *owner, const redisReply *reply)
{
    struct station *self = owner;
    for (size_t i = 0; reply && reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        sweep_run (self, reply->element[i]);
}

void flow_sweep_tick (struct station *self)
{
    int64_t now_us = clock_mono_us ();
    char first[32], page[32];
    if (self->phase != PHASE_SERVING || !station_store_up (self) || now_us < self->flow_sweep_us)
        return;
    self->flow_sweep_us = now_us + SWEEP_US;
    snprintf (page, sizeof page, "%d", PAGE);
    snprintf (first, sizeof first, "%" PRId64, station_now (self) - self->settings->flow_age_s);
    const struct span old[] = {span_text ("ZRANGEBYSCORE"),
                               span_text (KEY_FLOW_ENDED),
                               span_text ("-inf"),
                               span_text (first),
                               span_text ("LIMIT"),
                               span_text ("0"),
                               span_text (page)};
    store_get (self->store, old, 7, on_runs_to_sweep, self);
    // The runs after the newest flow_count ones, newest first.
    snprintf (first, sizeof first, "%" PRId64, self->settings->flow_count);
    snprintf (page, sizeof page, "%" PRId64, self->settings->flow_count + PAGE - 1);
    const struct span many[] = {span_text ("ZREVRANGE"), span_text (KEY_FLOW_ENDED),
                                span_text (first), span_text (page)};
    store_get (self->store, many, 4, on_runs_to_sweep, self);
}
