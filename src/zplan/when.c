// Each kind of time is a row: its option, its reader, and the other options it goes with.
#include "when.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "civil.h"
#include "duration.h"
#include "instant.h"
#include "nearest.h"
#include "plan_frame.h"
#include "settings.h"

// What a reader of one kind works on.
struct reading {
    const struct when_words *words;
    const struct zone *zone;
    int64_t now_us;
    struct schedule *rule;
    json_t *members; // as struct when has them
    struct reason *reason;
};

// A date that must not be the start of 1970, which on the wire means none was given.
static int read_base (const struct reading *self, const char *option, const char *text)
{
    struct reason why;
    int64_t time;
    if (instant_parse_date (text, self->zone, &time, &why)) {
        reason_set (self->reason, "%s: %s", option, why.text);
        return -1;
    }
    if (time == 0) {
        reason_set (self->reason, "%s: want an instant after 1970-01-01T00:00:00Z", option);
        return -1;
    }
    self->rule->base_time = time;
    return 0;
}

// -- durations

static const struct unit {
    int32_t seconds;
    enum schedule_type type;
    const char *name;
} units[] = {
    {86400, SCHEDULE_DAY, "days"},
    {3600, SCHEDULE_HOUR, "hours"},
    {60, SCHEDULE_MINUTE, "minutes"},
    {1, SCHEDULE_SECOND, "seconds"},
};

static int read_duration (const struct reading *self, const char *option, const char *text,
                          struct duration *ret)
{
    if (duration_parse (text, ret))
        return 0;
    reason_set (self->reason, "%s: want a duration as 5s, 90m, 1h30m or 2d, got %s", option,
                quoted (span_text (text)));
    return -1;
}

// -- weekdays, days of the month, times of day

// "08:30" or "08:30:15" to seconds. False: it is neither.
static bool parse_time_of_day (const char *text, int64_t *ret_seconds)
{
    static const int limits[] = {24, 60, 60};
    size_t size = strlen (text);
    if (size != 5 && size != 8)
        return false;
    int64_t seconds = 0;
    for (size_t part = 0; part < 3; part++) {
        int number = 0;
        if (part * 3 < size) {
            const char *at = text + part * 3;
            if (strspn (at, "0123456789") != 2 || (at[2] && at[2] != ':'))
                return false;
            number = (at[0] - '0') * 10 + (at[1] - '0');
        }
        if (number >= limits[part])
            return false;
        seconds = seconds * 60 + number;
    }
    *ret_seconds = seconds;
    return true;
}

// What stands before the @ goes to `day`, what stands behind it makes plan_time: the rule reads
// nothing but the time of day from it, so it lies on a fixed day on which no zone changed its
// clock. The same words are then the same plan, whenever they are said.
static int read_day_and_time (const struct reading *self, const char *option, const char *text,
                              char day[16])
{
    static const struct civil_date fixed_day = {2024, 1, 15};
    const char *at = strchr (text, '@');
    size_t day_size = at ? (size_t)(at - text) : strlen (text);
    int64_t seconds = 0;
    if (day_size >= 16 || (at && !parse_time_of_day (at + 1, &seconds))) {
        reason_set (self->reason, "%s: want DAY or DAY@HH:MM or DAY@HH:MM:SS, got %s", option,
                    quoted (span_text (text)));
        return -1;
    }
    memcpy (day, text, day_size);
    day[day_size] = '\0';
    self->rule->base_time = zone_instant (self->zone, civil_days (fixed_day) * CIVIL_DAY + seconds);
    return 0;
}

// 0..7 or at least three letters of a weekday's name; -1: neither.
static int parse_weekday (const char *text)
{
    static const char *const names[] = {"sunday",   "monday", "tuesday", "wednesday",
                                        "thursday", "friday", "saturday"};
    int64_t number;
    if (number_parse (text, &number))
        return number >= 0 && number <= 7 ? (int)number % 7 : -1;
    for (int i = 0; strlen (text) >= 3 && i < 7; i++)
        if (strncasecmp (names[i], text, strlen (text)) == 0)
            return i;
    return -1;
}

