// zplan doctor: whether the station is healthy, and what to fix. The station itself finds most
// problems (`health`); checks that need two clocks, or Redis, are here. Up to three pages of `list`
// show how many plans wait for a target that does not work, one page of the history shows how the
// last runs of a target ended, and the newest 1,000 runs of flows those that wait for an undo that
// failed permanently.
#include "verb_doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "outcomes.h"
#include "print.h"
#include "utf8.h"

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
    CLOCK_MS = 1000,     // clocks that differ by more are reported
    LAG_S = 60,          // plans that are overdue by more are reported
    WAITING_MAX = 1000,  // plans that are counted in each state
    RUNS_MAX = 200,      // runs that are examined, of all targets
    RUNS_AGE_S = 86400,  // older runs are ignored
    RUNS_FEW = 3,        // fewer failed runs are only a warning
    UNRESPONSIVE_S = 60, // a shorter time is only a warning, by the station
    STATUSES_SHOWN = 4,
    PARKED_MAX = 10,    // undos that are listed
    REASON_SHOWN = 200, // bytes
    TEXT_MAX = 512
};

enum severity { FOUND_PROBLEM, FOUND_WARNING };

// Add a finding with advice to those of the station (`health`).
static void add_finding (json_t *health, enum severity level, const char *advice, const char *text)
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
    add_finding (health, FOUND_WARNING, "synchronize both machines by NTP", text);
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
    add_finding (health, FOUND_PROBLEM,
                 "see which target takes too little: zplan top, zplan target list", text);
}

// -- plans that wait

// Why a target does not work.
struct fault {
    const char *text, *advice;
    const char *since; // member of the target: since when, Unix seconds
    bool known;        // the station has already reported it, as a warning
    bool queues;       // its plans can only be in the queue, not in progress
    int64_t after_s;
};

// Find why the target does not work; NULL: it works.
static const struct fault *find_fault (const json_t *target)
{
    static const struct fault faults[] = {
        {"is not connected", "start it, or see whether its endpoint is right (zplan target list)",
         "since", .known = true, .queues = true},
        {"is unresponsive", "see whether it hangs, or waits for its workers", "unresponsive_since",
         .known = true, .after_s = UNRESPONSIVE_S},
        {"has no worker", "start a worker (zplan work), or see why the target does not know it",
         "no_worker"},
    };
    if (!field_is_true (target, "connected"))
        return &faults[0];
    for (size_t i = 1; i < sizeof faults / sizeof *faults; i++)
        if (json_object_get (target, faults[i].since))
            return &faults[i];
    return NULL;
}

// Count the due plans of a target, at most WAITING_MAX in each state. `ret_more`: there are more.
static int64_t count_waiting (const struct cli *cli, struct zplan_client *client,
                              const json_t *target, bool queues, int64_t now_s, bool *ret_more)
{
    static const char *const states[] = {"retry", "queue", "execute"};
    int64_t plans = 0;
    *ret_more = false;
    for (size_t k = 0; k < (queues ? 2 : 3); k++) {
        size_t i;
        const json_t *plan;
        struct verdict ignored; // `health` has the reason of a rejection
        json_t *page = call_with_filter (cli, client, "list",
                                         json_pack ("{s:O, s:s, s:i}", "station",
                                                    json_object_get (target, "name"), "state",
                                                    states[k], "limit", WAITING_MAX),
                                         &ignored);
        json_array_foreach (json_object_get (page, "plans"), i, plan) plans +=
            field_number (plan, "plan_time") <= now_s;
        *ret_more = *ret_more || json_object_get (page, "next");
        json_decref (page);
    }
    return plans;
}

// Report a target that does not work, with the plans that wait for it. Returns whether it does not
// work.
static bool report_idle_target (const struct cli *cli, struct zplan_client *client, json_t *health,
                                const json_t *target, int64_t now_s)
{
    char text[TEXT_MAX];
    const char *name = json_string_value (json_object_get (target, "name"));
    const struct fault *fault = name ? find_fault (target) : NULL;
    if (!fault)
        return false;
    const json_t *begin = json_object_get (target, fault->since);
    if (now_s - json_integer_value (begin) < fault->after_s)
        return true;
    bool more;
    int64_t plans = count_waiting (cli, client, target, fault->queues, now_s, &more);
    if (fault->known && !plans)
        return true;
    snprintf (text, sizeof text, "target %s %s since %s, and %" PRId64 "%s plan%s wait%s for it",
              name, fault->text, time_line_text (begin), plans, more && plans ? " or more" : "",
              plans == 1 ? "" : "s", plans == 1 ? "s" : "");
    add_finding (health, plans ? FOUND_PROBLEM : FOUND_WARNING, fault->advice, text);
    return true;
}

// -- runs that failed

struct outcome_counts {
    int64_t ended_well, failed;
    int64_t of_status[256];
    const json_t *last; // the last run that failed
};

