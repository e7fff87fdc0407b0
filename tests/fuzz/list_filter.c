#include "filters.h"

#include "../../src/station/manage_list.c"
#include "fuzz.h"

static void check_page (const struct list_filter *filter, struct span message)
{
    static char entry[] = "000000000000002a:jobs", more[] = "2b";
    redisReply head = {.type = REDIS_REPLY_STRING, .str = more, .len = 2};
    redisReply name = {.type = REDIS_REPLY_STRING, .str = entry, .len = sizeof entry - 1};
    redisReply text = {
        .type = REDIS_REPLY_STRING, .str = (char *)message.data, .len = message.size};
    redisReply *elements[] = {&head, &name, &text, &name, &text};
    redisReply reply = {.type = REDIS_REPLY_ARRAY, .elements = 5, .element = elements};
    struct store_page page = {.count = 2, .last = 0x2b, .reply = &reply};
    struct reason reason = {""};
    static struct station station; // without an allow-list: all may be listed
    static struct peer peer;
    if (!station.runs)
        runs_start (&station);
    struct listing listing = {.station = &station, .peer = &peer, .filter = *filter};
    char *json = page_json (&listing, &page);
    json_t *object = json_read_object (span_text (json), &reason);
    // The message stands two deeper than it was read.
    HOLDS (object || strstr (reason.text, "nested"));
    HOLDS (!object || json_array_size (json_object_get (object, "plans")) <= (size_t)filter->limit);
    json_decref (object);
    free (json);
}

void fuzz_list (struct span text, struct span message)
{
    struct list_filter filter;
    struct reason reason = {""};
    if (!read_filter (text, &filter, &reason)) {
        check_reason (&reason);
        return;
    }
    HOLDS (filter.limit >= 1 && filter.limit <= PAGE_MAX);
    HOLDS (filter.store.state >= -1 && filter.store.state < PLAN_STATES);
    HOLDS (filter.store.type >= -1 && filter.store.type < SCHEDULE_TYPES);
    HOLDS (strnlen (filter.station, sizeof filter.station) < sizeof filter.station);
    HOLDS (strnlen (filter.title, sizeof filter.title) < sizeof filter.title);
    HOLDS (filter.store.after <= INT64_MAX);
    check_page (&filter, message);
}