// -- the kinds of time

static int read_in (const struct reading *self, const char *text)
{
    struct duration duration;
    if (read_duration (self, "--in", text, &duration))
        return -1;
    // Up to the whole second, and kept: neither a slow second on the way nor a station whose clock
    // is ahead refuses it.
    int64_t time = (self->now_us + 999999) / 1000000 + duration.seconds;
    if (time > SCHEDULE_TIME_MAX) {
        reason_set (self->reason, "--in: ends after the year 9999");
        return -1;
    }
    self->rule->type = SCHEDULE_TIME;
    self->rule->base_time = time;
    self->rule->keep = true;
    return 0;
}

static int read_at (const struct reading *self, const char *text)
{
    self->rule->type = SCHEDULE_TIME;
    return read_base (self, "--at", text);
}

static int read_every (const struct reading *self, const char *text)
{
    enum { VALUE_MAX = 32766 };
    struct duration duration;
    if (read_duration (self, "--every", text, &duration))
        return -1;
    const struct unit *unit = units;
    while (unit->seconds != duration.unit_s)
        unit++;
    // More seconds than the wire can say may still be a whole number of hours.
    while (duration.seconds / unit->seconds > VALUE_MAX && unit > units &&
           duration.seconds % unit[-1].seconds == 0)
        unit--;
    int64_t value = duration.seconds / unit->seconds;
    if (value > VALUE_MAX) {
        reason_set (self->reason, "--every: plan_value: want 0..%d %s, got %" PRId64, VALUE_MAX,
                    unit->name, value);
        return -1;
    }
    self->rule->type = unit->type;
    self->rule->value = (int32_t)value;
    return self->words->start ? read_base (self, "--start", self->words->start) : 0;
}

static int read_weekly (const struct reading *self, const char *text)
{
    char day[16];
    if (read_day_and_time (self, "--weekly", text, day))
        return -1;
    int weekday = parse_weekday (day);
    if (weekday < 0) {
        reason_set (self->reason, "--weekly: plan_value: want sun..sat or 0..7, got %s",
                    quoted (span_text (day)));
        return -1;
    }
    self->rule->type = SCHEDULE_WEEK;
    self->rule->value = weekday;
    return 0;
}

static int read_monthly (const struct reading *self, const char *text)
{
    char day[16];
    int64_t number;
    if (read_day_and_time (self, "--monthly", text, day))
        return -1;
    if (!number_parse (day, &number) || number < -31 || number > 31) {
        reason_set (self->reason, "--monthly: plan_value: want a day -31..31, got %s",
                    quoted (span_text (day)));
        return -1;
    }
    self->rule->type = SCHEDULE_MONTH;
    self->rule->value = (int32_t)number;
    return 0;
}

// What the wire demands of plan_value, by plan_type.
static const struct {
    int32_t min, max;
} value_bounds[SCHEDULE_TYPES] = {
    [SCHEDULE_NONE] = {-31, 32766}, [SCHEDULE_TIME] = {-31, 32766}, [SCHEDULE_SECOND] = {0, 32766},
    [SCHEDULE_MINUTE] = {0, 32766}, [SCHEDULE_HOUR] = {0, 32766},   [SCHEDULE_DAY] = {0, 32766},
    [SCHEDULE_WEEK] = {0, 7},       [SCHEDULE_MONTH] = {-31, 31},
};

static bool runs_once (enum schedule_type type)
{
    return type == SCHEDULE_NONE || type == SCHEDULE_TIME;
}

