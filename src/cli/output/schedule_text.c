#include "schedule_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "civil.h"
#include "instant.h"
#include "json.h"
#include "schedule.h"

enum { FIELDS_MAX = 6, FIELD_SIZE = 32, CLOCK_SIZE = 16, DAYS_SIZE = 64 };

static const char *const weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

// Append text, truncated if it does not fit.
__attribute__ ((format (printf, 2, 3))) static void append_format (char out[SCHEDULE_TEXT_SIZE],
                                                                   const char *format, ...)
{
    size_t size = strlen (out);
    va_list args;
    va_start (args, format);
    vsnprintf (out + size, SCHEDULE_TEXT_SIZE - size, format, args);
    va_end (args);
}

static const char *clock_text (int64_t seconds, char out[CLOCK_SIZE])
{
    int second = (int)(seconds % 60);
    int size = snprintf (out, CLOCK_SIZE, "%02d:%02d", (int)(seconds / 3600 % 24),
                         (int)(seconds / 60 % 60));
    if (second)
        snprintf (out + size, CLOCK_SIZE - (size_t)size, ":%02d", second);
    return out;
}

static void append_zone (char out[SCHEDULE_TEXT_SIZE], const json_t *plan)
{
    const char *name = json_string_value (json_object_get (plan, "timezone"));
    if (name)
        append_format (out, " %s", name);
}

// -- cron

// Read a cron field that is a single number 0..max. False: it is not.
static bool read_number (const char *field, int max, int *ret)
{
    size_t digits = strspn (field, "0123456789");
    if (digits < 1 || digits > 2 || field[digits])
        return false;
    *ret = digits == 1 ? field[0] - '0' : (field[0] - '0') * 10 + (field[1] - '0');
    return *ret <= max;
}

// Write "Mon-Fri" for consecutive days, else "Mon, Wed".
static void days_text (unsigned days, char out[DAYS_SIZE])
{
    int first = 1, count = __builtin_popcount (days), size = 0;
    while (!(days >> first % 7 & 1)) // the week begins on Monday
        first++;
    bool run = count > 2;
    for (int i = 0; i < count; i++)
        run = run && days >> (first + i) % 7 & 1;
    if (run) {
        snprintf (out, DAYS_SIZE, "%s-%s", weekdays[first % 7], weekdays[(first + count - 1) % 7]);
        return;
    }
    for (int i = 0; i < 7; i++)
        if (days >> (first + i) % 7 & 1)
            size += snprintf (out + size, DAYS_SIZE - (size_t)size, "%s%s", size ? ", " : "",
                              weekdays[(first + i) % 7]);
}

struct expression {
    char clock[CLOCK_SIZE];
    char day[FIELD_SIZE], weekday[FIELD_SIZE];
};

// Read an expression for one time of day on some days: "[S] M H DAY * WEEKDAY". False: it has
// another form.
static bool read_expression (const char *text, struct expression *ret)
{
    char fields[FIELDS_MAX][FIELD_SIZE];
    size_t count = 0;
    int second = 0, minute, hour;
    for (const char *at = text + strspn (text, " "); *at; at += strspn (at, " ")) {
        size_t size = strcspn (at, " ");
        if (count == FIELDS_MAX || size >= FIELD_SIZE)
            return false;
        memcpy (fields[count], at, size);
        fields[count++][size] = '\0';
        at += size;
    }
    size_t first = count == FIELDS_MAX;
    if (count < FIELDS_MAX - 1 || (first && !read_number (fields[0], 59, &second)) ||
        !read_number (fields[first], 59, &minute) || !read_number (fields[first + 1], 23, &hour) ||
        strcmp (fields[first + 3], "*") != 0)
        return false;
    clock_text (hour * 3600 + minute * 60 + second, ret->clock);
    memcpy (ret->day, fields[first + 2], FIELD_SIZE);
    memcpy (ret->weekday, fields[first + 4], FIELD_SIZE);
    return true;
}

// Describe cron expressions that differ in their times of day only. False: they have no simple
// text.
static bool cron_words (const json_t *list, char out[SCHEDULE_TEXT_SIZE])
{
    size_t i;
    const json_t *value;
    struct expression first = {0}, current;
    json_array_foreach (list, i, value)
    {
        const char *text = json_string_value (value);
        if (!text || !read_expression (text, &current))
            return false;
        if (i == 0) {
            char days[DAYS_SIZE];
            unsigned mask = clock_weekdays (current.weekday);
            bool any_day = strcmp (current.day, "*") == 0,
                 any_weekday = strcmp (current.weekday, "*") == 0;
            first = current;
            if (any_day && any_weekday)
                append_format (out, "daily ");
            else if (any_day && mask) {
                days_text (mask, days);
                append_format (out, "%s ", days);
            } else if (any_weekday && strspn (current.day, "0123456789,") == strlen (current.day))
                append_format (out, "monthly on day%s %s at ", strchr (current.day, ',') ? "s" : "",
                               current.day);
            else
                return false;
        } else if (strcmp (current.day, first.day) != 0 ||
                   strcmp (current.weekday, first.weekday) != 0) {
            return false;
        }
        append_format (out, "%s%s", i ? ", " : "", current.clock);
    }
    return i > 0;
}

