// zplan next: when a plan would run, computed here, by the rules that the station computes by.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "clock.h"
#include "order.h"
#include "print.h"
#include "rfc3339.h"
#include "zonefile.h"

enum { COUNT_DEFAULT = 10, COUNT_MAX = 100000 };

struct preview {
    const char *now;
    int64_t count;
};

static const struct option rows[] = {
    {.name = "--now",
     .metavar = "INSTANT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct preview, now),
     .help = "when the plan is submitted; default now"},
    {.name = "-n",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct preview, count),
     .help = "print at most this many; default 10",
     .min = 1,
     .max = COUNT_MAX},
};

static const char about[] =
    "Print when a plan would run: one instant a line, in UTC, or never.\n\n"
    "  zplan next --monthly -1@23:00 --timezone Europe/Berlin -n 3\n"
    "  zplan next --every 90m --start 2026-12-24T18:00Z --repeat 4\n"
    "  zplan next --type month --value -1 --time 2026-01-31T23:00:00Z --repeat 5 \\\n"
    "             --now 2026-01-01T00:00:00Z\n";

// Each run is taken to end in its nominal second.
static json_t *occurrences (const struct when *when, const struct zone *zone, int64_t count)
{
    json_t *list = json_array ();
    struct occurrence at;
    bool more = schedule_first (&when->rule, zone, when->rule.received, when->skip, &at);
    for (int64_t i = 0; more && i < count; i++) {
        char text[RFC3339_SIZE];
        rfc3339_format (at.time, text);
        json_array_append_new (list, json_string (text));
        struct occurrence current = at;
        more = schedule_next (&when->rule, zone, &current, current.time, &at);
    }
    return list;
}

static void print_list (const json_t *list)
{
    size_t i;
    json_t *instant;
    json_array_foreach (list, i, instant) puts (json_string_value (instant));
    if (json_array_size (list) == 0)
        puts ("never");
}

static int read_rule (const struct when_words *words, const struct preview *preview,
                      const struct zone *zone, struct when *ret, struct reason *reason)
{
    if (!when_is_given (words)) {
        reason_set (reason, "want a kind of time: --in, --at, --every, --weekly, --monthly or "
                            "--type");
        return -1;
    }
    int64_t now_us = clock_wall_us ();
    struct reason why;
    if (preview->now && when_instant (preview->now, zone, &now_us, &why)) {
        reason_set (reason, "--now: %s", why.text);
        return -1;
    }
    if (preview->now)
        now_us *= 1000000;
    return when_read (words, zone, now_us, ret, reason);
}

int verb_next (const struct cli *cli)
{
    struct when_words words = {0};
    struct order ignored = {0};
    struct option_group plan = order_options (&ignored);
    plan.heading = "Plan, as add takes it; it changes nothing here";
    plan.count--; // --now
    struct preview preview = {.count = COUNT_DEFAULT};
    const struct usage usage = {
        .synopsis = "zplan next TIME [--now INSTANT] [-n N]",
        .about = about,
        .groups = {when_options (&words),
                   {"Preview", rows, sizeof rows / sizeof *rows, &preview},
                   plan},
        .group_count = 3,
        .words = "no arguments",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;

    struct reason reason;
    struct when when;
    struct zone *zone = zonefile_load (words.timezone ? words.timezone : "UTC", &reason);
    if (!zone || read_rule (&words, &preview, zone, &when, &reason)) {
        zone_destroy (&zone);
        return usage_error (cli->argv[0], &reason);
    }
    json_t *list = occurrences (&when, zone, preview.count);
    if (cli->json)
        print_json (list);
    else
        print_list (list);
    json_decref (list);
    zone_destroy (&zone);
    return EXIT_DONE;
}