static int read_value (const struct reading *self)
{
    enum schedule_type type = self->rule->type;
    int32_t min = value_bounds[type].min, max = value_bounds[type].max;
    const char *text = self->words->value;
    const char *cycle = self->words->terms.cycle;
    if (!text && (runs_once (type) || (cycle && strchr (cycle, ','))))
        return 0;
    int64_t number;
    if (!text || !number_parse (text, &number) || number < min || number > max) {
        reason_set (self->reason, "--value: plan_value: want %d..%d for type %s, got %s", min, max,
                    schedule_type_name (type), text ? quoted (span_text (text)) : "none");
        return -1;
    }
    self->rule->value = type == SCHEDULE_WEEK ? (int32_t)number % 7 : (int32_t)number;
    return 0;
}

static int read_time (const struct reading *self)
{
    struct reason why;
    const char *text = self->words->time;
    if (text && instant_parse (text, self->zone, &self->rule->base_time, &why)) {
        reason_set (self->reason, "--time: plan_time: %s", why.text);
        return -1;
    }
    if (self->rule->type == SCHEDULE_TIME && self->rule->base_time == 0) {
        reason_set (self->reason, "--time: plan_time: must be given for type time, and not be 0");
        return -1;
    }
    return 0;
}

static int read_type (const struct reading *self, const char *text)
{
    int64_t number;
    if (!number_parse (text, &number))
        number = schedule_type_parse (text);
    if (number == SCHEDULE_CRON) {
        reason_set (self->reason, "--cron: must be given for type cron");
        return -1;
    }
    if (number < 0 || number >= SCHEDULE_TYPES) {
        struct nearest nearest = nearest_to (text);
        nearest_try_list (&nearest, TYPE_WORDS);
        reason_set (self->reason,
                    "--type: plan_type: want none, time, second, minute, hour, day, week, month, "
                    "cron or 0..8, got %s%s",
                    quoted (span_text (text)), nearest_hint (&nearest));
        return -1;
    }
    self->rule->type = (enum schedule_type)number;
    return read_value (self) || read_time (self) ? -1 : 0;
}

static bool is_cron (const char *type)
{
    int64_t number;
    return type &&
           (number_parse (type, &number) ? number : schedule_type_parse (type)) == SCHEDULE_CRON;
}

static int read_cron (const struct reading *self, const char *first)
{
    const struct option_texts *texts = &self->words->cron;
    json_t *list = json_array ();
    for (size_t i = 0; i < texts->count; i++)
        json_array_append_new (list, json_string (texts->texts[i]));
    if (texts->count == 1) {
        json_decref (list);
        list = json_string (first);
    }
    self->rule->type = SCHEDULE_CRON;
    return terms_put (self->members, "cron", list, self->reason);
}

// -- the words together

enum {
    IN = 1,
    AT = 2,
    EVERY = 4,
    WEEKLY = 8,
    MONTHLY = 16,
    CRON = 32,
    NOW = 64,
    TYPE = 128,
    REPEATING = EVERY | WEEKLY | MONTHLY | CRON | TYPE
};

#define REPEATING_WORDS "--every, --weekly, --monthly, --cron and --type"

static const struct kind {
    unsigned bit;
    const char *option;
    size_t offset;
    int (*read) (const struct reading *self, const char *text);
} kinds[] = {
    {IN, "--in", offsetof (struct when_words, in), read_in},
    {AT, "--at", offsetof (struct when_words, at), read_at},
    {EVERY, "--every", offsetof (struct when_words, every), read_every},
    {WEEKLY, "--weekly", offsetof (struct when_words, weekly), read_weekly},
    {MONTHLY, "--monthly", offsetof (struct when_words, monthly), read_monthly},
    {CRON, "--cron", offsetof (struct when_words, cron.texts), read_cron}, // the first of them
    {TYPE, "--type", offsetof (struct when_words, type), read_type},
};