static void write_cron (const json_t *plan, char out[SCHEDULE_TEXT_SIZE])
{
    json_t *cron = json_object_get (plan, "cron");
    json_t *list = json_is_array (cron) ? json_incref (cron) : json_pack ("[O]", cron);
    if (!cron_words (list, out)) {
        const char *text = json_string_value (json_array_get (list, 0));
        snprintf (out, SCHEDULE_TEXT_SIZE, "cron %.100s%s", text ? text : "-",
                  json_array_size (list) > 1 ? " ..." : "");
    }
    json_decref (list);
    append_zone (out, plan);
}

// -- intervals

static void write_interval (const json_t *plan, int64_t value, const char *const units[2],
                            char out[SCHEDULE_TEXT_SIZE])
{
    const json_t *cycle = json_object_get (plan, "cycle");
    size_t i;
    const json_t *step;
    if (json_is_array (cycle)) {
        append_format (out, "every ");
        json_array_foreach (cycle, i, step) append_format (
            out, "%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value (step));
        append_format (out, " %s in turn", units[1]);
    } else if (value == 0) {
        append_format (out, "without a pause");
    } else if (value == 1 && strcmp (units[0], "day") == 0) {
        append_format (out, "every day");
    } else {
        append_format (out, "every %" PRId64 " %s", value, units[value != 1]);
    }
}

// -- the calendar

// Append the time of day of the plan's base time, 00:00 without one, none if the zone is unknown;
// then the zone's name.
static void append_clock (char out[SCHEDULE_TEXT_SIZE], const char *before, const json_t *plan,
                          const struct zone *zone)
{
    int64_t base = 0;
    char clock[CLOCK_SIZE];
    json_get_integer (plan, "base_time", 0, SCHEDULE_TIME_MAX, &base);
    if (base == 0)
        append_format (out, "%s00:00", before);
    else if (zone)
        append_format (out, "%s%s", before,
                       clock_text (civil_time_of_day (base + zone_offset (zone, base)), clock));
    append_zone (out, plan);
}

static void write_month (int64_t day, char out[SCHEDULE_TEXT_SIZE])
{
    if (day > 0)
        append_format (out, "monthly on day %" PRId64, day);
    else if (day == 0)
        append_format (out, "monthly on the last day");
    else
        append_format (out, "monthly %" PRId64 " day%s before the last", -day, day < -1 ? "s" : "");
}

const char *schedule_text (const json_t *plan, const struct zone *zone,
                           char out[SCHEDULE_TEXT_SIZE])
{
    static const char *const units[SCHEDULE_TYPES][2] = {[SCHEDULE_SECOND] = {"s", "s"},
                                                         [SCHEDULE_MINUTE] = {"min", "min"},
                                                         [SCHEDULE_HOUR] = {"h", "h"},
                                                         [SCHEDULE_DAY] = {"day", "days"}};
    int64_t type = SCHEDULE_TYPES, value = 0;
    json_get_integer (plan, "plan_type", 0, SCHEDULE_TYPES - 1, &type);
    json_get_integer (plan, "plan_value", INT32_MIN, INT32_MAX, &value);
    out[0] = '\0';
    switch ((enum schedule_type)type) {
    case SCHEDULE_NONE:
    case SCHEDULE_TIME:
        append_format (out, "once");
        break;
    case SCHEDULE_SECOND:
    case SCHEDULE_MINUTE:
    case SCHEDULE_HOUR:
    case SCHEDULE_DAY:
        write_interval (plan, value, units[type], out);
        if (type == SCHEDULE_DAY && value > 0 && json_object_get (plan, "timezone"))
            append_clock (out, " at ", plan, zone);
        break;
    case SCHEDULE_WEEK:
        append_format (out, "%s", weekdays[value >= 0 ? value % 7 : 0]);
        append_clock (out, " ", plan, zone);
        break;
    case SCHEDULE_MONTH:
        write_month (value, out);
        append_clock (out, " at ", plan, zone);
        break;
    case SCHEDULE_CRON:
        write_cron (plan, out);
        break;
    case SCHEDULE_TYPES:
        append_format (out, "-");
    }
    return out;
}
