#include "filters.h"

#include "../../src/station/admin/manage_list.c"
#include "fuzz.h"

static void check_page (const struct list_filter *filter, struct span message)
{
    const struct span jobs = span_text ("jobs");
    struct store_listed plans[] = {{.plan_id = 0x2a, .station = jobs, .message = message},
                                   {.plan_id = 0x2b, .station = jobs, .message = message}};
    struct store_page page = {.count = 2, .last = 0x2b, .last_station = jobs, .plans = plans};
    struct reason reason = {""};
    static struct station_settings settings = {.callback_target = "callbacks"};
    static struct station station = {.settings = &settings}; // without an allow-list
    static struct peer peer;
    struct plan_listing listing = {.station = &station, .peer = &peer, .filter = *filter};
    struct store_listed last;
    HOLDS (last_visible_place (&listing, &page, &last) && last.plan_id == page.last);
    char *json = page_json (&listing, &page, last);
    json_t *object = json_read_object (span_text (json), &reason);
    // A page nests a message two levels deeper, so it may exceed the depth.
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