static const struct companion {
    const char *option;
    size_t offset;
    unsigned kinds;
    const char *rule;
} companions[] = {
    {"--value", offsetof (struct when_words, value), TYPE, "--type"},
    {"--time", offsetof (struct when_words, time), TYPE, "--type"},
    {"--start", offsetof (struct when_words, start), REPEATING, REPEATING_WORDS},
    {"--end", offsetof (struct when_words, terms.end), REPEATING, REPEATING_WORDS},
    {"--iteration", offsetof (struct when_words, terms.iteration), REPEATING, REPEATING_WORDS},
    {"--cycle", offsetof (struct when_words, terms.cycle), REPEATING, REPEATING_WORDS},
    {"--repeat", offsetof (struct when_words, repeat), REPEATING, REPEATING_WORDS},
};

static const char *word_at (const struct when_words *words, size_t offset)
{
    return *(const char *const *)((const uint8_t *)words + offset);
}

// The one kind that was said; `ret_kind` is NULL for --now and for nothing.
static int find_kind (const struct when_words *words, const struct kind **ret_kind,
                      struct reason *reason)
{
    const char *said = words->now ? "--now" : NULL;
    *ret_kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool beside = kinds[i].bit == TYPE && words->cron.count && is_cron (words->type);
        if (!word_at (words, kinds[i].offset) || beside)
            continue;
        if (said) {
            reason_set (reason, "%s and %s: want one kind of time", said, kinds[i].option);
            return -1;
        }
        said = kinds[i].option;
        *ret_kind = &kinds[i];
    }
    return 0;
}

static int check_companions (const struct when_words *words, unsigned kind, struct reason *reason)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++) {
        if (word_at (words, companions[i].offset) && !(companions[i].kinds & kind)) {
            reason_set (reason, "%s: goes with %s only", companions[i].option, companions[i].rule);
            return -1;
        }
    }
    return 0;
}

// Two ways to say the same.
static int check_doubles (const struct when_words *words, struct reason *reason)
{
    if (words->keep && words->terms.misfire)
        reason_set (reason, "--keep and --misfire: want one or the other");
    else if (words->repeat && words->terms.iteration)
        reason_set (reason, "--repeat and --iteration: want one or the other");
    else if (words->wall_clock && !words->timezone)
        reason_set (reason, "--wall-clock: goes with --timezone only");
    else
        return 0;
    return -1;
}

static int read_repeat (const struct reading *self)
{
    const char *text = self->words->repeat;
    bool once = runs_once (self->rule->type);
    self->rule->repeat = once ? 1 : SCHEDULE_FOREVER;
    if (!text || strcmp (text, "forever") == 0)
        return 0;
    int64_t number;
    bool is_number = number_parse (text, &number) && number >= INT32_MIN && number <= INT32_MAX;
    if (!is_number || (!once && number != SCHEDULE_FOREVER && number < 1)) {
        reason_set (self->reason, "--repeat: plan_repet: want forever, -1 or 1..%d, got %s",
                    INT32_MAX, quoted (span_text (text)));
        return -1;
    }
    if (!once)
        self->rule->repeat = (int32_t)number;
    return 0;
}

static int read_skip (const struct reading *self, int64_t *ret_skip)
{
    const char *text = self->words->skip;
    int32_t repeat = self->rule->repeat;
    int64_t number = 0;
    if (text && (!number_parse (text, &number) || number < 0 || number > INT32_MAX)) {
        reason_set (self->reason, "--skip: skip_set: want 0..%d, got %s", INT32_MAX,
                    quoted (span_text (text)));
        return -1;
    }
    if (repeat != SCHEDULE_FOREVER && number >= repeat) {
        reason_set (self->reason, "--skip: skip_set: want less than plan_repet, which is %d",
                    repeat);
        return -1;
    }
    if (number > schedule_skip_max (self->rule)) {
        reason_set (self->reason, "--skip: skip_set: want 0..%d for times counted one by one",
                    SCHEDULE_WALK_MAX);
        return -1;
    }
    *ret_skip = number;
    return 0;
}

bool when_is_given (const struct when_words *words)
{
    const struct kind *kind;
    struct reason reason;
    return words->now || find_kind (words, &kind, &reason) || kind;
}

