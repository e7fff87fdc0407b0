#include "retry_option.h"

#include <string.h>

#include "duration.h"
#include "schedule.h"
#include "settings.h"

enum { WORDS_MAX = 600 }; // enough for 32 durations

#define WANTED                                                                                     \
    "want none, forever, fixed:30s:5, exponential:1s:8 or sequence:1s/2s/4s:5, with ,jitter=2s "   \
    "and ,manual behind it"

// -- reading

static bool set_seconds (json_t *object, const char *name, const char *text)
{
    int64_t seconds;
    return text && duration_seconds (text, &seconds) &&
           json_object_set_new (object, name, json_integer (seconds)) == 0;
}

static bool set_sequence (json_t *object, char *text)
{
    char *rest = text;
    json_t *list = json_array ();
    bool good = text != NULL;
    json_object_set_new (object, "sequence", list);
    while (good && rest) {
        int64_t seconds;
        char *item = strsep (&rest, "/");
        good = duration_seconds (item, &seconds) &&
               json_array_append_new (list, json_integer (seconds)) == 0;
    }
    return good;
}

// Parse the part before the first comma: the strategy, its intervals and the maximum.
static bool set_strategy (json_t *object, char *text)
{
    char *rest = text, *name = strsep (&rest, ":");
    bool interval = strcmp (name, "fixed") == 0 || strcmp (name, "exponential") == 0;
    bool sequence = strcmp (name, "sequence") == 0;
    json_object_set_new (object, "strategy", json_string (name));
    if (!interval && !sequence)
        return strcmp (name, "none") == 0 && !rest;
    int64_t max;
    char *pace = strsep (&rest, ":");
    bool good = interval ? set_seconds (object, "interval", pace) : set_sequence (object, pace);
    if (good && rest && number_parse (rest, &max))
        return json_object_set_new (object, "max", json_integer (max)) == 0;
    return good && !rest;
}

// Parse a part after a comma: "manual" or "jitter=DURATION".
static bool set_retry_suffix (json_t *object, const char *text)
{
    if (strcmp (text, "manual") == 0)
        return json_object_set_new (object, "need_manual", json_true ()) == 0;
    return strncmp (text, "jitter=", 7) == 0 && set_seconds (object, "jitter", text + 7);
}

json_t *retry_read (const char *text, struct reason *reason)
{
    if (strcmp (text, "forever") == 0)
        return json_null ();
    char words[WORDS_MAX];
    char *rest = words;
    json_t *object = json_object ();
    bool good = strlen (text) < sizeof words;
    if (good) {
        memcpy (words, text, strlen (text) + 1);
        good = set_strategy (object, strsep (&rest, ","));
    }
    while (good && rest)
        good = set_retry_suffix (object, strsep (&rest, ","));
    if (good)
        return object;
    reason_set (reason, WANTED);
    json_decref (object);
    return NULL;
}

// -- as an option

static void write_duration (FILE *file, const json_t *seconds)
{
    char out[DURATION_SIZE];
    fputs (duration_option (json_integer_value (seconds), out), file);
}

void retry_write_option (FILE *file, const json_t *retry)
{
    size_t i;
    const json_t *seconds, *interval = json_object_get (retry, "interval"),
                           *max = json_object_get (retry, "max"),
                           *jitter = json_object_get (retry, "jitter");
    const char *strategy = json_string_value (json_object_get (retry, "strategy"));
    fputs (strategy ? strategy : "forever", file);
    if (interval) {
        fputc (':', file);
        write_duration (file, interval);
    }
    json_array_foreach (json_object_get (retry, "sequence"), i, seconds)
    {
        fputc (i ? '/' : ':', file);
        write_duration (file, seconds);
    }
    if (max)
        fprintf (file, ":%" JSON_INTEGER_FORMAT, json_integer_value (max));
    if (json_integer_value (jitter) > 0) {
        fputs (",jitter=", file);
        write_duration (file, jitter);
    }
    fputs (json_is_true (json_object_get (retry, "need_manual")) ? ",manual" : "", file);
}

// -- the default

enum { TRIES = 3, TRIES_ONCE = 10, FIRST_WAIT_S = 10 };

