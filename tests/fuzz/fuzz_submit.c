// Submissions, from the wire to the store: input is a way of dispatch, and frames. It must be
// possible to store, read and dispatch each accepted plan.
#include "engine.h"
#include "plans.h"
#include "zones.h"

enum { NOW = 1795227362 };

static void check_kept (const struct plan *plan, const struct message *message)
{
    HOLDS (plan->message_count == (size_t)message->desc.count + 2);
    HOLDS (span_equal (plan->messages[1], message->desc_bytes));
    for (size_t i = 0; i < message->desc.count; i++)
        HOLDS (span_equal (plan->messages[2 + i], message->frames[i]));
}

// Submit a message as the station does: check its frames, then find the first occurrence.
static void submit (const struct message *message, uint8_t knob)
{
    static const struct dispatch_way ways[] = {
        {false, ""}, {true, ""}, {false, "secret"}, {true, "secret"}};
    const struct dispatch_way *way = &ways[knob % 4];
    const struct zone *zone = fuzz_zone (knob >> 2);
    struct span station = message_frame (message, ZERO_FRAME_STATION_ID, NULL);
    struct plan_fields fields;
    struct reason reason = {""};
    if (!station_name_valid (station) || !plan_dispatch_fits (&message->desc, way))
        return;
    if (plan_frame_parse (message_frame (message, ZERO_FRAME_PLAN, NULL), &plan_limits_default,
                          &fields, &reason)) {
        check_reason (&reason);
        return;
    }
    struct plan *plan = plan_new_submitted (0x2a, message, message->sender, &fields, NOW);
    plan_fields_clear (&fields);
    check_kept (plan, message);
    struct misses misses;
    if (engine_submit (plan, zone, NOW, &misses, &reason)) {
        check_reason (&reason);
    } else {
        check_stored (plan);
        check_public (plan);
        struct due due = {.key_station = station,
                          .exec_id = NOW * UINT64_C (1000000),
                          .way = way,
                          .zone = zone,
                          .now = NOW};
        if (engine_due (plan, &due, &reason).send)
            check_sent (plan, way, NOW);
        else // it has too few frames, or its policy skips the occurrence
            HOLDS (plan->message_count < PLAN_MESSAGES_MIN || plan->policy);
    }
    plan_destroy (&plan);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span frames[MESSAGE_FRAMES_MAX];
    struct message message;
    struct reason reason = {""};
    uint8_t knob = feed_byte (&feed);
    size_t count = feed_frames (&feed, frames, MESSAGE_FRAMES_MAX);
    if (message_read (frames, count, &message, &reason) == 0)
        submit (&message, knob);
    feed_free (&feed);
    return 0;
}
