// Examines each target of `stats`: two pages of `list` show how many plans wait for a target that
// does not work, and one page of the history shows how its last runs ended. Also finds runs of
// flows, among the newest 1,000, that wait because an undo failed permanently.
#include "verb_doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codes.h"
#include "outcomes.h"
#include "print.h"
#include "utf8.h"

enum {
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

// -- plans that wait

struct waiting_plans {
    int64_t plans;
    bool more; // there are more than were counted
};

// Count the due plans of a target in this state.
static void count_waiting (const struct cli *cli, struct zplan_client *client, const json_t *target,
                           const char *state, int64_t now_s, struct waiting_plans *ret)
{
    size_t i;
    const json_t *plan;
    struct verdict ignored; // `health` has the reason of a rejection
    json_t *page =
        call_with_filter (cli, client, "list",
                          json_pack ("{s:O, s:s, s:i}", "station", json_object_get (target, "name"),
                                     "state", state, "limit", WAITING_MAX),
                          &ignored);
    json_array_foreach (json_object_get (page, "plans"), i, plan)
    {
        ret->plans += field_number (plan, "plan_time") <= now_s;
    }
    ret->more = ret->more || json_object_get (page, "next");
    json_decref (page);
}

// Why a target does not work.
struct fault {
    const char *is, *advice;
    const json_t *since;
    bool known;  // the station has already reported it, as a warning
    bool queues; // its plans can only be in the queue, not in progress
    int64_t after_s;
};

static bool find_fault (const json_t *target, struct fault *ret)
{
    const json_t *unresponsive = json_object_get (target, "unresponsive_since");
    const json_t *no_worker = json_object_get (target, "no_worker");
    if (!field_is_true (target, "connected"))
        *ret = (struct fault){.is = "is not connected",
                              .advice = "start it, or see whether its endpoint is right (zplan "
                                        "target list)",
                              .since = json_object_get (target, "since"),
                              .known = true,
                              .queues = true};
    else if (unresponsive)
        *ret = (struct fault){.is = "is unresponsive",
                              .advice = "see whether it hangs, or waits for its workers",
                              .since = unresponsive,
                              .known = true,
                              .after_s = UNRESPONSIVE_S};
    else if (no_worker)
        *ret = (struct fault){.is = "has no worker",
                              .advice = "start a worker (zplan work), or see why the target does "
                                        "not know it",
                              .since = no_worker};
    return ret->is != NULL;
}

// Report a target that does not work, with the plans that wait for it. Returns whether it does not
// work.
static bool report_idle_target (const struct cli *cli, struct zplan_client *client, json_t *health,
                                const json_t *target, int64_t now_s)
{
    char text[TEXT_MAX];
    struct waiting_plans waiting = {0};
    struct fault fault = {0};
    const char *name = json_string_value (json_object_get (target, "name"));
    if (!name || !find_fault (target, &fault))
        return false;
    if (now_s - json_integer_value (fault.since) < fault.after_s)
        return true;
    count_waiting (cli, client, target, "retry", now_s, &waiting);
    count_waiting (cli, client, target, "queue", now_s, &waiting);
    if (!fault.queues)
        count_waiting (cli, client, target, "execute", now_s, &waiting);
    if (fault.known && !waiting.plans)
        return true;
    snprintf (text, sizeof text, "target %s %s since %s, and %" PRId64 "%s plan%s wait%s for it",
              name, fault.is, time_line_text (fault.since), waiting.plans,
              waiting.more && waiting.plans ? " or more" : "", waiting.plans == 1 ? "" : "s",
              waiting.plans == 1 ? "s" : "");
    doctor_add_finding (health, waiting.plans ? FOUND_PROBLEM : FOUND_WARNING, fault.advice, text);
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
    doctor_add_finding (health, outcomes.failed < RUNS_FEW ? FOUND_WARNING : FOUND_PROBLEM,
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
    const json_t *listed;
    struct verdict ignored; // there may be no flows, or the key may see none
    json_t *page = call_command_quietly (
        cli, client, (const char *[]){"flow", "runs", newest_undoing, NULL}, &ignored);
    json_array_foreach (json_object_get (page, "runs"), i, listed)
    {
        char text[TEXT_MAX], advice[TEXT_MAX];
        const char *run = json_string_value (json_object_get (listed, "run"));
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
            doctor_add_finding (health, FOUND_WARNING, advice, text);
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
