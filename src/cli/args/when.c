// Combines the options that say when a plan runs: one sets the kind of time, others adjust it.
#include "when_kinds.h"

#include "instant.h"
#include "misses.h"
#include "plan_frame.h"
#include "settings.h"

static const struct option rows[] = {
    TEXT_OPTION (struct when_words, in, "--in", "DURATION",
                 "once, this long from now: 5s, 90m, 1h30m, 2d"),
    TEXT_OPTION (struct when_words, at, "--at", "INSTANT",
                 "once: 18:00 (the next one), 'tomorrow 8:00', 'fri 8:00', or "
                 "2026-12-24T18:00+01:00; seconds, offset and time are optional"),
    TEXT_OPTION (struct when_words, every, "--every", "DURATION",
                 "again and again: 30s, 10m, 1h30m, 1d"),
    TEXT_OPTION (struct when_words, daily, "--daily", "TIME",
                 "every day at 2:00, or at 8:00,18:30, in --timezone"),
    TEXT_OPTION (struct when_words, weekly, "--weekly", "DAYS[@TIME]",
                 "sun..sat or 0..7, or several: mon,wed-fri; at HH:MM[:SS] in --timezone, else at "
                 "midnight"),
    TEXT_OPTION (struct when_words, monthly, "--monthly", "DAY[@TIME]",
                 "1..31, or several: 1,15; 0 is the last day, -1 the one before it, to -31"),
    TEXTS_OPTION (struct when_words, cron, "--cron", "EXPR",
                  "'30 8 * * MON-FRI', '0 0 L * ?', @daily: minute hour day month weekday, seconds "
                  "may stand in front; again for more times",
                  .utf8 = true),
    TEXT_OPTION (struct when_words, start, "--start", "INSTANT",
                 "no run before this; of --every the first run is at this instant"),
    TEXT_OPTION (struct when_words, repeat, "--repeat", "N|forever",
                 "this many occurrences; default forever"),
    TEXT_OPTION (struct when_words, skip, "--skip", "N", "skip the first N; they use up repeats"),
    FLAG_OPTION (struct when_words, keep, "--keep",
                 "run what was missed, late, instead of skipping it"),
    TEXT_OPTION (struct when_words, timezone, "--timezone", "ZONE",
                 "the plan's zone: it runs at the same local time, summer and winter, and a day of "
                 "--every is one of the calendar; also applies to instants without an offset; "
                 "default UTC"),
    FLAG_OPTION (struct when_words, wall_clock, "--wall-clock",
                 "with --timezone: the plan keeps it, also one of --every 10m or --in"),
    TEXT_OPTION (struct when_words, type, "--type", "TYPE", "the wire's own words: " TYPE_WORDS,
                 .values = TYPE_WORDS, .offered = VALUES_SOME),
    TEXT_OPTION (struct when_words, value, "--value", "N",
                 "with --type: the interval, the weekday, the day of the month"),
    TEXT_OPTION (struct when_words, time, "--time", "INSTANT",
                 "with --type: plan_time; Unix seconds, too"),
};

struct option_group when_options (struct when_words *words)
{
    return (struct option_group){
        "Time (one of --in --at --every --daily --weekly --monthly --cron --type)", rows,
        sizeof rows / sizeof *rows, words};
}

#define REPEATING_WORDS "--every, --daily, --weekly, --monthly, --cron and --type"

static const struct companion {
    const char *option;
    size_t offset;
    unsigned kinds;
    const char *rule;
} companions[] = {
    {"--value", offsetof (struct when_words, value), TYPE, "--type"},
    {"--time", offsetof (struct when_words, time), TYPE, "--type"},
    {"--start", offsetof (struct when_words, start), REPEATING, REPEATING_WORDS},
    {"--end", offsetof (struct when_words, terms.end_time), REPEATING, REPEATING_WORDS},
    {"--iteration", offsetof (struct when_words, terms.iteration), REPEATING, REPEATING_WORDS},
    {"--cycle", offsetof (struct when_words, terms.cycle), REPEATING, REPEATING_WORDS},
    {"--repeat", offsetof (struct when_words, repeat), REPEATING, REPEATING_WORDS},
};

static const char *option_text_at (const struct when_words *words, size_t offset)
{
    return *(const char *const *)((const uint8_t *)words + offset);
}

// Find the given kind of time; `ret_kind` is NULL for --now, or if none is given. 0, or -1 with a
// reason: several are given.
static int find_kind (const struct when_words *words, const struct when_kind **ret_kind,
                      struct reason *reason)
{
    const char *given = words->now ? "--now" : NULL;
    *ret_kind = NULL;
    for (size_t i = 0; i < WHEN_KINDS; i++) {
        const char *text = option_text_at (words, when_kinds[i].offset);
        if (!text || (when_kinds[i].bit == TYPE && words->cron.count &&
                      when_type (text) == SCHEDULE_CRON)) // it may be combined with --cron
            continue;
        if (given)
            return reason_set (reason, "%s and %s: want one kind of time", given,
                               when_kinds[i].option);
        given = when_kinds[i].option;
        *ret_kind = &when_kinds[i];
    }
    return 0;
}

static int check_companions (const struct when_words *words, unsigned kind, struct reason *reason)
{
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        if (option_text_at (words, companions[i].offset) && !(companions[i].kinds & kind))
            return reason_set (reason, "%s: goes with %s only", companions[i].option,
                               companions[i].rule);
    return 0;
}

static bool sets_value (const char *text)
{
    return text && strcmp (text, "-") != 0; // - removes the setting
}