// Whether it reads a wall clock: a day does, in a zone of its own.
static bool is_calendar (enum schedule_type type)
{
    return type == SCHEDULE_DAY || type == SCHEDULE_WEEK || type == SCHEDULE_MONTH ||
           type == SCHEDULE_CRON;
}

// Windows, policies, and the zone that is given: the plan's own.
static int read_members (const struct reading *self, unsigned kind)
{
    const struct when_words *words = self->words;
    struct reason why;
    int64_t start;
    int64_t value = kind == EVERY ? self->rule->value : 1;
    if (words->timezone && (words->wall_clock || is_calendar (self->rule->type)) &&
        terms_put (self->members, "timezone", json_string (words->timezone), self->reason))
        return -1;
    if (words->start && kind != EVERY) {
        if (instant_parse (words->start, self->zone, &start, &why)) {
            reason_set (self->reason, "--start: %s", why.text);
            return -1;
        }
        if (terms_put (self->members, "start_time", json_integer (start), self->reason))
            return -1;
    }
    return terms_read (&words->terms, &(struct terms_reading){.zone = self->zone, .step = value},
                       self->members, self->reason);
}

// By the rules of the PLAN frame, which the station judges by too.
static int judge (const struct reading *self, struct when *when)
{
    struct plan_fields fields;
    struct reason why;
    json_t *frame = when_frame (when);
    int rc = plan_frame_read (frame, &plan_limits_default, &fields, &why);
    json_decref (frame);
    if (rc) {
        terms_reason (&why, self->reason);
        return -1;
    }
    int64_t received = when->rule.received;
    when->rule = fields.schedule;
    when->rule.received = received;
    when->policy = fields.policy;
    return 0;
}

int when_read (const struct when_words *words, const struct zone *zone, int64_t now_us,
               struct when *ret, struct reason *reason)
{
    const struct kind *kind;
    if (find_kind (words, &kind, reason) ||
        check_companions (words, kind ? kind->bit : NOW, reason) || check_doubles (words, reason))
        return -1;

    struct when when = {
        .rule = {.type = SCHEDULE_NONE, .keep = words->keep, .received = now_us / 1000000},
        .members = json_object ()};
    const struct reading reading = {words, zone, now_us, &when.rule, when.members, reason};
    if ((kind && kind->read (&reading, word_at (words, kind->offset))) || read_repeat (&reading) ||
        read_members (&reading, kind ? kind->bit : NOW) || judge (&reading, &when) ||
        read_skip (&reading, &when.skip)) {
        when_clear (&when);
        return -1;
    }
    *ret = when;
    return 0;
}

int when_duration (const char *option, const char *text, int64_t *ret_s, struct reason *reason)
{
    const struct reading reading = {.reason = reason};
    struct duration duration;
    if (read_duration (&reading, option, text, &duration))
        return -1;
    *ret_s = duration.seconds;
    return 0;
}

void when_clear (struct when *self)
{
    policy_destroy (&self->policy);
    json_decref (self->members);
    self->members = NULL;
}

json_t *when_frame (const struct when *self)
{
    const struct schedule *rule = &self->rule;
    const json_t *members = self->members;
    bool cycle = json_is_array (json_object_get (members, "cycle"));
    json_t *frame = json_object ();
    json_object_set_new (frame, "plan_type", json_integer (rule->type));
    if (rule->type != SCHEDULE_CRON && !cycle)
        json_object_set_new (frame, "plan_value", json_integer (rule->value));
    if (!json_object_get (members, "iteration"))
        json_object_set_new (frame, "plan_repet", json_integer (rule->repeat));
    if (!json_object_get (members, "misfire"))
        json_object_set_new (frame, "no_keep", json_boolean (rule->keep));
    if (rule->base_time)
        json_object_set_new (frame, "plan_time", json_integer (rule->base_time));
    if (self->skip)
        json_object_set_new (frame, "skip_set", json_integer (self->skip));
    json_object_update (frame, (json_t *)(uintptr_t)members);
    return frame;
}
