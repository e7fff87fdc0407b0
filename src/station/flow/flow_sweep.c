#include "flow_sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"
#include "flow_redis.h"
#include "flow_rows.h"
#include "flow_runs_private.h"
#include "memory.h"
#include "plan_step.h"
#include "redis_keys.h"

enum { SWEEP_US = 2000000, PAGE = 100 };

struct run_sweep {
    struct station *station;
    uint64_t id;
    char run[IDENT_SIZE];
};

// Remove an ended run from memory before it is deleted, so that no part of it is written
// afterwards. False: a command has reopened the run.
static bool forget_ended_run (struct station *self, uint64_t run)
{
    struct flow_live *live = flow_live_find (self, run);
    if (live && live->run->phase != FLOW_ENDED)
        return false;
    if (live)
        flow_live_forget (live);
    return true;
}

// Delete all keys of a run. Each step with a list has a map with its own key.
static void on_data_fields (void *owner, const redisReply *reply)
{
    static const char *const starts[] = {KEY_FLOW_RUN, KEY_FLOW_NODE, KEY_FLOW_DATA, KEY_FLOW_INPUT,
                                         KEY_FLOW_LOG};
    struct run_sweep *self = owner;
    struct station *station = self->station;
    bool deletable =
        reply && reply->type == REDIS_REPLY_ARRAY && forget_ended_run (station, self->id);
    for (size_t i = 0; deletable && i < reply->elements; i++) {
        const redisReply *field = reply->element[i];
        uint32_t step;
        if (field->type == REDIS_REPLY_STRING &&
            flow_rows_has_map (span_of (field->str, field->len), &step))
            flow_redis_put (station, "DEL " KEY_FLOW_MAP "%s:%" PRIu32, self->run, step);
    }
    for (size_t i = 0; deletable && i < sizeof starts / sizeof *starts; i++)
        flow_redis_put (station, "DEL %s%s", starts[i], self->run);
    if (deletable) {
        flow_redis_put (station, "ZREM " KEY_FLOW_ENDED " %s", self->run);
        flow_redis_put (station, "ZREM " KEY_FLOW_RUNS " %s", self->run);
    }
    free (self);
}

// Delete a run: read which maps it has, then delete all its keys.
static void delete_run (struct run_sweep *self)
{
    flow_redis_get (self->station, on_data_fields, self, "HKEYS " KEY_FLOW_DATA "%s", self->run);
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
    if (reply)
        flow_redis_put (self->station, "ZADD " KEY_FLOW_ENDED " XX %" PRId64 " %s",
                        station_now (self->station), self->run);
    free (self);
}

// Delete a run without a parent; else read whether the parent has ended.
static void on_parent (void *owner, const redisReply *reply)
{
    struct run_sweep *self = owner;
    struct plan_step call;
    char parent[IDENT_SIZE];
    bool text = reply && reply->type == REDIS_REPLY_STRING;
    if (!reply)
        free (self);
    else if (text && plan_step_parse (span_of (reply->str, reply->len), &call))
        flow_redis_get (self->station, on_parent_ended, self, "HGET " KEY_FLOW_RUN "%s ended_ms",
                        ident_text (call.run, parent));
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
    flow_redis_get (self, on_parent, sweeping, "HGET " KEY_FLOW_RUN "%s parent", sweeping->run);
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
    if (self->phase != PHASE_SERVING || !station_store_up (self) || now_us < self->flow_sweep_us)
        return;
    self->flow_sweep_us = now_us + SWEEP_US;
    flow_redis_get (self, on_runs_to_sweep, self,
                    "ZRANGEBYSCORE " KEY_FLOW_ENDED " -inf %" PRId64 " LIMIT 0 %d",
                    station_now (self) - self->settings->flow_age_s, PAGE);
    // The runs after the newest flow_count ones, newest first.
    flow_redis_get (self, on_runs_to_sweep, self,
                    "ZREVRANGE " KEY_FLOW_ENDED " %" PRId64 " %" PRId64, self->settings->flow_count,
                    self->settings->flow_count + PAGE - 1);
}
