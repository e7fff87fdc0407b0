#include "when_kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instant.h"
#include "nearest.h"
#include "settings.h"

// Read a date as the base time, but not the start of 1970: 0 on the wire means that no time was
// given.
static int read_base_time (const struct when_context *self, const char *option, const char *text)
{
    struct reason why;
    int64_t time;
    if (instant_parse_date (text, self->zone, &time, &why))
        return reason_set (self->reason, "%s: %s", option, why.text);
    if (time == 0)
        return reason_set (self->reason, "%s: want an instant after 1970-01-01T00:00:00Z", option);
    self->rule->base_time = time;
    return 0;
}

// -- durations

int when_duration (const char *option, const char *text, struct duration *ret,
                   struct reason *reason)
{
    if (duration_parse (text, ret))
        return 0;
    return reason_set (reason, "%s: want a duration as 5s, 90m, 1h30m or 2d, got %s", option,
                       quoted (span_text (text)));
}

// -- days and times of day

enum { DAY_MAX = 64 };

// Split at the @: the text before it is copied to `day`, the text after it is the time of day.
static int read_day_and_time (const struct when_context *self, const char *option, const char *text,
                              char day[DAY_MAX], int64_t *ret_seconds)
{
    const char *at = strchr (text, '@');
    size_t day_size = at ? (size_t)(at - text) : strlen (text);
    *ret_seconds = 0;
    if (day_size >= DAY_MAX || (at && !clock_time_of_day (at + 1, ret_seconds)))
        return reason_set (self->reason, "%s: want DAY or DAY@HH:MM or DAY@HH:MM:SS, got %s",
                           option, quoted (span_text (text)));
    snprintf (day, DAY_MAX, "%.*s", (int)day_size, text);
    return 0;
}

// -- the kinds of time

static int read_in (const struct when_context *self, const char *text)
{
    struct duration duration;
    if (when_duration ("--in", text, &duration, self->reason))
        return -1;
    int64_t time = schedule_in (self->now_us, duration.seconds);
    if (time > SCHEDULE_TIME_MAX)
        return reason_set (self->reason, "--in: ends after the year 9999");
    self->rule->type = SCHEDULE_TIME;
    self->rule->base_time = time;
    self->rule->keep = true; // as in schedule_in: a slow submission must not make it missed
    return 0;
}

static int read_at (const struct when_context *self, const char *text)
{
    struct reason why;
    int64_t now = self->now_us / 1000000;
    int rc = clock_instant (text, self->zone, now, &self->rule->base_time, &why);
    self->rule->type = SCHEDULE_TIME;
    if (rc < 0)
        reason_set (self->reason, "--at: %s", why.text);
    if (rc > 0 && !strchr (text, '-'))
        return reason_set (self->reason,
                           "--at: want a time as 18:00, 'tomorrow 8:00', 2026-12-24T18:00 or "
                           "2026-12-24T18:00:00+01:00, got %s",
                           quoted (span_text (text)));
    return rc > 0 ? read_base_time (self, "--at", text) : rc;
}

// Set the base time of --every with --start: the first run is at --start, and the wire's plan_time
// is one interval earlier. Days in a zone are subtracted from the local time.
static int read_start (const struct when_context *self, int64_t interval_s)
{
    struct schedule *rule = self->rule;
    const char *cycle = self->words->terms.cycle;
    if (read_base_time (self, "--start", self->words->start))
        return -1;
    if (cycle && strchr (cycle, ',')) // the interval is the first wait; terms.c checks it
        interval_s *= strtol (cycle, NULL, 10);
    bool calendar = rule->type == SCHEDULE_DAY && self->words->timezone;
    int64_t local = rule->base_time + (calendar ? zone_offset (self->zone, rule->base_time) : 0);
    int64_t base = calendar ? zone_instant (self->zone, local - interval_s) : local - interval_s;
    if (base <= 0)
        return reason_set (self->reason,
                           "--start: want an instant later than one interval after 1970");
    rule->base_time = base;
    return 0;
}

