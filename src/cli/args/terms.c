// A row of the second table makes one member of one option; what a value may be is checked by the
// rules of the PLAN frame, a member at a time, so that the reason names the option.
#include "terms.h"

#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "instant.h"
#include "policy.h"
#include "retry_words.h"
#include "settings.h"

#define TERMS_ROW(field) .type = OPTION_TEXT, .offset = offsetof (struct terms, field)
#define WORDS(list)      .values = list, .offered = VALUES_SOME

static const struct option rows[] = {
    {.name = "--end",
     .metavar = "INSTANT",
     TERMS_ROW (end),
     .help = "no run after this; --start INSTANT: none before"},
    {.name = "--iteration",
     .metavar = "N",
     TERMS_ROW (iteration),
     .help = "this many rounds of --cycle runs, instead of --repeat"},
    {.name = "--cycle",
     .metavar = "N|N,N,...",
     TERMS_ROW (cycle),
     .help = "runs in a round; or waits in turn: --every 10m --cycle 1,3 is 10 and 30 minutes"},
    {.name = "--gap",
     .metavar = "RULE",
     TERMS_ROW (gap),
     WORDS ("shift skip"),
     .help = "a local time that a clock change skips: shift (run at its end) or skip"},
    {.name = "--overlap",
     .metavar = "RULE",
     TERMS_ROW (overlap),
     WORDS ("first last both"),
     .help = "a local time that comes twice: first, last or both"},
    {.name = "--misfire",
     .metavar = "RULE",
     TERMS_ROW (misfire),
     WORDS ("skip latest all"),
     .help = "of missed times run none (skip), the latest, the latest N, or all"},
    {.name = "--misfire-window",
     .metavar = "DURATION",
     TERMS_ROW (misfire_window),
     .help = "but none that is later than this"},
    {.name = "--jitter",
     .metavar = "DURATION",
     TERMS_ROW (jitter),
     .help = "each plan runs later by a part of this, always the same"},
    {.name = "--overlap-policy",
     .metavar = "RULE",
     TERMS_ROW (overlap_policy),
     WORDS ("skip queue"),
     .help = "what came due while a run was out: skip, or queue one"},
    {.name = "--retry",
     .metavar = "SPEC",
     TERMS_ROW (retry),
     WORDS ("none forever fixed exponential sequence"), // shells break words at colons
     .help = "after a failure: none, forever, fixed:30s:5 (5 times, 30 s apart), "
             "exponential:1s:8, sequence:1s/2s/4s:5; behind it ,jitter=2s and ,manual (then a "
             "person decides)"},
    {.name = "--on-failure",
     .metavar = "COMMAND",
     TERMS_ROW (on_failure),
     .help = "call this command when all tries of an occurrence have failed, with the outcome as "
             "its argument, in JSON"},
    {.name = "--on-failure-target",
     .aliases = "--on-failure-station",
     .metavar = "NAME",
     TERMS_ROW (on_failure_target),
     .offered = VALUES_STATIONS,
     .help = "with --on-failure: call it on this target; default the plan's own"},
    {.name = "--callback",
     .metavar = "URL",
     TERMS_ROW (callback),
     .help = "send the outcome of runs there (HTTP POST, by zplan-callback), in JSON; @NAME: a URL "
             "that the sender knows"},
    {.name = "--callback-on",
     .metavar = "WHAT",
     TERMS_ROW (callback_on),
     WORDS ("success error"),
     .help = "with --callback: only success, or only error: when no retry is left; default both"},
    {.name = "--secret",
     .metavar = "NAME",
     TERMS_ROW (secret),
     .help = "with --callback: sign it with this secret of the sender"},
    {.name = "--run-timeout",
     .metavar = "DURATION",
     TERMS_ROW (timeout),
     .help = "a run that takes longer is ended, and has failed"},
    {.name = "--log",
     .metavar = "WHAT",
     TERMS_ROW (log),
     WORDS ("trans outcome trigger none"),
     .help = "what of its runs the history keeps: trans (all), outcome (but not what they wrote), "
             "trigger (that they were sent) or none"},
};

static const struct option names[] = {
    {.name = "--name",
     .aliases = "--unique",
     .metavar = "TEXT",
     TERMS_ROW (key),
     .help = "a name that only one plan has: while it is kept no second one gets in"},
    {.name = "--if-exists",
     .metavar = "WHAT",
     TERMS_ROW (if_exists),
     WORDS ("keep update replace refuse"),
     .help = "with --name: what becomes of the plan that has it, unless it runs; default keep"},
    {.name = "--kind",
     .metavar = "NAME",
     TERMS_ROW (kind),
     .help = "takes over what `zplan kind put NAME` says, where the plan says nothing itself"},
    {.name = "--priority",
     .metavar = "0..255",
     TERMS_ROW (priority),
     .help = "of due plans of one target the highest goes first; default 0"},
    {.name = "--group",
     .metavar = "NAME",
     TERMS_ROW (group),
     .help = "shares the limits of `zplan limit set group:NAME` with others"},
    {.name = "--category",
     .metavar = "TEXT",
     TERMS_ROW (category),
     .help = "to find it by, as --tenant and --creator"},
    {.name = "--traceparent",
     .metavar = "TEXT",
     TERMS_ROW (traceparent),
     .help = "W3C trace context that the plan's runs continue; workers get\n"
             "that of their run in TRACEPARENT"},
    {.name = "--tenant", .metavar = "ID", TERMS_ROW (tenant), .help = "whose it is"},
    {.name = "--creator", .metavar = "ID", TERMS_ROW (creator), .help = "who submitted it"},
    {.name = "--ext",
     .metavar = "JSON",
     TERMS_ROW (ext),
     .help = "an object that goes to the worker with each run"},
    {.name = "--batch",
     .metavar = "TIME",
     TERMS_ROW (batch),
     .help = "of a flow: its business date or time, as 2024-01-31 or 2024-01-31T08:30"},
};

