// Zone files: input is the file. With any file, the zone must have an offset at every instant, each
// local time must be found at its instant, and weekly and monthly schedules must advance.
#include "fuzz.h"
#include "schedule.h"

// The largest local time, in seconds, that zone_instant accepts.
#define LOCAL_MAX (INT64_C (1) << 42)

enum { OFFSET_MAX = 26 * 3600, PLACES_MAX = 64, RANDOM = 24 };

static void check_local (const struct zone *zone, int64_t local)
{
    if (local < -LOCAL_MAX || local > LOCAL_MAX)
        return;
    int64_t instant = zone_instant (zone, local);
    int64_t clock = instant + zone_offset (zone, instant);
    HOLDS (instant >= local - OFFSET_MAX && instant <= local + OFFSET_MAX);
    if (clock == local)
        return;
    // The local time is in a gap, which must begin at this instant.
    HOLDS (clock > local && instant - 1 + zone_offset (zone, instant - 1) < local);
}

static void check_instant (const struct zone *zone, int64_t instant)
{
    if (instant < -LOCAL_MAX || instant > LOCAL_MAX)
        return;
    int32_t offset = zone_offset (zone, instant);
    HOLDS (offset >= -OFFSET_MAX && offset <= OFFSET_MAX);
    int64_t local = instant + offset;
    check_local (zone, local);
    check_local (zone, instant);
    // The result is this instant, or an earlier one with the same local time.
    if (local >= -LOCAL_MAX && local <= LOCAL_MAX)
        HOLDS (zone_instant (zone, local) <= instant);
}

static int64_t big_endian (const uint8_t *at, size_t size)
{
    uint64_t number = size == 4 && at[0] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | at[i];
    return (int64_t)number;
}

// Check the instants around each number in the file, as it may be a transition.
static void check_places (const struct zone *zone, struct span file)
{
    size_t places = 0;
    for (size_t width = 4; width <= 8; width += 4) {
        for (size_t at = 44; at + width <= file.size && places < PLACES_MAX; at++) {
            int64_t instant = big_endian (file.data + at, width);
            if (instant < -LOCAL_MAX / 8 || instant > LOCAL_MAX / 8)
                continue;
            for (int64_t near = -1; near <= 1; near++)
                check_instant (zone, instant + near);
            places++;
        }
        places /= 2;
    }
}

static void check_weeks_and_months (const struct zone *zone, uint64_t chosen)
{
    const struct schedule schedules[] = {
        {.type = SCHEDULE_WEEK, .value = (int32_t)(chosen % 7), .repeat = SCHEDULE_FOREVER},
        {.type = SCHEDULE_MONTH, .value = (int32_t)(chosen % 63) - 31, .repeat = SCHEDULE_FOREVER},
    };
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        struct schedule schedule = schedules[i];
        int64_t now = (int64_t)(chosen >> 32);
        struct occurrence at, next;
        schedule.base_time = (int64_t)(chosen >> 24) % SCHEDULE_TIME_MAX;
        HOLDS (schedule_first (&schedule, zone, now, 0, &at) && at.time >= now);
        // At most a month, and two changes of the offset, later.
        HOLDS (at.time <= now + 31 * 86400 + 2 * OFFSET_MAX);
        for (int round = 0; round < 4; round++, at = next)
            HOLDS (schedule_next (&schedule, zone, &at, at.time, &next) && next.time > at.time &&
                   next.time <= at.time + 66 * 86400);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span file = feed_take (&feed, size);
    struct reason reason = {""};
    struct zone *zone = zone_new (file, &reason);
    if (!zone) {
        check_reason (&reason);
    } else {
        const int64_t edges[] = {0, -LOCAL_MAX, LOCAL_MAX, INT32_MAX, INT32_MIN, 253402300799};
        for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
            check_instant (zone, edges[i]);
        for (uint64_t i = 0; i < RANDOM; i++) // instants of our days, and of any time
            check_instant (zone, (int64_t)(feed_hash (file, i) >> (i % 2 ? 33 : 22)));
        check_places (zone, file);
        check_weeks_and_months (zone, feed_hash (file, RANDOM));
    }
    zone_destroy (&zone);
    feed_free (&feed);
    return 0;
}
