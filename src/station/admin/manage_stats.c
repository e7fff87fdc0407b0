// stats: counters, targets and histograms of the station.
#include <czmq.h>

#include "clock.h"
#include "json.h"
#include "manage_private.h"
#include "permit.h"
#include "pull.h"
#include "redis_info.h"

static json_t *target_stats (struct station *self, struct target *target)
{
    const struct target_tally *tally = target_tally (target);
    const struct core *core = store_core (self->store);
    struct span name = span_text (target_name (target));
    json_t *ends = json_object ();
#define RUN_END_SET(name)                                                                          \
    json_object_set_new (ends, #name, json_integer ((json_int_t)tally->runs.ends[RUN_END_##name]));
    RUN_ENDS (RUN_END_SET)
#undef RUN_END_SET
    bool pull = target_type (target) == TARGET_PULL;
    int64_t no_worker_s = pull ? pull_no_worker (self, target) : tally->no_worker_s;
    int64_t unresponsive_s = target_unresponsive_since (target);
    return json_pack (
        "{s:s, s:b, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o*, s:o*, s:o*}", "name",
        target_name (target), "connected", target_connection (target) != 0, "since",
        (json_int_t)target_state_since (target), "unanswered", target_unanswered (target), "sent",
        (json_int_t)tally->sent, "ended_well", (json_int_t)tally->ended_well, "failed",
        (json_int_t)tally->failed, "fresh", (json_int_t)tally->fresh, "late_ms",
        (json_int_t)tally->late_ms, "ready", (json_int_t)core_ready (core, name), "oldest_due",
        (json_int_t)(core_oldest_us (core, name) / 1000000), "ends", ends, "offered",
        pull ? json_integer (core_pull_offers (core, name)) : NULL, "no_worker",
        no_worker_s ? json_integer (no_worker_s) : NULL, "unresponsive_since",
        unresponsive_s ? json_integer (unresponsive_s) : NULL);
}

// The statistics of the targets that the peer may see, a new array.
static json_t *targets_stats (struct station *self, const struct peer *peer)
{
    json_t *list = json_array ();
    for (size_t i = 0; i < self->target_count; i++)
        if (permits_station (self, peer->user, span_text (target_name (self->targets[i]))))
            json_array_append_new (list, target_stats (self, self->targets[i]));
    return list;
}

// -- histograms

static json_t *bounds_json (const struct bounds *bounds)
{
    json_t *list = json_array ();
    for (size_t i = 0; i < bounds->count; i++)
        json_array_append_new (list, json_integer (bounds->le_us[i]));
    return list;
}

static json_t *histogram_json (const struct histogram *self, const struct bounds *bounds)
{
    json_t *counts = json_array ();
    for (size_t i = 0; i <= bounds->count; i++)
        json_array_append_new (counts, json_integer ((json_int_t)self->counts[i]));
    return json_pack ("{s:o, s:I}", "counts", counts, "sum_us", (json_int_t)self->sum_us);
}

// The histograms of submissions, and of the targets that the peer may see.
static json_t *histograms_json (struct station *self, const struct peer *peer)
{
    json_t *lateness = json_object (), *duration = json_object ();
    for (size_t i = 0; i < self->target_count; i++) {
        const char *name = target_name (self->targets[i]);
        const struct run_counts *runs = &target_tally (self->targets[i])->runs;
        if (!permits_station (self, peer->user, span_text (name)))
            continue;
        json_object_set_new (lateness, name, histogram_json (&runs->lateness, &bounds_lateness));
        json_object_set_new (duration, name, histogram_json (&runs->duration, &bounds_duration));
    }
    json_t *submit = histogram_json (&self->submissions, &bounds_submit);
    json_object_set_new (submit, "le_us", bounds_json (&bounds_submit));
    return json_pack ("{s:o, s:{s:o, s:o}, s:{s:o, s:o}}", "submit", submit, "lateness", "le_us",
                      bounds_json (&bounds_lateness), "targets", lateness, "duration", "le_us",
                      bounds_json (&bounds_duration), "targets", duration);
}

// -- the answer

static json_t *stats_json (struct station *self, const struct peer *peer,
                           const struct store_stats *stats)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"plans", stats->plans},
        {"queued", stats->queued},
        {"due", stats->due},
        {"running", stats->running},
        {"outcomes", stats->outcomes},
        {"seq", stats->seq},
        {"next", (int64_t)stats->next},
        {"oldest_due", stats->due ? (int64_t)stats->next : 0},
        {"stopped", stats->stopped},
        {"dead", stats->dead},
        {"redis_bytes", stats->memory},
        {"stations", (int64_t)self->target_count},
        {"attending", self->station_count},
        {"runs_in_hand", (int64_t)self->runs.count},
        {"runs_unanswered", (int64_t)self->runs_unanswered},
        {"calls_pending", (int64_t)store_pending (self->store)},
        {"uptime_s", (clock_mono_us () - self->started_us) / 1000000},
        {"now_ms", clock_wall_us () / 1000},
    };
    json_t *object = json_object (), *counters = json_object ();
    json_object_set_new (object, "version", json_string (ZPLAN_VERSION));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        json_object_set_new (object, numbers[i].name, json_integer (numbers[i].value));
    json_object_set_new (object, "epoch", json_from_frame (stats->epoch));
    manage_add_owner_members (self, object);
    const char *fsync = link_fsync (store_link (self->store));
    json_object_set_new (object, "fsync", json_string (fsync));
    json_object_set_new (object, "acknowledged", json_string (durability_text (fsync)));
#define COUNTER_SET(name)                                                                          \
    json_object_set_new (counters, #name, json_integer ((json_int_t)self->counters.name));
    COUNTERS (COUNTER_SET)
#undef COUNTER_SET
    json_object_set_new (object, "counters", counters);
    json_object_set_new (object, "targets", targets_stats (self, peer));
    json_object_set_new (object, "histograms", histograms_json (self, peer));
    return object;
}

static void on_stats (void *owner, const struct store_stats *answer)
{
    struct inquiry *inquiry = owner;
    if (answer->result == STORE_DONE)
        manage_reply_json (inquiry->station, inquiry->peer, 0,
                           stats_json (inquiry->station, inquiry->peer, answer));
    inquiry_end (inquiry, answer->result, answer->error);
}

int manage_stats (struct station *self, struct request *request)
{
    store_stats (self->store, on_stats, inquiry_of_station (self, request));
    return 0;
}
