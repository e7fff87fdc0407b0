#include "retry_words.h"

#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "settings.h"

enum { WORDS_MAX = 600 }; // more than 32 durations need

#define WANTED                                                                                     \
    "want none, fixed:30s:5, exponential:1s:8 or sequence:1s/2s/4s:5, with ,jitter=2s and "        \
    ",manual behind it"

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

static bool set_max (json_t *object, const char *text)
{
    int64_t max;
    if (!text)
        return true;
    return number_parse (text, &max) &&
           json_object_set_new (object, "max", json_integer (max)) == 0;
}

// What stands before the first comma.
static bool set_strategy (json_t *object, char *text)
{
    char *rest = text, *name = strsep (&rest, ":");
    bool interval = strcmp (name, "fixed") == 0 || strcmp (name, "exponential") == 0;
    bool sequence = strcmp (name, "sequence") == 0;
    json_object_set_new (object, "strategy", json_string (name));
    if (!interval && !sequence)
        return strcmp (name, "none") == 0 && !rest;
    char *pace = strsep (&rest, ":");
    bool good = interval ? set_seconds (object, "interval", pace) : set_sequence (object, pace);
    return good && set_max (object, rest);
}

// What stands behind one.
static bool set_more (json_t *object, const char *text)
{
    if (strcmp (text, "manual") == 0)
        return json_object_set_new (object, "need_manual", json_true ()) == 0;
    return strncmp (text, "jitter=", 7) == 0 && set_seconds (object, "jitter", text + 7);
}

json_t *retry_read (const char *text, struct reason *reason)
{
    char words[WORDS_MAX];
    char *rest = words;
    json_t *object = json_object ();
    bool good = strlen (text) < sizeof words;
    if (good) {
        memcpy (words, text, strlen (text) + 1);
        good = set_strategy (object, strsep (&rest, ","));
    }
    while (good && rest)
        good = set_more (object, strsep (&rest, ","));
    if (good)
        return object;
    reason_set (reason, WANTED);
    json_decref (object);
    return NULL;
}

// -- telling

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

void retry_write (FILE *file, const json_t *retry)
{
    const char *strategy = json_string_value (json_object_get (retry, "strategy"));
    const json_t *max = json_object_get (retry, "max"), *jitter = json_object_get (retry, "jitter");
    json_int_t times = json_integer_value (max);
    if (!strategy) {
        fputc ('-', file);
        return;
    }
    if (strcmp (strategy, "none") == 0 || (max && times == 0)) {
        fputs ("never", file);
    } else {
        if (max)
            fprintf (file, "at most %" JSON_INTEGER_FORMAT " time%s, ", times,
                     times == 1 ? "" : "s");
        else
            fputs ("until it is done, ", file);
        write_pace (file, retry, strategy);
    }
    if (json_integer_value (jitter) > 0) {
        fputs (", up to ", file);
        write_seconds (file, jitter);
        fputs (" more", file);
    }
    if (json_is_true (json_object_get (retry, "need_manual")))
        fputs ("; then by hand", file);
}
