// What a simulation of a flow reports, for people.
#include "flow_rehearsal_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "civil.h"
#include "duration.h"
#include "print.h"

static void print_moment (const struct zone *zone, int64_t ms)
{
    int64_t local = ms / 1000 + zone_offset (zone, ms / 1000);
    struct civil_date date = civil_date (civil_day_of (local));
    int64_t second = civil_time_of_day (local);
    printf ("%04d-%02d-%02d %02d:%02d:%02d", (int)date.year, date.month, date.day,
            (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));
}

static int64_t number (const json_t *row, const char *name)
{
    return json_integer_value (json_object_get (row, name));
}

static void print_events (const struct zone *zone, const json_t *events)
{
    size_t index;
    json_t *row;
    json_array_foreach (events, index, row)
    {
        print_moment (zone, number (row, "at"));
        printf ("  %-9s ", json_string_value (json_object_get (row, "what")));
        print_bytes (text_of (json_object_get (row, "step")));
        if (json_object_get (row, "item"))
            printf (".%" PRId64, number (row, "item"));
        if (json_object_get (row, "why")) {
            printf (": ");
            print_error (text_of (json_object_get (row, "why")));
        }
        putchar ('\n');
    }
}

static void print_waits (const json_t *row)
{
    static const struct {
        const char *name, *text;
    } waits[] = {{"slot_ms", "a free slot"},
                 {"target_ms", "its target"},
                 {"limit_ms", "a limit"},
                 {"worker_ms", "a worker"}};
    char text[DURATION_SIZE];
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (json_object_get (row, waits[i].name))
            printf (", %s for %s", duration_text (number (row, waits[i].name) / 1000, text),
                    waits[i].text);
}

static void print_path (const json_t *path)
{
    char text[DURATION_SIZE];
    size_t index;
    json_t *row;
    if (!json_array_size (path)) // nothing has started
        return;
    printf ("critical path:");
    json_array_foreach (path, index, row)
    {
        printf (index ? " -> " : " ");
        print_bytes (text_of (json_object_get (row, "step")));
        printf (" (%s", duration_text ((number (row, "to") - number (row, "from")) / 1000, text));
        print_waits (row);
        putchar (')');
    }
    putchar ('\n');
}

static void print_end (const struct zone *zone, const json_t *result)
{
    char text[DURATION_SIZE];
    const json_t *ended = json_object_get (result, "ended");
    size_t index;
    json_t *row;
    int64_t late = number (result, "began") - number (result, "nominal");
    print_moment (zone, ended ? json_integer_value (ended) : number (result, "until"));
    printf ("  %s", json_string_value (json_object_get (result, "outcome")));
    if (ended)
        printf (
            " after %s",
            duration_text ((json_integer_value (ended) - number (result, "began")) / 1000, text));
    if (late >= 1000) {
        printf (", of ");
        print_moment (zone, number (result, "nominal"));
    }
    json_array_foreach (json_object_get (result, "waits"), index, row)
    {
        printf (index ? ", " : " for ever for ");
        print_bytes (text_of (row));
    }
    if (json_object_get (result, "parked"))
        printf ("; the plan needs an operator");
    if (json_object_get (result, "error")) {
        printf (": ");
        print_error (text_of (json_object_get (result, "error")));
    }
    putchar ('\n');
    print_path (json_object_get (result, "critical"));
}

static void print_missed (const struct zone *zone, const json_t *row)
{
    struct span why = text_of (json_object_get (row, "why"));
    print_moment (zone, number (row, "began"));
    printf ("  missed: ");
    puts (span_is (why, "overlap") ? "the run before it is in progress" : "it is too late for it");
}

void rehearsal_print (const struct zone *zone, const json_t *row, enum rehearsal_form form)
{
    if (span_is (text_of (json_object_get (row, "outcome")), "missed")) {
        print_missed (zone, row);
        return;
    }
    if (form == REHEARSAL_WHOLE)
        print_events (zone, json_object_get (row, "events"));
    print_end (zone, row);
}
