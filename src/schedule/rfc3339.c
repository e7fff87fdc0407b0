// The text has one fixed layout: a table has the position, width and range of each field.
#include "rfc3339.h"

#include <assert.h>

#include "civil.h"
#include "schedule.h"

enum field { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, OFFSET_HOUR, OFFSET_MINUTE, FIELDS };

enum { SIGN_AT = 19 }; // position of the sign of the offset, or of the "Z"

static const struct {
    size_t at, width;
    int min, max;
    const char *name;
} fields[FIELDS] = {
    [YEAR] = {0, 4, 0, 9999, "year"},
    [MONTH] = {5, 2, 1, 12, "month"},
    [DAY] = {8, 2, 1, 31, "day"},
    [HOUR] = {11, 2, 0, 23, "hour"},
    [MINUTE] = {14, 2, 0, 59, "minute"},
    [SECOND] = {17, 2, 0, 59, "second"},
    [OFFSET_HOUR] = {20, 2, 0, 23, "offset hour"},
    [OFFSET_MINUTE] = {23, 2, 0, 59, "offset minute"},
};

// Whether the text has this layout: 'd' is a digit, 's' a sign, a capital letter itself in either
// case, any other character itself.
static bool fits_layout (struct span text, const char *layout)
{
    if (text.size != strlen (layout))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        uint8_t wanted = (uint8_t)layout[i];
        bool fits = byte == wanted || byte == (wanted | 0x20);
        if (wanted == 'd')
            fits = byte >= '0' && byte <= '9';
        else if (wanted == 's')
            fits = byte == '+' || byte == '-';
        if (!fits)
            return false;
    }
    return true;
}

static int read_digits (const uint8_t *at, size_t width)
{
    int number = 0;
    for (size_t i = 0; i < width; i++)
        number = number * 10 + (at[i] - '0');
    return number;
}

// Read the fields that the text has; the others stay 0.
static int read_fields (struct span text, int values[FIELDS], struct reason *reason)
{
    for (size_t i = 0; i < FIELDS && fields[i].at < text.size; i++) {
        values[i] = read_digits (text.data + fields[i].at, fields[i].width);
        if (values[i] < fields[i].min || values[i] > fields[i].max)
            return reason_set (reason, "%s: the %s is not within %d..%d", quoted (text),
                               fields[i].name, fields[i].min, fields[i].max);
    }
    int length = civil_month_length (values[YEAR], values[MONTH]);
    if (values[DAY] > length)
        return reason_set (reason, "%s: that month has %d days", quoted (text), length);
    return 0;
}

int rfc3339_parse (struct span text, int64_t *ret_time, struct reason *reason)
{
    if (!fits_layout (text, "dddd-dd-ddTdd:dd:ddZ") &&
        !fits_layout (text, "dddd-dd-ddTdd:dd:ddsdd:dd"))
        return reason_set (
            reason, "want a time such as 2026-12-24T18:00:00+01:00 or 2026-12-24T17:00:00Z, got %s",
            quoted (text));
    int values[FIELDS] = {0};
    if (read_fields (text, values, reason))
        return -1;

    int64_t days = civil_days ((struct civil_date){values[YEAR], values[MONTH], values[DAY]});
    int64_t local = days * CIVIL_DAY + values[HOUR] * 3600 + values[MINUTE] * 60 + values[SECOND];
    int64_t offset = values[OFFSET_HOUR] * 3600 + values[OFFSET_MINUTE] * 60;
    int64_t time = text.data[SIGN_AT] == '-' ? local + offset : local - offset;
    if (time < 0 || time > SCHEDULE_TIME_MAX)
        return reason_set (reason, "%s: not within 1970..9999", quoted (text));
    *ret_time = time;
    return 0;
}

static void put_digits (char *out, int64_t number, int count)
{
    for (; count; number /= 10)
        out[--count] = (char)('0' + number % 10);
}

// Not with snprintf, which is slow: a page of plans has some hundred instants.
void rfc3339_format (int64_t time, char out[RFC3339_SIZE])
{
    assert (time >= 0 && time <= SCHEDULE_TIME_MAX);
    struct civil_date date = civil_date (civil_day_of (time));
    int64_t seconds = civil_time_of_day (time);
    memcpy (out, "0000-00-00T00:00:00Z", sizeof "0000-00-00T00:00:00Z");
    put_digits (out, date.year, 4);
    put_digits (out + 5, date.month, 2);
    put_digits (out + 8, date.day, 2);
    put_digits (out + 11, seconds / 3600, 2);
    put_digits (out + 14, seconds / 60 % 60, 2);
    put_digits (out + 17, seconds % 60, 2);
}
