// PLAN frames, as JSON and as msgpack: input is the frame. Both forms must have the same result,
// and the occurrences of an accepted frame must be in order.
#include "base64.h"
#include "fuzz.h"
#include "json.h"
#include "pack.h"
#include "plan_frame.h"
#include "vote_rule.h"
#include "zones.h"

#include "../unit/pack_write.h"

static json_t *read_either (struct span frame, struct reason *reason)
{
    return pack_is (frame) ? pack_read_object (frame, reason) : json_read_object (frame, reason);
}

static void check_same (const struct plan_fields *a, const struct plan_fields *b)
{
    HOLDS (a->description_size == b->description_size);
    HOLDS (memcmp (a->description, b->description, a->description_size) == 0);
    HOLDS (a->schedule.type == b->schedule.type && a->schedule.value == b->schedule.value);
    HOLDS (a->schedule.repeat == b->schedule.repeat && a->schedule.keep == b->schedule.keep);
    HOLDS (a->schedule.base_time == b->schedule.base_time && a->skip_set == b->skip_set);
    HOLDS (a->vote.need == b->vote.need && a->vote.count == b->vote.count);
    HOLDS (a->vote.deadline_s == b->vote.deadline_s);
}

// Parse a re-encoded frame: it may fail only by exceeding the size limit.
static void check_form (struct span form, int want, const struct plan_fields *fields)
{
    struct plan_fields again;
    struct reason reason;
    int rc = plan_frame_parse (form, &plan_limits_default, &again, &reason);
    if ((int64_t)form.size > plan_limits_default.bytes) {
        HOLDS (rc);
        return;
    }
    HOLDS (!rc == !want);
    if (!rc) {
        check_same (fields, &again);
        plan_fields_clear (&again);
    }
}

// Re-encode a frame as JSON and as msgpack: both must be parsed to the same fields.
static void check_forms (struct span frame, int rc, const struct plan_fields *fields)
{
    struct reason reason = {""};
    json_t *object = read_either (frame, &reason);
    if (!object) {
        HOLDS (rc);
        check_reason (&reason);
        return;
    }
    size_t size;
    char *packed = pack_write (object, &size), *text = json_write (object);
    json_t *unpacked = pack_read_object (span_of (packed, size), &reason);
    json_t *reread = json_read_object (span_text (text), &reason);
    HOLDS (unpacked && json_equal (object, unpacked));
    HOLDS (reread && json_equal (object, reread));
    check_form (span_of (packed, size), rc, fields);
    check_form (span_text (text), rc, fields);
    json_decref (unpacked);
    json_decref (reread);
    json_decref (object);
    free (packed);
    free (text);
}

static void check_occurrences (const struct plan_fields *fields, const struct zone *zone,
                               int64_t now)
{
    struct schedule schedule = fields->schedule;
    struct occurrence at, next, skipped;
    schedule.received = now;
    if (!schedule_first (&schedule, zone, now, fields->skip_set, &at))
        return;
    HOLDS (at.time >= 0 && at.time <= SCHEDULE_TIME_MAX && at.used >= fields->skip_set);
    HOLDS (at.time >= now || schedule.keep);
    for (int i = 0; i < 4; i++) {
        // The first two runs take up to a second, the others a year.
        int64_t ended = at.time + (i < 2 ? i : 31536000);
        if (schedule_skip (&schedule, zone, &at, 2, &skipped))
            HOLDS (skipped.used == at.used + 2 && skipped.time >= at.time &&
                   skipped.time <= SCHEDULE_TIME_MAX);
        if (!schedule_next (&schedule, zone, &at, ended, &next))
            return;
        HOLDS (next.time > at.time && next.used > at.used && next.time <= SCHEDULE_TIME_MAX);
        HOLDS (next.time >= ended || schedule.keep);
        HOLDS (schedule.repeat == SCHEDULE_FOREVER || next.used < schedule.repeat);
        at = next;
    }
}

static void check_schedule (const struct plan_fields *fields, struct span frame)
{
    struct value_range range = schedule_value_range (fields->schedule.type);
    HOLDS (fields->schedule.value >= range.min && fields->schedule.value <= range.max);
    HOLDS ((int64_t)fields->description_size <= plan_limits_default.description);
    HOLDS (fields->schedule.base_time >= 0 && fields->schedule.base_time <= SCHEDULE_TIME_MAX);
    const int64_t nows[] = {
        0,
        1700000000,
        fields->schedule.base_time,
        SCHEDULE_TIME_MAX,
        (int64_t)(feed_hash (frame, 0) % (uint64_t)SCHEDULE_TIME_MAX),
    };
    for (size_t i = 0; i < sizeof nows / sizeof *nows; i++)
        for (unsigned zone = 0; zone < 2; zone++)
            check_occurrences (fields, fuzz_zone (zone), nows[i]);
}

static void check_vote (const struct vote_rule *vote)
{
    struct vote_rule again;
    struct reason reason;
    json_t *object = vote_rule_write (vote);
    if (object) {
        HOLDS (vote_rule_read (object, &again, &reason));
        HOLDS (again.need == vote->need && again.count == vote->count &&
               again.deadline_s == vote->deadline_s);
    }
    json_decref (object);
    for (size_t voters = 1; voters < 4; voters++)
        HOLDS (vote_rule_needed (vote, voters) >= 1);
}

// A frame that the parser without a tree accepts, the parser with a tree must accept with the same
// fields; the latter gives the reason of each rejection.
static void check_ways (struct span frame, const struct plan_limits *limits)
{
    struct plan_fields scanned, parsed, fields;
    struct reason told = {""}, reason = {""};
    bool taken = plan_frame_scan (frame, limits, &scanned);
    int rc = plan_frame_parse_tree (frame, limits, &parsed, &told);
    HOLDS (!taken || !rc);
    if (taken)
        check_same (&parsed, &scanned);
    HOLDS (plan_frame_parse (frame, limits, &fields, &reason) == rc);
    HOLDS (strcmp (reason.text, told.text) == 0);
    if (!rc) {
        check_same (&parsed, &fields);
        plan_fields_clear (&parsed);
        plan_fields_clear (&fields);
    }
}

static void check_limits (struct span frame)
{
    uint64_t random = feed_hash (frame, 1);
    const struct plan_limits limits[] = {
        plan_limits_default,
        {(int64_t)frame.size, DESCRIPTION_ROOM, JSON_DEPTH_MAX},
        {(int64_t)frame.size, (int64_t)(random % 32), (int64_t)(random >> 32) % 3},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if ((int64_t)frame.size <= limits[i].bytes)
            check_ways (frame, &limits[i]);
}

// Any bytes must be the same after conversion to a JSON frame and back.
static void check_base64 (struct span frame)
{
    json_t *value = json_from_frame (frame);
    char *text = json_write (value);
    uint8_t *out = malloc (strlen (text));
    size_t size;
    HOLDS (out && json_to_frame (value, out, &size));
    HOLDS (span_equal (span_of (out, size), frame));
    free (out);
    free (text);
    json_decref (value);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span frame = feed_take (&feed, size);
    struct plan_fields fields;
    struct reason reason = {""};
    int rc = plan_frame_parse (frame, &plan_limits_default, &fields, &reason);
    if (rc)
        check_reason (&reason);
    if (!rc) {
        check_schedule (&fields, frame);
        check_vote (&fields.vote);
    }
    check_limits (frame);
    if ((int64_t)size <= plan_limits_default.bytes)
        check_forms (frame, rc, &fields);
    if (!rc)
        plan_fields_clear (&fields);
    check_base64 (frame);
    feed_free (&feed);
    return 0;
}