struct option_group terms_options (struct terms *terms)
{
    return (struct option_group){"Policy", rows, sizeof rows / sizeof *rows, terms};
}

struct option_group terms_names (struct terms *terms)
{
    return (struct option_group){"Names", names, sizeof names / sizeof *names, terms};
}

// -- values

typedef json_t *make_fn (const char *text, const struct terms_reading *reading,
                         struct reason *reason);

static json_t *make_text (const char *text, const struct terms_reading *reading,
                          struct reason *reason)
{
    (void)reading;
    (void)reason;
    return json_string (text);
}

// A number where it is one: what it may be is checked with the member.
static json_t *make_number (const char *text, const struct terms_reading *reading,
                            struct reason *reason)
{
    int64_t number;
    return number_parse (text, &number) ? json_integer (number) : make_text (text, reading, reason);
}

static json_t *make_seconds (const char *text, const struct terms_reading *reading,
                             struct reason *reason)
{
    int64_t seconds;
    (void)reading;
    if (duration_seconds (text, &seconds))
        return json_integer (seconds);
    reason_set (reason, "want a duration as 30s, 90m, 1h30m or 2d, got %s",
                quoted (span_text (text)));
    return NULL;
}

static json_t *make_instant (const char *text, const struct terms_reading *reading,
                             struct reason *reason)
{
    int64_t time;
    return instant_parse (text, reading->zone, &time, reason) ? NULL : json_integer (time);
}

static json_t *make_json (const char *text, const struct terms_reading *reading,
                          struct reason *reason)
{
    json_error_t why;
    (void)reading;
    json_t *value = json_loads (text, JSON_REJECT_DUPLICATES, &why);
    if (!value)
        reason_set (reason, "JSON: %s", why.text);
    return value;
}

static json_t *make_retry (const char *text, const struct terms_reading *reading,
                           struct reason *reason)
{
    (void)reading;
    return retry_read (text, reason);
}

// "5" runs, or the waits "2,3,5".
static json_t *make_cycle (const char *text, const struct terms_reading *reading,
                           struct reason *reason)
{
    enum { DIGITS_MAX = 5 };
    if (!strchr (text, ','))
        return make_number (text, reading, reason);
    json_t *list = json_array ();
    for (const char *at = text;; at++) {
        size_t digits = strspn (at, "0123456789");
        int64_t number = 0;
        for (size_t i = 0; i < digits && digits <= DIGITS_MAX; i++)
            number = number * 10 + (at[i] - '0');
        at += digits;
        if (digits < 1 || digits > DIGITS_MAX || (*at && *at != ',')) {
            reason_set (reason, "want a number of runs, or waits as 2,3,5, got %s",
                        quoted (span_text (text)));
            json_decref (list);
            return NULL;
        }
        json_array_append_new (list, json_integer (number * reading->step));
        if (!*at)
            return list;
    }
}

// -- members

static const struct member {
    const char *name, *option;
    size_t offset; // of the text in struct terms
    make_fn *make; // NULL: another table has the option
} members_known[] = {
#define MEMBER(name, option, field, make)                                                          \
    {                                                                                              \
        name, option, offsetof (struct terms, field), make                                         \
    }
    MEMBER ("end_time", "--end", end, make_instant),
    MEMBER ("iteration", "--iteration", iteration, make_number),
    MEMBER ("cycle", "--cycle", cycle, make_cycle),
    MEMBER ("gap", "--gap", gap, make_text),
    MEMBER ("overlap", "--overlap", overlap, make_text),
    MEMBER ("misfire", "--misfire", misfire, make_number),
    MEMBER ("misfire_window", "--misfire-window", misfire_window, make_seconds),
    MEMBER ("jitter", "--jitter", jitter, make_seconds),
    MEMBER ("overlap_policy", "--overlap-policy", overlap_policy, make_text),
    MEMBER ("retry", "--retry", retry, make_retry),
    MEMBER ("timeout", "--run-timeout", timeout, make_seconds),
    MEMBER ("log", "--log", log, make_text),
    MEMBER ("priority", "--priority", priority, make_number),
    MEMBER ("kind", "--kind", kind, make_text),
    MEMBER ("key", "--name", key, make_text),
    MEMBER ("if_exists", "--if-exists", if_exists, make_text),
    MEMBER ("group", "--group", group, make_text),
    MEMBER ("category", "--category", category, make_text),
    MEMBER ("traceparent", "--traceparent", traceparent, make_text),
    MEMBER ("tenant", "--tenant", tenant, make_number),
    MEMBER ("creator", "--creator", creator, make_number),
    MEMBER ("ext", "--ext", ext, make_json),
    MEMBER ("batch", "--batch", batch, make_text),
    {"on_failure", "--on-failure", 0, NULL},
    {"callback", "--callback", 0, NULL},
    {"cron", "--cron", 0, NULL},
    {"timezone", "--timezone", 0, NULL},
    {"start_time", "--start", 0, NULL},
#undef MEMBER
};

