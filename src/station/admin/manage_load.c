// load: the number of plans due per interval, by the next time of each. Redis counts them by their
// scores; runs in flight, whose scores are lease expiries, are subtracted. Source: proto 9.15.
#include <inttypes.h>
#include <stdlib.h>

#include "json_fields.h"
#include "manage_private.h"
#include "memory.h"
#include "permit.h"
#include "reads.h"
#include "redis_keys.h"

enum { BUCKETS_MAX = 1440, STEP_DEFAULT_S = 60, BUCKETS_DEFAULT = 60, WEEK_S = 604800 };

struct load_inquiry {
    struct station *station;
    struct peer *peer;
    int64_t from_s, to_s, step_s; // 0 = not given
    size_t count;                 // buckets
    size_t left;                  // buckets that are not counted yet
    bool lost;
    int64_t counts[BUCKETS_MAX];
};

struct bucket {
    struct load_inquiry *inquiry;
    size_t at;
};

static void reply_load (struct load_inquiry *self)
{
    json_t *counts = json_array ();
    int64_t total = 0;
    for (size_t i = 0; i < self->count; i++) {
        int64_t count = self->counts[i] > 0 ? self->counts[i] : 0;
        json_array_append_new (counts, json_integer (count));
        total += count;
    }
    if (self->lost)
        reply_refuse_store (self->station, self->peer, STORE_LOST, "");
    else
        manage_reply_json (self->station, self->peer, 0,
                           json_pack ("{s:I, s:I, s:O, s:I}", "from", (json_int_t)self->from_s,
                                      "step", (json_int_t)self->step_s, "counts", counts, "total",
                                      (json_int_t)total));
    json_decref (counts);
    free (self);
}

static void on_count (void *owner, const redisReply *reply)
{
    struct bucket *bucket = owner;
    struct load_inquiry *self = bucket->inquiry;
    if (reply && reply->type == REDIS_REPLY_INTEGER)
        self->counts[bucket->at] += reply->integer;
    else
        self->lost = true;
    free (bucket);
    if (--self->left == 0)
        reply_load (self);
}

static void count_bucket (struct load_inquiry *self, size_t at)
{
    char from[24], to[24];
    struct bucket *bucket = memory_new (sizeof *bucket);
    *bucket = (struct bucket){self, at};
    int64_t start_s = self->from_s + (int64_t)at * self->step_s;
    snprintf (from, sizeof from, "%" PRId64, start_s);
    snprintf (to, sizeof to, "(%" PRId64, start_s + self->step_s);
    store_get (self->station->store,
               (const struct span[]){span_text ("ZCOUNT"), span_text (KEY_TIME_SET),
                                     span_text (from), span_text (to)},
               4, on_count, bucket);
}

static void count_buckets (void *owner)
{
    struct load_inquiry *self = owner;
    struct station *station = self->station;
    self->left = self->count;
    core_subtract_leases (store_core (station->store), self->from_s, self->step_s, self->counts,
                          self->count);
    for (size_t i = 0, count = self->count; i < count; i++)
        count_bucket (self, i);
    link_flush (store_link (station->store));
}

// -- the arguments

static const struct json_field fields[] = {
    {"from", AS_NUMBER, offsetof (struct load_inquiry, from_s), 1, SCHEDULE_TIME_MAX,
     "want Unix seconds"},
    {"to", AS_NUMBER, offsetof (struct load_inquiry, to_s), 1, SCHEDULE_TIME_MAX,
     "want Unix seconds"},
    {"step", AS_SECONDS, offsetof (struct load_inquiry, step_s), 1, WEEK_S},
};

// Read the interval and the step, and fill in the defaults. False: invalid, with the reason.
static bool read_interval (struct load_inquiry *self, const struct request *request,
                           struct reason *reason)
{
    if (request->arg_count &&
        !json_fields_parse (request->args[0], fields, sizeof fields / sizeof *fields, self, reason))
        return false;
    self->from_s = self->from_s ? self->from_s : station_now (self->station);
    self->step_s = self->step_s ? self->step_s : STEP_DEFAULT_S;
    self->to_s = self->to_s ? self->to_s : self->from_s + BUCKETS_DEFAULT * self->step_s;
    int64_t count = (self->to_s - self->from_s + self->step_s - 1) / self->step_s;
    self->count = count > 0 && count <= BUCKETS_MAX ? (size_t)count : 0;
    if (!self->count)
        reason_set (reason, "step: want 1..%d buckets between from and to, got %" PRId64,
                    BUCKETS_MAX, count);
    return self->count > 0;
}

int manage_load (struct station *self, struct request *request)
{
    struct reason *reason = &request->reason;
    if (!permits_all_stations (self, request->peer.user))
        return reason_error (reason, ZPLAN_EDENY,
                             "load: counts the plans of all targets, and the key is bound to some");
    struct load_inquiry *inquiry = memory_new (sizeof *inquiry);
    inquiry->station = self;
    if (!read_interval (inquiry, request, reason)) {
        free (inquiry);
        return ZPLAN_EARGUMENT;
    }
    inquiry->peer = peer_keep (self, request);
    reads_start (self, inquiry->peer, count_buckets, inquiry);
    return 0;
}
