#include "duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "settings.h"

static const struct duration_unit {
    const char *letter;
    int32_t seconds;
    const char *name;
} units[] = {{"d", 86400, "d"}, {"h", 3600, "h"}, {"m", 60, "min"}, {"s", 1, "s"}};

enum { UNITS = sizeof units / sizeof *units };

bool duration_parse (const char *text, struct duration *ret)
{
    enum { DIGITS_MAX = 12 }; // enough for the seconds to the year 9999, far from overflow
    const char *at = text;
    int64_t total = 0;
    size_t unit = 0, last = 0;
    for (; *at && unit < UNITS; unit++) {
        size_t digits = strspn (at, "0123456789");
        if (digits < 1 || digits > DIGITS_MAX)
            break;
        int64_t number = 0;
        for (size_t i = 0; i < digits; i++)
            number = number * 10 + (at[i] - '0');
        while (unit < UNITS && *units[unit].letter != at[digits])
            unit++;
        if (unit == UNITS)
            break;
        total += number * units[unit].seconds;
        at += digits + 1;
        last = unit;
    }
    if (*at || at == text || total > DURATION_MAX_S)
        return false;
    *ret = (struct duration){total, units[last].seconds};
    return true;
}

bool duration_seconds (const char *text, int64_t *ret)
{
    struct duration duration;
    if (number_parse (text, ret))
        return true;
    if (!duration_parse (text, &duration))
        return false;
    *ret = duration.seconds;
    return true;
}

// Parse digits followed by "ms", as milliseconds.
static bool parse_ms (const char *text, int64_t *ret_ms)
{
    size_t digits = strspn (text, "0123456789");
    if (digits < 1 || digits > 15 || strcmp (text + digits, "ms") != 0)
        return false;
    char number[16];
    snprintf (number, sizeof number, "%.*s", (int)digits, text);
    return number_parse (number, ret_ms);
}

bool duration_count (const char *text, int64_t unit_ms, int64_t *ret)
{
    struct duration duration;
    int64_t ms;
    if (number_parse (text, ret))
        return true;
    if (duration_parse (text, &duration))
        ms = duration.seconds * 1000;
    else if (!parse_ms (text, &ms))
        return false;
    if (ms % unit_ms != 0)
        return false;
    *ret = ms / unit_ms;
    return true;
}

// Write the numbers that are not 0 with their units.
static const char *write_duration (int64_t seconds, bool for_people, char out[DURATION_SIZE])
{
    size_t size = 0;
    for (size_t i = 0; i < UNITS; i++) {
        int64_t number = seconds / units[i].seconds;
        seconds %= units[i].seconds;
        if (number <= 0 && (i + 1 < UNITS || size > 0))
            continue;
        size += (size_t)snprintf (out + size, DURATION_SIZE - size, "%s%" PRId64 "%s%s",
                                  for_people && size ? " " : "", number, for_people ? " " : "",
                                  for_people ? units[i].name : units[i].letter);
    }
    return out;
}

const char *duration_text (int64_t seconds, char out[DURATION_SIZE])
{
    return write_duration (seconds, true, out);
}

const char *duration_option (int64_t seconds, char out[DURATION_SIZE])
{
    return write_duration (seconds, false, out);
}