// Count a run that the target accepted. Runs that it did not accept are reported as waiting plans.
static void count_outcome (struct outcome_counts *self, const json_t *run)
{
    int64_t status = field_number (run, "status");
    switch (status) {
    case ZERO_STATUS_NOT_WORKER_ID:
    case ZERO_STATUS_SEND_ERROR_ID:
    case ZERO_STATUS_RECV_ERROR_ID:
    case ZERO_STATUS_CANCELLED_ID:
    case ZERO_STATUS_MISSED_ID:
        return;
    }
    if (status < ZERO_STATUS_ERROR_FLAG || status > 255) {
        self->ended_well++;
        return;
    }
    self->failed++;
    self->of_status[status]++;
    if (!self->last)
        self->last = run;
}

// Write the failures by status: "3 failed, 1 timed out".
static void write_statuses (const struct outcome_counts *self, char *out, size_t size)
{
    size_t used = 0;
    int shown = 0;
    out[0] = '\0';
    for (int i = 0; i < 256 && shown < STATUSES_SHOWN && used < size; i++) {
        if (!self->of_status[i])
            continue;
        json_t *status = json_integer (i);
        int more = snprintf (out + used, size - used, "%s%" PRId64 " %s", shown ? ", " : "",
                             self->of_status[i], outcome_text (status));
        json_decref (status);
        used += more > 0 ? (size_t)more : 0;
        shown++;
    }
}

// Report a target whose last runs all failed. Returns whether it is one.
static bool report_failing_target (json_t *health, const json_t *runs, const json_t *name,
                                   int64_t now_s)
{
    size_t i;
    const json_t *run;
    struct outcome_counts outcomes = {0};
    char text[TEXT_MAX], statuses[128];
    json_array_foreach (runs, i, run)
    {
        bool recent =
            json_number_value (json_object_get (run, "ended")) > (double)(now_s - RUNS_AGE_S);
        if (recent && json_equal (json_object_get (run, "station"), name))
            count_outcome (&outcomes, run);
    }
    if (!outcomes.failed || outcomes.ended_well || !json_is_string (name))
        return false;
    write_statuses (&outcomes, statuses, sizeof statuses);
    const char *reason = json_string_value (json_object_get (outcomes.last, "reason"));
    struct span last = utf8_cut (span_text (reason ? reason : ""), REASON_SHOWN);
    snprintf (text, sizeof text, "the last %" PRId64 " run%s of target %s failed: %s%s%.*s",
              outcomes.failed, outcomes.failed == 1 ? "" : "s", json_string_value (name), statuses,
              last.size ? "; the last one: " : "", (int)last.size, (const char *)last.data);
    add_finding (health, outcomes.failed < RUNS_FEW ? FOUND_WARNING : FOUND_PROBLEM,
                 "see why: zplan history --newest, and the logs of its workers", text);
    return true;
}

// -- undos that have failed

static const char newest_undoing[] = "{\"state\":\"undoing\",\"limit\":1000}";

// Report the newest runs that wait for a failed undo. Returns whether there are any.
static bool report_parked_undos (const struct cli *cli, struct zplan_client *client, json_t *health)
{
    size_t i;
    int found = 0;
    const json_t *undoing_run;
    struct verdict ignored; // there may be no flows, or the key may see none
    json_t *page = call_command_quietly (
        cli, client, (const char *[]){"flow", "runs", newest_undoing, NULL}, &ignored);
    json_array_foreach (json_object_get (page, "runs"), i, undoing_run)
    {
        char text[TEXT_MAX], advice[TEXT_MAX];
        const char *run = json_string_value (json_object_get (undoing_run, "run"));
        if (!run || found == PARKED_MAX)
            break;
        json_t *shown = call_command_quietly (
            cli, client, (const char *[]){"flow", "show", run, "{\"limit\":1}", NULL}, &ignored);
        const char *call = json_string_value (json_object_get (shown, "undo_parked"));
        const char *flow = json_string_value (json_object_get (shown, "flow"));
        if (call && flow) {
            snprintf (text, sizeof text,
                      "run %s of flow %s waits: the undo of %s has failed permanently", run, flow,
                      call);
            snprintf (advice, sizeof advice,
                      "zplan flow reset %s/%s tries it again, zplan flow done %s/%s goes on", run,
                      call, run, call);
            add_finding (health, FOUND_WARNING, advice, text);
            found++;
        }
        json_decref (shown);
    }
    json_decref (page);
    return found > 0;
}

bool doctor_check_work (const struct cli *cli, struct zplan_client *client, json_t *health,
                        const json_t *stats)
{
    size_t i;
    const json_t *target;
    bool works = true;
    int64_t now_s = field_number (stats, "now_ms") / 1000;
    struct verdict ignored;
    json_t *page = call_with_filter (
        cli, client, "history", json_pack ("{s:b, s:i}", "newest", 1, "limit", RUNS_MAX), &ignored);
    json_array_foreach (json_object_get (stats, "targets"), i, target)
    {
        const json_t *name = json_object_get (target, "name");
        bool found = report_idle_target (cli, client, health, target, now_s) ||
                     report_failing_target (health, json_object_get (page, "runs"), name, now_s);
        works = works && !found;
    }
    json_decref (page);
    return !report_parked_undos (cli, client, health) && works;
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
