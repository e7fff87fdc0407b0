#include "retry_after.h"

#include <stdbool.h>
#include <stdio.h>

#include "civil.h"

static int64_t bounded_seconds (int64_t seconds)
{
    return seconds <= 0 ? 0 : seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S;
}

static bool read_http_date (const char *text, int64_t *ret)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char month[4];
    int day, year, hour, minute, second, used = 0;
    int read = sscanf (text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &day, month,
                       &year, &hour, &minute, &second, &used);
    const char *found = read == 6 && strlen (month) == 3 ? strstr (months, month) : NULL;
    if (!found || (found - months) % 3 || used == 0 || text[used] || year < 1970)
        return false;
    struct civil_date date = {year, (int)(found - months) / 3 + 1, day};
    if (day < 1 || day > civil_month_length (year, date.month) || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    *ret = civil_days (date) * CIVIL_DAY + hour * 3600 + minute * 60 + second;
    return true;
}

int64_t retry_after (struct span value, int64_t now_s)
{
    char text[64];
    int64_t seconds = 0;
    if (value.size == 0 || value.size >= sizeof text)
        return 0;
    memcpy (text, value.data, value.size);
    text[value.size] = '\0';
    if (text[strspn (text, "0123456789")] == '\0' && strlen (text) == value.size) {
        for (const char *at = text; *at && seconds <= RETRY_AFTER_MAX_S; at++)
            seconds = seconds * 10 + (*at - '0');
        return bounded_seconds (seconds);
    }
    return read_http_date (text, &seconds) ? bounded_seconds (seconds - now_s) : 0;
}
