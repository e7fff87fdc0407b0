// A row tells one member. What a peer sent is printed as bytes; the other texts are words of the
// wire, which print as they are when they are safe.
#include "terms_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "duration.h"
#include "policy.h"
#include "print.h"
#include "retry_words.h"
#include "rfc3339.h"

void terms_label (const char *label)
{
    printf ("%-14s ", label);
}

// -- values

static void show_text (const json_t *value)
{
    print_bytes (text_of (value));
}

// A number, or a text.
static void show_owner (const json_t *value)
{
    char out[WORD_SIZE];
    if (json_is_string (value))
        show_text (value);
    else
        fputs (number_word (value, out), stdout);
}

// The station sends an object as it came, or its text.
static void show_json (const json_t *value)
{
    json_t *read = json_loads (json_is_string (value) ? json_string_value (value) : "", 0, NULL);
    write_json (stdout, read ? read : value);
    json_decref (read);
}

static void show_cron (const json_t *value)
{
    size_t i;
    const json_t *text;
    if (json_is_string (value))
        show_text (value);
    json_array_foreach (value, i, text)
    {
        fputs (i ? "; " : "", stdout);
        show_text (text);
    }
}

static void show_instant (const json_t *value)
{
    char out[WORD_SIZE];
    int64_t time;
    struct reason ignored;
    if (!json_is_string (value) || rfc3339_parse (text_of (value), &time, &ignored)) {
        fputs (moment_word (value, out), stdout);
        return;
    }
    json_t *seconds = json_integer (time);
    fputs (moment_word (seconds, out), stdout);
    json_decref (seconds);
}

static void show_seconds (const json_t *value)
{
    char out[DURATION_SIZE];
    fputs (duration_text (json_integer_value (value), out), stdout);
}

static void show_jitter (const json_t *value)
{
    fputs ("up to ", stdout);
    show_seconds (value);
    fputs (" later", stdout);
}

// The first three are words, or how many.
static void show_misfire (const json_t *value)
{
    const char *word = json_string_value (value);
    if (json_is_integer (value))
        printf ("of missed times the newest %" JSON_INTEGER_FORMAT " are run",
                json_integer_value (value));
    else if (word && strcmp (word, "latest") == 0)
        fputs ("of missed times the latest is run", stdout);
    else
        printf ("missed times are %s",
                word && strcmp (word, "all") == 0 ? "all run" : "passed over");
}

static void show_late (const json_t *value)
{
    fputs ("none that is later than ", stdout);
    show_seconds (value);
}

static void show_overlap_policy (const json_t *value)
{
    const char *word = json_string_value (value);
    printf ("what is due while a run is out %s",
            word && strcmp (word, "queue") == 0 ? "waits, one of it" : "is passed over");
}

// "notify", or "notify of mail".
static void show_on_failure (const json_t *value)
{
    json_t *read = json_is_string (value) ? json_loads (json_string_value (value), 0, NULL)
                                          : json_incref ((json_t *)(uintptr_t)value);
    const json_t *target = json_object_get (read, "station");
    show_text (json_object_get (read, "command"));
    if (target) {
        fputs (" of ", stdout);
        show_text (target);
    }
    json_decref (read);
}

// The waits of a cycle; as a number of runs it stands in the row of iterations.
static void show_waits (const json_t *value)
{
    size_t i;
    const json_t *wait;
    json_array_foreach (value, i, wait)
    {
        printf ("%s%" JSON_INTEGER_FORMAT, i ? ", " : "", json_integer_value (wait));
    }
}

static const struct row {
    const char *field, *label;
    void (*show) (const json_t *value);
} rows[] = {
    {"cron", "cron", show_cron},
    {"timezone", "time zone", show_text},
    {"gap", "gap", show_text},
    {"overlap", "overlap", show_text},
    {"start_time", "not before", show_instant},
    {"end_time", "not after", show_instant},
    {"misfire", "misfire", show_misfire},
    {"misfire_window", "misfire window", show_late},
    {"jitter", "jitter", show_jitter},
    {"overlap_policy", "overlapping", show_overlap_policy},
    {"timeout", "run time-out", show_seconds},
    {"on_failure", "on failure", show_on_failure},
    {"log", "log", show_text},
    {"kind", "kind", show_text},
    {"priority", "priority", show_owner},
    {"group", "group", show_text},
    {"category", "category", show_text},
    {"tenant", "tenant", show_owner},
    {"creator", "creator", show_owner},
    {"workers", "workers", show_json},
    {"ext", "ext", show_json},
};

// -- iterations

// "2 of 4, run 3 of 5", of the run that was the last.
static void show_place (const json_t *plan, const struct policy *policy)
{
    int64_t cycle = policy_cycle (policy);
    int64_t used = json_integer_value (json_object_get (plan, "real_repet")) +
                   json_integer_value (json_object_get (plan, "skip_num"));
    if (cycle < 1)
        return;
    struct place place = policy_place (used, cycle);
    terms_label ("iteration");
    printf ("%" PRId64, place.iteration);
    if (policy->iteration)
        printf (" of %" PRId64, policy->iteration);
    printf (", run %" PRId64 " of %" PRId64 "\n", place.cycle, cycle);
}

void terms_show (const json_t *plan)
{
    struct policy *policy;
    struct reason ignored;
    const json_t *cycle = json_object_get (plan, "cycle");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *value = json_object_get (plan, rows[i].field);
        if (!value)
            continue;
        terms_label (rows[i].label);
        rows[i].show (value);
        putchar ('\n');
    }
    terms_label ("retry");
    retry_write (stdout, plan);
    putchar ('\n');
    if (json_is_array (cycle)) {
        terms_label ("waits in turn");
        show_waits (cycle);
        putchar ('\n');
    }
    if (policy_read_from (plan, &policy, &ignored) && policy)
        show_place (plan, policy);
    policy_destroy (&policy);
}
