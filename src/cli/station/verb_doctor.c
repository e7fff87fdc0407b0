// zplan doctor: whether the station is healthy, and what to fix. The station itself finds most
// problems (`health`); checks that need two clocks, or Redis, are here and in doctor_work.c.
#include "verb_doctor.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "print.h"

static const char about[] =
    "Check whether the station is healthy, and print what to fix: Redis (its\n"
    "version, whether it keeps what it was given, its memory and clock), targets that\n"
    "are away, have no worker, or whose last runs all failed, plans that are overdue,\n"
    "runs of flows that wait because an undo has failed, and the clocks of station\n"
    "and this machine. The exit status is 1 when plans do\n"
    "not run as they should (bad): no target is known, plans wait for a target that is\n"
    "away or has no worker, the last three or more runs of a target failed. A warning\n"
    "(warn) does not change it.\n"
    "Answers while Redis is away.\n\n"
    "  zplan doctor\n"
    "  zplan doctor --json | jq '.findings[] | .text, .do'\n";

enum {
    CLOCK_MS = 1000, // clocks that differ by more are reported
    LAG_S = 60       // plans that are overdue by more are reported
};

void doctor_add_finding (json_t *health, enum severity level, const char *advice, const char *text)
{
    bool bad = level == FOUND_PROBLEM;
    json_array_append_new (json_object_get (health, bad ? "problems" : "warnings"),
                           json_string (text));
    json_array_append_new (json_object_get (health, "findings"),
                           json_pack ("{s:s, s:s, s:s}", "level", bad ? "problem" : "warning",
                                      "text", text, "do", advice));
    if (bad)
        json_object_set_new (health, "healthy", json_false ());
}

static void check_clock (json_t *health, int64_t before_us, int64_t after_us)
{
    char text[128];
    const json_t *now = json_object_get (health, "now_ms");
    int64_t off_ms = json_integer_value (now) - (before_us + after_us) / 2000;
    int64_t doubt_ms = (after_us - before_us) / 2000; // uncertainty: half of the round trip
    if (!json_is_integer (now) || llabs (off_ms) <= CLOCK_MS + doubt_ms)
        return;
    snprintf (text, sizeof text, "the station's clock is %lld ms %s this machine's",
              (long long)llabs (off_ms), off_ms > 0 ? "ahead of" : "behind");
    doctor_add_finding (health, FOUND_WARNING, "synchronize both machines by NTP", text);
}

static void check_lag (json_t *health, const json_t *stats)
{
    char text[128];
    int64_t due = field_number (stats, "due");
    int64_t first = field_number (stats, "next");
    int64_t lag_s = field_number (stats, "now_ms") / 1000 - first;
    if (due <= 0 || first <= 0 || lag_s <= LAG_S)
        return;
    snprintf (text, sizeof text, "%" PRId64 " plans are overdue, the first for %" PRId64 " s", due,
              lag_s);
    doctor_add_finding (health, FOUND_PROBLEM,
                        "see which target takes too little: zplan top, zplan target list", text);
}

// -- the report

static void print_redis (const json_t *redis)
{
    const json_t *ahead = json_object_get (redis, "clock_ahead_ms");
    print_between ("      Redis is ", field_text (redis, "state"), "\n");
    if (json_string_length (json_object_get (redis, "version"))) {
        print_between ("      its version is ", field_text (redis, "version"), ", appendfsync ");
        print_bytes (field_text (redis, "fsync"));
        print_between (", maxmemory-policy ", field_text (redis, "maxmemory_policy"), "");
        if (json_is_integer (ahead))
            printf (", its clock %+" JSON_INTEGER_FORMAT " ms", json_integer_value (ahead));
        putchar ('\n');
    }
    const char *text = json_string_value (json_object_get (redis, "acknowledged"));
    bool known = !text || strncmp (text, "unknown", 7) != 0;
    print_between (known ? "      an acknowledged plan is "
                         : "      whether acknowledged plans are kept is ",
                   field_text (redis, "acknowledged"), "\n");
}

static void print_targets (const json_t *stats)
{
    size_t i;
    const json_t *target;
    json_array_foreach (json_object_get (stats, "targets"), i, target)
    {
        print_between ("      target ", field_text (target, "name"), "");
        printf (" is %s since %s", field_is_true (target, "connected") ? "connected" : "away",
                time_line_text (json_object_get (target, "since")));
        const json_t *unresponsive = json_object_get (target, "unresponsive_since");
        if (unresponsive)
            printf (", unresponsive since %s", time_line_text (unresponsive));
        putchar ('\n');
    }
}

// Print the report. `works`: no problem of a target was found; a target may be away without being a
// problem.
static void report_health (const json_t *health, const json_t *stats, bool works)
{
    size_t i;
    int64_t targets = field_number (health, "targets");
    const json_t *owner = json_object_get (health, "owner");
    const json_t *owner_since = json_object_get (health, "owner_since");
    int64_t standbys = field_number (health, "standbys");
    const json_t *finding;
    json_array_foreach (json_object_get (health, "findings"), i, finding)
    {
        bool bad = span_is (field_text (finding, "level"), "problem");
        write_coloured (stdout, bad ? RED : YELLOW, span_text (bad ? "bad " : "warn"));
        print_between ("  ", field_text (finding, "text"), "\n      do: ");
        print_between ("", field_text (finding, "do"), "\n");
    }
    if (field_is_true (health, "healthy") && works) {
        write_coloured (stdout, GREEN, span_text ("good"));
        puts ("  the station is healthy");
    }
    print_redis (json_object_get (health, "redis"));
    printf ("      %" PRId64 " of %" PRId64 " target%s connected\n",
            (int64_t)field_number (health, "connected"), targets, targets == 1 ? " is" : "s are");
    print_targets (stats);
    if (owner) { // stations before 0.2 report no owner
        print_between ("      ", text_of (owner), "");
        if (json_integer_value (owner_since) > 0)
            printf (" owns the plans since %s; %" PRId64 " standby%s\n",
                    time_line_text (owner_since), standbys, standbys == 1 ? "" : "s");
        else
            puts (" has not reached the plans yet");
    }
}

// -- the requests

static int examine_station (const struct cli *cli, struct zplan_client *client)
{
    int code;
    int64_t before_us = clock_wall_us ();
    json_t *health = call_command (cli, client, (const char *[]){"health", NULL}, NULL, &code);
    int64_t after_us = clock_wall_us ();
    if (!health)
        return code;
    struct verdict ignored; // a rejection, as while Redis is away, is already a finding of `health`
    json_t *stats = call_with_filter (cli, client, "stats", NULL, &ignored);
    check_clock (health, before_us, after_us);
    bool works = true;
    if (stats) {
        check_lag (health, stats);
        works = doctor_check_work (cli, client, health, stats);
    }
    if (cli->json)
        print_answer (cli, JSON_ANSWER, health);
    else
        report_health (health, stats, works);
    code = field_is_true (health, "healthy") ? EXIT_DONE : EXIT_REFUSED;
    json_decref (stats);
    json_decref (health);
    return code;
}

int verb_doctor (const struct cli *cli)
{
    return verb_run (cli, "zplan doctor", about, examine_station);
}
