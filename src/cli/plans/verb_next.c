// zplan next: when a plan would run, computed locally by the same rules as the station; or when a
// stored plan will run, as reported by the station.
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "call.h"
#include "clock.h"
#include "instant.h"
#include "action_frame.h"
#include "plan_ref.h"
#include "json_values.h"
#include "print.h"
#include "zonefile.h"

enum { COUNT_DEFAULT = 10, COUNT_MAX = 100000, STORED_MAX = 1000 };

struct next_options {
    const char *now;
    int64_t count;
};

static const struct option rows[] = {
    TEXT_OPTION (struct next_options, now, "--now", "INSTANT",
                 "when the plan is submitted; default now"),
    NUMBER_OPTION (struct next_options, count, "-n", "N", 1, COUNT_MAX,
                   "print at most this many; default 10"),
};

static const char about[] =
    "Print when a plan would run: one instant a line, in UTC, or never. With TIME\n"
    "it is computed here and needs no station; with the ID of a plan the station\n"
    "is asked when that one will run.\n\n"
    "  zplan next 1f -n 3\n"
    "  zplan next --monthly -1@23:00 --timezone Europe/Berlin -n 3\n"
    "  zplan next --cron '30 8 * * MON-FRI' --timezone Europe/Berlin\n"
    "  zplan next --cron '0 9 L * ?' --start 2027-01-01 --end 2027-06-30\n"
    "  zplan next --every 1h --cycle 2,3,5 --iteration 2\n"
    "  zplan next --every 90m --start 2026-12-24T18:00Z --repeat 4\n"
    "  zplan next --type month --value -1 --time 2026-01-31T23:00:00Z --repeat 5 \\\n"
    "             --now 2026-01-01T00:00:00Z\n";

// List the next occurrences, assuming that each run ends in its nominal second.
static json_t *list_occurrences (const struct when *when, const struct zone *zone, int64_t count)
{
    json_t *list = json_array ();
    struct occurrence at;
    bool more = when_first (when, zone, &at);
    for (int64_t i = 0; more && i < count; i++) {
        json_array_append_new (list, json_integer (at.time));
        struct occurrence current = at;
        more = schedule_next (&when->rule, zone, &current, current.time, &at);
    }
    return list;
}

static void print_list (const struct cli *cli, const json_t *times)
{
    size_t i;
    json_t *time, *texts = json_array ();
    json_array_foreach (times, i, time)
    {
        if (cli->json)
            json_array_append_new (texts, strcmp (cli->json, "wire") == 0
                                              ? json_string (time_rfc3339_text (time))
                                              : json_instant_ms (json_integer_value (time) * 1000));
        else
            puts (time_line_text (time));
    }
    if (cli->json)
        print_json (texts);
    else if (json_array_size (times) == 0)
        puts ("never");
    json_decref (texts);
}

static int read_rule (const struct when_words *words, const struct next_options *preview,
                      const struct zone *zone, struct when *ret, struct reason *reason)
{
    if (!when_is_given (words))
        return reason_set (reason, "want a kind of time: --in, --at, --every, --daily, --weekly, "
                                   "--monthly, --cron or --type");
    int64_t now_us = clock_wall_us ();
    struct reason why;
    if (preview->now && instant_parse (preview->now, zone, &now_us, &why))
        return reason_set (reason, "--now: %s", why.text);
    if (preview->now)
        now_us *= 1000000;
    return when_read (words, zone, now_us, ret, reason);
}

static int compute_next (const struct cli *cli, const struct when_words *words,
                         const struct next_options *preview)
{
    struct reason reason;
    struct when when;
    struct zone *zone = zonefile_load (words->timezone ? words->timezone : "UTC", &reason);
    if (!zone || read_rule (words, preview, zone, &when, &reason)) {
        zone_destroy (&zone);
        return usage_error (cli->argv[0], &reason);
    }
    json_t *list = list_occurrences (&when, zone, preview->count);
    print_list (cli, list);
    json_decref (list);
    when_clear (&when);
    zone_destroy (&zone);
    return EXIT_DONE;
}

// -- a plan that the station has

// Print the next times of a stored plan. `given` is an option that conflicts with a plan id, or
// NULL.
static int preview_stored_plan (const struct cli *cli, const char *given,
                                const struct next_options *preview)
{
    int code;
    char id[PLAN_REF_SIZE], number[24];
    struct reason reason;
    if (given)
        reason_set (&reason, "a plan id and %s: want one or the other", given);
    else if (preview->count > STORED_MAX)
        reason_set (&reason, "-n: want a number 1..%d for a stored plan", STORED_MAX);
    if (given || preview->count > STORED_MAX || plan_ref_read (cli->argv[1], id, &reason))
        return usage_error (cli->argv[0], &reason);
    snprintf (number, sizeof number, "%" PRId64, preview->count);
    const char *const words[] = {"next", id, number, NULL};
    struct zplan_client *client = call_open (cli, &code);
    json_t *answer = client ? call_command (cli, client, words, id, &code) : NULL;
    if (answer)
        print_list (cli, json_object_get (answer, "next"));
    json_decref (answer);
    zplan_client_destroy (&client);
    return code;
}

int verb_next (const struct cli *cli)
{
    struct when_words words = {0};
    struct action_options ignored = {0};
    struct option_group plan = action_option_group (&ignored), time = when_options (&words);
    struct option_group policy = terms_options (&words.terms);
    plan.heading = "Plan, as add takes it; it changes nothing here";
    plan.count--; // omit --now, the last row
    struct next_options preview = {.count = COUNT_DEFAULT};
    const struct usage usage = {
        .synopsis = "zplan next TIME [--now INSTANT] [-n N]  |  zplan next ID [-n N]",
        .about = about,
        .groups = {time, OPTION_GROUP ("Preview", rows, &preview), policy, plan},
        .words_max = 1,
        .words = "at most one plan",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    if (count == 0)
        return compute_next (cli, &words, &preview);
    const char *given = options_given ((struct option_group[]){time, policy, plan}, 3);
    if (!given && preview.now)
        given = "--now";
    return preview_stored_plan (cli, given, &preview);
}
