#include "instant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "rfc3339.h"
#include "schedule.h"
#include "settings.h"

// "2026-12-24T18:00" to the one form that rfc3339_parse takes; without an offset it is given Z.
static bool complete_instant (const char *text, char out[40], bool *ret_local)
{
    enum { DATE = 10, MINUTES = 5, SECONDS = 8, OFFSET_MAX = 6 };
    size_t size = strlen (text);
    if (size < DATE || text[4] != '-' || text[7] != '-')
        return false;
    if (size == DATE) {
        *ret_local = true;
        snprintf (out, 40, "%sT00:00:00Z", text);
        return true;
    }
    if (text[DATE] != 'T' && text[DATE] != ' ')
        return false;
    const char *clock = text + DATE + 1;
    size_t clock_size = strcspn (clock, "Z+-");
    const char *offset = clock + clock_size;
    if ((clock_size != MINUTES && clock_size != SECONDS) || strlen (offset) > OFFSET_MAX)
        return false;
    *ret_local = !*offset;
    snprintf (out, 40, "%.10sT%.*s%s%s", text, (int)clock_size, clock,
              clock_size == MINUTES ? ":00" : "", *offset ? offset : "Z");
    return true;
}

int instant_parse_date (const char *text, const struct zone *zone, int64_t *ret_time,
                        struct reason *reason)
{
    char complete[40];
    bool local;
    if (!complete_instant (text, complete, &local))
        return reason_set (reason,
                           "want an instant as 2026-12-24, 2026-12-24T18:00 or "
                           "2026-12-24T18:00:00+01:00, got %s",
                           quoted (span_text (text)));
    int64_t time;
    if (rfc3339_parse (span_text (complete), &time, reason))
        return -1;
    if (local)
        time = zone_instant (zone, time);
    if (time < 0 || time > SCHEDULE_TIME_MAX)
        return reason_set (reason, "%s: not within 1970..9999", quoted (span_text (text)));
    *ret_time = time;
    return 0;
}

int instant_parse (const char *text, const struct zone *zone, int64_t *ret_time,
                   struct reason *reason)
{
    int64_t number;
    if (!number_parse (text, &number))
        return instant_parse_date (text, zone, ret_time, reason);
    if (number < 0 || number > SCHEDULE_TIME_MAX)
        return reason_set (reason, "want Unix seconds 0..%" PRId64 ", got %" PRId64,
                           SCHEDULE_TIME_MAX, number);
    *ret_time = number;
    return 0;
}

bool instant_since (const char *text, int64_t now, int64_t *ret_time)
{
    enum { DAY_S = 86400 };
    struct duration ago;
    struct reason ignored;
    bool yesterday = strcmp (text, "yesterday") == 0;
    if (yesterday || strcmp (text, "today") == 0) {
        *ret_time = now - now % DAY_S - (yesterday ? DAY_S : 0);
        return true;
    }
    if (duration_parse (text, &ago)) {
        *ret_time = ago.seconds < now ? now - ago.seconds : 0;
        return true;
    }
    struct zone *utc = zone_new_utc ();
    bool is_date = !instant_parse_date (text, utc, ret_time, &ignored) && *ret_time >= 0;
    zone_destroy (&utc);
    return is_date;
}