static int read_every (const struct when_context *self, const char *text)
{
    struct duration duration;
    enum schedule_type type = SCHEDULE_SECOND;
    const int32_t max = schedule_value_range (type).max;
    if (when_duration ("--every", text, &duration, self->reason))
        return -1;
    while (schedule_period (type) != duration.unit_s)
        type++;
    // If the wire cannot represent the number of seconds, it may still be a whole number of hours.
    while (duration.seconds / schedule_period (type) > max && type < SCHEDULE_DAY &&
           duration.seconds % schedule_period (type + 1) == 0)
        type++;
    int64_t value = duration.seconds / schedule_period (type);
    if (value > max)
        return reason_set (self->reason, "--every: want 0..%d %ss, got %" PRId64, max,
                           schedule_type_name (type), value);
    self->rule->type = type;
    self->rule->value = (int32_t)value;
    return self->words->start ? read_start (self, duration.seconds) : 0;
}

// Make a cron expression, "[S] M H" and then `days`: several days or times of one plan become cron
// expressions.
static json_t *cron_expression (int64_t time_of_day, const char *days)
{
    char text[2 * DAY_MAX], second[8] = "";
    if (time_of_day % 60)
        snprintf (second, sizeof second, "%d ", (int)(time_of_day % 60));
    snprintf (text, sizeof text, "%s%d %d %s", second, (int)(time_of_day / 60 % 60),
              (int)(time_of_day / 3600), days);
    return json_string (text);
}

// Set the cron member, an expression or a list; a list of one is not sent as a list. Takes
// ownership of the value.
static int set_cron_rule (const struct when_context *self, json_t *value)
{
    if (json_array_size (value) == 1) {
        json_t *only = json_incref (json_array_get (value, 0));
        json_decref (value);
        value = only;
    }
    self->rule->type = SCHEDULE_CRON;
    return terms_put (self->members, "cron", value, self->reason);
}

// Set the rule of a single day, which has its own type on the wire.
static int set_day_rule (const struct when_context *self, enum schedule_type type, int32_t value,
                         int64_t time_of_day)
{
    self->rule->type = type;
    self->rule->value = value;
    self->rule->base_time = schedule_time_of_day (self->zone, time_of_day);
    return 0;
}

static int read_daily (const struct when_context *self, const char *text)
{
    json_t *list = json_array ();
    for (const char *at = text;; at++) {
        char item[DAY_MAX];
        int64_t time_of_day;
        size_t size = strcspn (at, ",");
        snprintf (item, sizeof item, "%.*s", (int)size, at);
        if (size >= sizeof item || !clock_time_of_day (item, &time_of_day)) {
            reason_set (self->reason, "--daily: want times as 2:00 or 8:00,18:30, got %s",
                        quoted (span_text (text)));
            json_decref (list);
            return -1;
        }
        json_array_append_new (list, cron_expression (time_of_day, "* * *"));
        at += size;
        if (!*at)
            return set_cron_rule (self, list);
    }
}

static int read_weekly (const struct when_context *self, const char *text)
{
    char day[DAY_MAX];
    int64_t time_of_day;
    if (read_day_and_time (self, "--weekly", text, day, &time_of_day))
        return -1;
    unsigned days = clock_weekdays (day);
    if (!days)
        return reason_set (self->reason,
                           "--weekly: want sun..sat or 0..7, or several as mon,wed-fri, got %s",
                           quoted (span_text (day)));
    if (!(days & (days - 1)))
        return set_day_rule (self, SCHEDULE_WEEK, (int32_t)__builtin_ctz (days), time_of_day);
    char list[32] = "* * ";
    for (unsigned i = 0; i < 7; i++)
        if (days & 1U << i)
            snprintf (list + strlen (list), sizeof list - strlen (list), "%s%u",
                      days & ((1U << i) - 1) ? "," : "", i);
    return set_cron_rule (self, cron_expression (time_of_day, list));
}

// Whether a text is a list of days of a month, each 1..31, as "1,15".
static bool are_month_days (const char *text)
{
    for (const char *at = text;; at++) {
        size_t digits = strspn (at, "0123456789");
        long number = digits > 0 && digits < 3 ? strtol (at, NULL, 10) : 0;
        at += digits;
        if (number < 1 || number > 31 || (*at && *at != ','))
            return false;
        if (!*at)
            return true;
    }
}