int when_check_conflicts (const struct when_words *words, struct reason *reason)
{
    if (words->keep && sets_value (words->terms.misfire))
        reason_set (reason, "--keep and --misfire: want one or the other");
    else if (words->repeat && sets_value (words->terms.iteration))
        reason_set (reason, "--repeat and --iteration: want one or the other");
    else if (words->wall_clock && !words->timezone)
        reason_set (reason, "--wall-clock: goes with --timezone only");
    else
        return 0;
    return -1;
}

static int read_repeat (const struct when_context *self)
{
    const char *text = self->words->repeat;
    bool once = !schedule_repeats (self->rule->type);
    self->rule->repeat = once ? 1 : SCHEDULE_FOREVER;
    if (!text || strcmp (text, "forever") == 0)
        return 0;
    int64_t number;
    bool is_number = number_parse (text, &number) && number >= INT32_MIN && number <= INT32_MAX;
    if (!is_number || (!once && number != SCHEDULE_FOREVER && number < 1))
        return reason_set (self->reason, "--repeat: want forever, -1 or 1..%d, got %s", INT32_MAX,
                           quoted (span_text (text)));
    if (!once)
        self->rule->repeat = (int32_t)number;
    return 0;
}

static int read_skip (const struct when_context *self, int64_t *ret_skip)
{
    const char *text = self->words->skip;
    int32_t repeat = self->rule->repeat;
    int64_t number = 0;
    if (text && (!number_parse (text, &number) || number < 0 || number > INT32_MAX))
        return reason_set (self->reason, "--skip: want 0..%d, got %s", INT32_MAX,
                           quoted (span_text (text)));
    if (repeat != SCHEDULE_FOREVER && number >= repeat)
        return reason_set (self->reason, "--skip: want less than --repeat, which is %d", repeat);
    if (number > schedule_skip_max (self->rule))
        return reason_set (self->reason, "--skip: want 0..%d for times counted one by one",
                           SCHEDULE_WALK_MAX);
    *ret_skip = number;
    return 0;
}

bool when_is_given (const struct when_words *words)
{
    const struct when_kind *kind;
    struct reason reason;
    return words->now || find_kind (words, &kind, &reason) || kind;
}

int when_put_start (const char *text, const struct zone *zone, json_t *members,
                    struct reason *reason)
{
    struct reason why;
    int64_t start;
    if (instant_parse (text, zone, &start, &why))
        return reason_set (reason, "--start: %s", why.text);
    return terms_put (members, "start_time", json_integer (start), reason);
}

// Add windows, policies, and the plan's own zone, if one is given.
static int read_members (const struct when_context *self, unsigned kind)
{
    const struct when_words *words = self->words;
    int64_t value = kind == EVERY ? self->rule->value : 1;
    // Without a zone, hours are in UTC, as in the output; the station's own zone may differ.
    bool calendar = self->rule->type == SCHEDULE_DAY || schedule_is_calendar (self->rule);
    bool of_utc = calendar && (kind & (DAILY | WEEKLY | MONTHLY | CRON));
    const char *timezone = words->timezone ? words->timezone : of_utc ? "UTC" : NULL;
    if (timezone && (words->wall_clock || calendar) &&
        terms_put (self->members, "timezone", json_string (timezone), self->reason))
        return -1;
    if (words->start && kind != EVERY &&
        when_put_start (words->start, self->zone, self->members, self->reason))
        return -1;
    return terms_read (&words->terms, &(struct terms_context){.zone = self->zone, .step = value},
                       self->members, self->reason);
}

// Check the rules of the PLAN frame, as the station does.
static int check_rules (const struct when_context *self, struct when *when)
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
    const struct when_kind *kind;
    if (find_kind (words, &kind, reason) ||
        check_companions (words, kind ? kind->bit : NOW, reason) ||
        when_check_conflicts (words, reason))
        return -1;

    struct when when = {
        .rule = {.type = SCHEDULE_NONE, .keep = words->keep, .received = now_us / 1000000},
        .members = json_object ()};
    const struct when_context context = {words, zone, now_us, &when.rule, when.members, reason};
    if ((kind && kind->read (&context, option_text_at (words, kind->offset))) ||
        read_repeat (&context) || read_members (&context, kind ? kind->bit : NOW) ||
        check_rules (&context, &when) || read_skip (&context, &when.skip)) {
        when_clear (&when);
        return -1;
    }
    *ret = when;
    return 0;
}

void when_clear (struct when *self)
{
    policy_destroy (&self->policy);
    json_decref (self->members);
    self->members = NULL;
}

bool when_first (const struct when *self, const struct zone *zone, struct occurrence *ret)
{
    struct misses ignored;
    struct plan *plan = plan_new (0);
    plan->schedule = self->rule;
    plan->policy = policy_keep (self->policy);
    plan->skip_set = self->skip;
    bool runs = misses_find_first (plan, zone, self->rule.received, &ignored, ret);
    plan_destroy (&plan);
    return runs;
}

json_t *when_frame (const struct when *self)
{
    const struct schedule *rule = &self->rule;
    const json_t *members = self->members;
    bool cycle = json_is_array (json_object_get (members, "cycle"));
    bool has_value = rule->type != SCHEDULE_CRON && !cycle;
    json_t *frame = json_pack (
        "{s:i, s:o*, s:o*, s:o*, s:o*, s:o*}", "plan_type", rule->type, "plan_value",
        has_value ? json_integer (rule->value) : NULL, "plan_repet",
        json_object_get (members, "iteration") ? NULL : json_integer (rule->repeat), "no_keep",
        json_object_get (members, "misfire") ? NULL : json_boolean (rule->keep), "plan_time",
        rule->base_time ? json_integer (rule->base_time) : NULL, "skip_set",
        self->skip ? json_integer (self->skip) : NULL);
    json_object_update (frame, (json_t *)(uintptr_t)members);
    return frame;
}
