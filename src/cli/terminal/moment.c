#include "moment.h"

#include <inttypes.h>
#include <stdio.h>

#include "rfc3339.h"

// A unit is used for distances from `from_s` on.
static const struct moment_unit {
    int64_t from_s, size_s;
    const char *name;
} units[] = {
    {2 * 365 * 86400, 365 * 86400, "years"},
    {2 * 86400, 86400, "days"},
    {2 * 3600, 3600, "h"},
    {2 * 60, 60, "min"},
    {0, 1, "s"},
};

static void relative_text (int64_t time, int64_t now, char out[MOMENT_SIZE])
{
    int64_t distance = time > now ? time - now : now - time;
    const struct moment_unit *unit = units;
    while (distance < unit->from_s)
        unit++;
    if (distance == 0)
        snprintf (out, MOMENT_SIZE, "now");
    else
        snprintf (out, MOMENT_SIZE, "%s%" PRId64 " %s%s", time > now ? "in " : "",
                  distance / unit->size_s, unit->name, time > now ? "" : " ago");
}

const char *moment_text (int64_t time, int64_t now, enum moment_style style, char out[MOMENT_SIZE])
{
    char absolute[RFC3339_SIZE], relative[MOMENT_SIZE];
    rfc3339_format (time, absolute);
    relative_text (time, now, relative);
    if (style == MOMENT_UNIX)
        snprintf (out, MOMENT_SIZE, "%" PRId64, time);
    else if (style == MOMENT_BOTH)
        snprintf (out, MOMENT_SIZE, "%s (%.20s)", absolute, relative);
    else
        snprintf (out, MOMENT_SIZE, "%s", style == MOMENT_ABSOLUTE ? absolute : relative);
    return out;
}