static int read_monthly (const struct when_context *self, const char *text)
{
    char day[DAY_MAX], days[DAY_MAX + 8];
    int64_t number, time_of_day;
    if (read_day_and_time (self, "--monthly", text, day, &time_of_day))
        return -1;
    if (strchr (day, ',') && are_month_days (day)) {
        snprintf (days, sizeof days, "%s * *", day);
        return set_cron_rule (self, cron_expression (time_of_day, days));
    }
    if (!number_parse (day, &number) || number < -31 || number > 31)
        return reason_set (self->reason,
                           "--monthly: want a day -31..31, or several as 1,15, got %s",
                           quoted (span_text (day)));
    return set_day_rule (self, SCHEDULE_MONTH, (int32_t)number, time_of_day);
}

static int read_value (const struct when_context *self)
{
    enum schedule_type type = self->rule->type;
    struct value_range range = schedule_value_range (type);
    range.max += type == SCHEDULE_WEEK; // 7 is Sunday, too
    const char *text = self->words->value;
    const char *cycle = self->words->terms.cycle;
    if (!text && (!schedule_repeats (type) || (cycle && strchr (cycle, ','))))
        return 0;
    int64_t number;
    if (!text || !number_parse (text, &number) || number < range.min || number > range.max)
        return reason_set (self->reason, "--value: want %d..%d for type %s, got %s", range.min,
                           range.max, schedule_type_name (type),
                           text ? quoted (span_text (text)) : "none");
    self->rule->value = type == SCHEDULE_WEEK ? (int32_t)number % 7 : (int32_t)number;
    return 0;
}

static int read_time (const struct when_context *self)
{
    struct reason why;
    const char *text = self->words->time;
    if (text && instant_parse (text, self->zone, &self->rule->base_time, &why))
        return reason_set (self->reason, "--time: %s", why.text);
    if (self->rule->type == SCHEDULE_TIME && self->rule->base_time == 0)
        return reason_set (self->reason, "--time: must be given for type time, and not be 0");
    return 0;
}

int64_t when_type (const char *text)
{
    int64_t number;
    return number_parse (text, &number) ? number : schedule_type_parse (text);
}

static int read_type (const struct when_context *self, const char *text)
{
    int64_t number = when_type (text);
    if (number == SCHEDULE_CRON)
        return reason_set (self->reason, "--cron: must be given for type cron");
    if (number < 0 || number >= SCHEDULE_TYPES) {
        struct nearest nearest = nearest_to (text);
        nearest_try_list (&nearest, TYPE_WORDS);
        return reason_set (
            self->reason,
            "--type: plan_type: want " SCHEDULE_TYPE_NAMES (", ") " or 0..%d, got %s%s",
            SCHEDULE_TYPES - 1, quoted (span_text (text)), nearest_hint (&nearest));
    }
    self->rule->type = (enum schedule_type)number;
    return read_value (self) || read_time (self) ? -1 : 0;
}

static int read_cron (const struct when_context *self, const char *first)
{
    const struct option_texts *texts = &self->words->cron;
    json_t *value = texts->count == 1 ? json_string (first) : json_array ();
    for (size_t i = 0; texts->count > 1 && i < texts->count; i++)
        json_array_append_new (value, json_string (texts->texts[i]));
    return set_cron_rule (self, value);
}

const struct when_kind when_kinds[WHEN_KINDS] = {
    {IN, "--in", offsetof (struct when_words, in), read_in},
    {AT, "--at", offsetof (struct when_words, at), read_at},
    {EVERY, "--every", offsetof (struct when_words, every), read_every},
    {DAILY, "--daily", offsetof (struct when_words, daily), read_daily},
    {WEEKLY, "--weekly", offsetof (struct when_words, weekly), read_weekly},
    {MONTHLY, "--monthly", offsetof (struct when_words, monthly), read_monthly},
    {CRON, "--cron", offsetof (struct when_words, cron.texts), read_cron}, // the first expression
    {TYPE, "--type", offsetof (struct when_words, type), read_type},
};