// Whether the plan has only one occurrence: after its final failure the plan ends.
static bool has_one_occurrence (const json_t *plan)
{
    const json_t *type = json_object_get (plan, "plan_type");
    const char *word = json_string_value (type);
    int64_t number = word ? schedule_type_parse (word) : json_integer_value (type);
    bool timed = number >= 0 && number <= SCHEDULE_TIME;
    bool one_round = json_integer_value (json_object_get (plan, "iteration")) == 1 &&
                     !json_object_get (plan, "cycle");
    return timed || one_round || json_integer_value (json_object_get (plan, "plan_repet")) == 1;
}

void retry_add_default (json_t *plan, const char *given)
{
    bool of_kind = json_object_get (plan, "kind") != NULL;
    bool forever = given && strcmp (given, "forever") == 0;
    if (json_object_get (plan, "retry") || (of_kind ? !forever : given != NULL))
        return;
    // With a kind "forever" must be explicit: use the intervals of a plan without `retry`.
    json_t *retry =
        of_kind ? json_pack ("{s:s, s:[i,i,i,i,i,i,i]}", "strategy", "sequence", "sequence", 1, 2,
                             4, 8, 16, 32, 60)
                : json_pack ("{s:s, s:i, s:i}", "strategy", "exponential", "interval", FIRST_WAIT_S,
                             "max", (has_one_occurrence (plan) ? TRIES_ONCE : TRIES) - 1);
    json_object_set_new (plan, "retry", retry);
}

// -- as text

static void write_seconds (FILE *file, const json_t *seconds)
{
    char out[DURATION_SIZE];
    fputs (duration_text (json_integer_value (seconds), out), file);
}

static void write_pace (FILE *file, const json_t *retry, const char *strategy)
{
    size_t i;
    const json_t *seconds;
    if (strcmp (strategy, "fixed") == 0 || strcmp (strategy, "exponential") == 0) {
        write_seconds (file, json_object_get (retry, "interval"));
        fputs (*strategy == 'f' ? " apart" : " after the first failure, doubling", file);
        return;
    }
    fputs ("after ", file);
    json_array_foreach (json_object_get (retry, "sequence"), i, seconds)
    {
        fputs (i ? ", " : "", file);
        write_seconds (file, seconds);
    }
}

// The maximum number of tries of an occurrence; 0 = no limit.
static json_int_t tries_of (const json_t *retry)
{
    const char *strategy = json_string_value (json_object_get (retry, "strategy"));
    const json_t *max = json_object_get (retry, "max");
    if (strategy && strcmp (strategy, "none") == 0)
        return 1;
    return max ? json_integer_value (max) + 1 : 0;
}

static void write_tries (FILE *file, json_int_t tries)
{
    if (tries)
        fprintf (file, "%" JSON_INTEGER_FORMAT " %s", tries, tries == 1 ? "try" : "tries");
    else
        fputs ("until it succeeds", file);
}

static const char *after_tries_text (const json_t *plan, const json_t *retry)
{
    if (json_is_true (json_object_get (retry, "need_manual")))
        return "then it needs manual action";
    return has_one_occurrence (plan) ? "then it stops with an error" : "then the next occurrence";
}

void retry_summary (FILE *file, const json_t *plan)
{
    const json_t *retry = json_object_get (plan, "retry");
    json_int_t tries = tries_of (retry);
    if (!retry && json_object_get (plan, "kind")) {
        fputs ("as its kind says, by default until it succeeds", file);
        return;
    }
    write_tries (file, tries);
    if (tries)
        fprintf (file, ", %s", after_tries_text (plan, retry));
}

void retry_write (FILE *file, const json_t *plan)
{
    const json_t *retry = json_object_get (plan, "retry"),
                 *jitter = json_object_get (retry, "jitter");
    const char *strategy = json_string_value (json_object_get (retry, "strategy"));
    json_int_t tries = tries_of (retry);
    write_tries (file, tries);
    if (!strategy) {
        fputs (", 1 s after the first failure, doubling up to 1 min", file);
        return;
    }
    if (tries != 1) {
        fputs (", ", file);
        write_pace (file, retry, strategy);
    }
    if (json_integer_value (jitter) > 0) {
        fputs (", up to ", file);
        write_seconds (file, jitter);
        fputs (" more", file);
    }
    if (tries)
        fprintf (file, "; %s", after_tries_text (plan, retry));
}
