// zplan load: draws a chart of the runs of the next hours.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "call.h"
#include "options.h"
#include "print.h"
#include "rfc3339.h"

static const char about[] =
    "How many plans come when: the coming hour, a row a minute, or more hours with longer\n"
    "rows. Each plan counts once, with its next time. Where a row is long many start\n"
    "together: spread them with --jitter.\n\n"
    "  zplan load\n"
    "  zplan load --hours 24\n"
    "  zplan load --hours 24 --json | jq .counts\n";

enum { BAR = 50, ROW_S = 60, HOURS_MAX = 8760 };

struct load_options {
    int64_t hours;
};

static const struct option rows[] = {
    NUMBER_OPTION (struct load_options, hours, "--hours", "N", 1, HOURS_MAX,
                   "number of hours from now; default 1"),
};

static int64_t largest_count (const json_t *counts)
{
    size_t i;
    const json_t *count;
    int64_t largest = 0;
    json_array_foreach (counts, i, count) largest =
        json_integer_value (count) > largest ? json_integer_value (count) : largest;
    return largest;
}

static void print_load (const char *subject, const json_t *answer)
{
    (void)subject;
    const json_t *counts = json_object_get (answer, "counts"), *count;
    int64_t from = field_number (answer, "from");
    int64_t step = field_number (answer, "step"), largest = largest_count (counts);
    size_t i;
    json_array_foreach (counts, i, count)
    {
        char when[RFC3339_SIZE];
        int64_t value = json_integer_value (count);
        int64_t bar = largest ? (value * BAR + largest - 1) / largest : 0;
        rfc3339_format (from + (int64_t)i * step, when);
        printf ("%.10s %.8s  %8" PRId64, when, when + 11, value);
        for (int64_t at = 0; at < bar; at++)
            fputs (at ? "#" : "  #", stdout);
        putchar ('\n');
    }
    printf ("%" PRId64 " plans, %" PRId64 " in the fullest row of %" PRId64 " s; UTC\n",
            (int64_t)field_number (answer, "total"), largest, step);
}

int verb_load (const struct cli *cli)
{
    struct load_options options = {.hours = 1};
    const struct usage usage = {
        .synopsis = "zplan load [--hours N]",
        .about = about,
        .groups = {OPTION_GROUP ("Load", rows, &options)},
    };
    int count, code;
    char ask[48];
    if (!options_read (&usage, cli, &count, &code))
        return code;
    // The station starts at its current time, and returns 60 rows.
    snprintf (ask, sizeof ask, "{\"step\": %" PRId64 "}", options.hours * ROW_S);
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = call_print (cli, client, (const char *[]){"load", ask, NULL}, NULL, print_load);
    zplan_client_destroy (&client);
    return code;
}
