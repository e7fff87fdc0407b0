// Messages of a MicroZero center: input is frames, of an answer and of an event.
#include "center_list.h"
#include "context.h"
#include "fuzz.h"

enum { FRAMES = 34 };

static void check_list (const struct found_list *list)
{
    struct reason reason;
    HOLDS (list->count <= FOUND_MAX && center_list_same (list, list));
    for (size_t i = 0; i < list->count; i++) {
        const struct found_station *station = &list->at[i];
        HOLDS (station_name_valid (span_text (station->name)));
        HOLDS (station->type < TARGET_TYPES && target_type_name (station->type));
        HOLDS (endpoint_check (station->endpoint, &reason) == 0);
        for (size_t j = 0; j < i && j < 8; j++)
            HOLDS (strcmp (list->at[j].name, station->name) != 0);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct found_list list;
    struct feed feed = {.left = span_of (data, size)};
    struct span frames[FRAMES];
    struct reason reason = {""};
    size_t count = feed_frames (&feed, frames, FRAMES);
    if (center_list_read (frames, count, "10.0.0.5", &list, &reason))
        check_reason (&reason);
    else
        check_list (&list);
    center_event_matters (frames, count);
    feed_free (&feed);
    return 0;
}