enum { MEMBERS = sizeof members_known / sizeof *members_known };

// The member that a reason is about: it begins with its name.
static const struct member *member_of (const char *words)
{
    size_t size = strcspn (words, ": ");
    for (size_t i = 0; i < MEMBERS; i++)
        if (span_is (span_of (words, size), members_known[i].name))
            return &members_known[i];
    return NULL;
}

void terms_reason (const struct reason *why, struct reason *ret)
{
    const struct member *member = member_of (why->text);
    if (!member)
        *ret = *why;
    else if (strcmp (member->name, member->option + strlen ("--")) == 0)
        reason_set (ret, "--%.190s", why->text);
    else
        reason_set (ret, "%s: %.170s", member->option, why->text);
}

int terms_put (json_t *members, const char *name, json_t *value, struct reason *reason)
{
    struct reason why;
    json_t *alone = json_object ();
    if (json_object_set_new (alone, name, value)) { // jansson takes no other text
        reason_set (&why, "%s: want UTF-8", name);
        terms_reason (&why, reason);
        json_decref (alone);
        return -1;
    }
    struct policy *policy = policy_read (alone, &why);
    bool right = policy != NULL;
    if (right)
        json_object_update (members, alone);
    else
        terms_reason (&why, reason);
    policy_destroy (&policy);
    json_decref (alone);
    return right ? 0 : -1;
}

static int put_member (const struct member *member, const char *text,
                       const struct terms_reading *reading, json_t *members, struct reason *reason)
{
    struct reason why;
    if (reading->use == TERMS_CHANGED && strcmp (text, "-") == 0)
        return json_object_set_new (members, member->name, json_null ());
    json_t *value = member->make (text, reading, &why);
    if (json_is_null (value)) // no such member
        return reading->use == TERMS_CHANGED ? json_object_set (members, member->name, value) : 0;
    if (value)
        return terms_put (members, member->name, value, reason);
    reason_set (reason, "%s: %.170s", member->option, why.text);
    return -1;
}

// One member of two options.
static int put_on_failure (const struct terms *terms, const struct terms_reading *reading,
                           json_t *members, struct reason *reason)
{
    if (!terms->on_failure && !terms->on_failure_target)
        return 0;
    if (!terms->on_failure) {
        reason_set (reason, "--on-failure-target: goes with --on-failure only");
        return -1;
    }
    if (reading->use == TERMS_CHANGED && strcmp (terms->on_failure, "-") == 0)
        return json_object_set_new (members, "on_failure", json_null ());
    json_t *call = json_object ();
    json_object_set_new (call, "command", json_string (terms->on_failure));
    if (terms->on_failure_target)
        json_object_set_new (call, "station", json_string (terms->on_failure_target));
    return terms_put (members, "on_failure", call, reason);
}

// The same of three.
static int put_callback (const struct terms *terms, const struct terms_reading *reading,
                         json_t *members, struct reason *reason)
{
    static const char *const ends[] = {"success", "error"};
    const char *on = terms->callback_on;
    if (!terms->callback) {
        if (on || terms->secret)
            reason_set (reason, "%s: goes with --callback only", on ? "--callback-on" : "--secret");
        return on || terms->secret ? -1 : 0;
    }
    if (reading->use == TERMS_CHANGED && strcmp (terms->callback, "-") == 0)
        return json_object_set_new (members, "callback", json_null ());
    if (on && strcmp (on, ends[0]) != 0 && strcmp (on, ends[1]) != 0) {
        reason_set (reason, "--callback-on: want success or error");
        return -1;
    }
    json_t *callback = json_object ();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (!on || strcmp (on, ends[i]) == 0)
            json_object_set_new (callback, ends[i], json_pack ("{s:s}", "url", terms->callback));
    if (terms->secret)
        json_object_set_new (callback, "secret", json_string (terms->secret));
    return terms_put (members, "callback", callback, reason);
}

int terms_read (const struct terms *terms, const struct terms_reading *reading, json_t *members,
                struct reason *reason)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        const struct member *member = &members_known[i];
        const char *text =
            member->make ? *(const char *const *)((const uint8_t *)terms + member->offset) : NULL;
        if (text && put_member (member, text, reading, members, reason))
            return -1;
    }
    return put_on_failure (terms, reading, members, reason) ||
                   put_callback (terms, reading, members, reason)
               ? -1
               : 0;
}
