// zplan show: one plan, for people.
#include <jansson.h>
#include <stdio.h>

#include "call.h"
#include "json_names.h"
#include "status_names.h"
#include "options.h"
#include "outcomes.h"
#include "plan.h"
#include "cells.h"
#include "policy.h"
#include "print.h"
#include "terms_show.h"

static const char about[] =
    "Show a plan as it is now: what it calls, when it runs next, how its last run ended, its last\n"
    "failures, and its policies, as the options of `zplan add`. --json has all of its fields and\n"
    "frames, --json=wire as the station sends them.\n\n"
    "  zplan show nightly\n"
    "  zplan show 1f\n"
    "  zplan show 1f --json | jq .next_at\n";

static enum plan_state state_of (const json_t *plan)
{
    return (enum plan_state)field_number (plan, "plan_state");
}

// Print a line for a frame; none if it is absent or empty.
static void show_text (const char *label, const json_t *frame)
{
    if (!frame || (json_is_string (frame) && json_string_length (frame) == 0))
        return;
    terms_label (label);
    write_frame (stdout, frame);
    putchar ('\n');
}

static void show_line (const char *label, const char *text)
{
    terms_label (label);
    puts (text);
}

// Print a line for an id, a number; none if it is absent or 0.
static void show_id (const char *label, const json_t *id)
{
    if (json_integer_value (id))
        show_line (label, id_hex_text (id));
}

// -- command

static void print_argument (const json_t *frame)
{
    putchar (' ');
    if (json_is_string (frame))
        write_argument (stdout, text_of (frame));
    else
        write_frame (stdout, frame);
}

// Print the frames of the plan; `names` is the plan with the names of --json, in which they have
// types.
static void print_command (const json_t *names)
{
    size_t i;
    const json_t *frame, *command = json_object_get (names, "command"),
                         *frames = json_object_get (names, "frames");
    if (command) {
        terms_label ("command");
        write_frame (stdout, command);
        json_array_foreach (json_object_get (names, "args"), i, frame) print_argument (frame);
        putchar ('\n');
    }
    json_array_foreach (frames, i, frame)
    {
        struct span type = field_text (frame, "type");
        json_t *bytes = json_pack ("{sO*}", "b64", json_object_get (frame, "b64"));
        const json_t *text = json_object_get (frame, "text");
        if (!command || (!span_is (type, "COMMAND") && !span_is (type, "ARG"))) {
            char name[MOMENT_SIZE];
            const json_t *number = json_object_get (frame, "type");
            if (json_is_integer (number)) // a type without a name
                snprintf (name, sizeof name, "0x%02x", (int)json_integer_value (number));
            else
                snprintf (name, sizeof name, "%.*s", (int)type.size, (const char *)type.data);
            terms_label (name);
            write_frame (stdout, text ? text : bytes);
            putchar ('\n');
        }
        json_decref (bytes);
    }
}

// -- state

// Print who stopped the plan, and when: " by ops, 2 h ago".
static void print_stopped_by (const json_t *stopped)
{
    enum { WITHOUT_MS = 19 };
    char instant[WITHOUT_MS + 2];
    const json_t *by = json_object_get (stopped, "by"), *at = json_object_get (stopped, "at");
    if (json_is_string (by))
        print_between (" by ", text_of (by), "");
    if (json_string_length (at) < WITHOUT_MS)
        return;
    snprintf (instant, sizeof instant, "%.*sZ", WITHOUT_MS, json_string_value (at));
    why_print_time (span_text (instant));
}

static const char *verdict_words (const json_t *plan)
{
    static const char *const words[VERDICTS] = {
        [VERDICT_FAILURE] = " permanently: its retries are exhausted; zplan done, or zplan reset",
        [VERDICT_PENDING] = " permanently, needs manual action: zplan done, or zplan reset",
        [VERDICT_MANUAL] = ", its failure was resolved manually",
    };
    json_int_t verdict = field_number (plan, "verdict");
    return verdict > 0 && verdict < VERDICTS && words[verdict] ? words[verdict] : "";
}

// Print the state as text, and who stopped the plan.
static void show_state (const json_t *plan, const json_t *names)
{
    const json_t *state = json_object_get (plan, "plan_state");
    terms_label ("state");
    colour_on (stdout, state_colour (state));
    printf ("%s%s", state_plain_text (state), verdict_words (plan));
    colour_off (stdout, state_colour (state));
    if (state_of (plan) == PLAN_EXECUTE)
        printf (" since %s", time_line_text (json_object_get (plan, "exec_time")));
    if (state_of (plan) == PLAN_PAUSE && field_number (plan, "held"))
        printf (" when it was submitted");
    if (state_of (plan) == PLAN_PAUSE || state_of (plan) == PLAN_CLOSE)
        print_stopped_by (json_object_get (names, "stopped"));
    putchar ('\n');
    show_text ("remark", json_object_get (plan, "remark"));
}

static void print_counts (const json_t *plan)
{
    static const struct {
        const char *field, *singular, *plural;
    } counts[] = {
        {"error_count", "failed try of this occurrence", "failed tries of this occurrence"},
        {"skip_num", "skipped", "skipped"},
        {"missed", "missed", "missed"},
    };
    json_int_t all = field_number (plan, "plan_repet"), type = field_number (plan, "plan_type");
    terms_label ("runs");
    printf ("%" JSON_INTEGER_FORMAT, field_number (plan, "real_repet"));
    if (all > 0 && type > SCHEDULE_TIME)
        printf (" of %" JSON_INTEGER_FORMAT, all);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        json_int_t count = field_number (plan, counts[i].field);
        if (count > 0)
            printf (", %" JSON_INTEGER_FORMAT " %s", count,
                    count == 1 ? counts[i].singular : counts[i].plural);
    }
    putchar ('\n');
}

// Print how the last run ended, and why.
static void print_last_run (const json_t *plan)
{
    const json_t *status = json_last_status (plan);
    terms_label ("last run");
    if (!status) {
        puts (state_of (plan) == PLAN_EXECUTE || field_number (plan, "last_state") ? "-"
                                                                                   : "none yet");
        return;
    }
    print_outcome (status);
    // In the state execute, exec_time is the time of the run in progress.
    if (state_of (plan) != PLAN_EXECUTE && field_number (plan, "exec_time"))
        printf (", %s", time_line_text (json_object_get (plan, "exec_time")));
    json_t *run =
        json_pack ("{sO sO*}", "status", status, "reason", json_object_get (plan, "error_info"));
    write_reason (stdout, ": ", run);
    json_decref (run);
    putchar ('\n');
}

// -- when

static void print_schedule (const json_t *plan)
{
    const json_t *zone = json_object_get (plan, "timezone");
    terms_label ("schedule");
    write_plan_schedule (stdout, plan);
    if (field_number (plan, "plan_type") == SCHEDULE_TIME &&
        !plan_waits (plan)) // otherwise the line `next` shows the time
        printf (", %s", time_line_text (json_object_get (plan, "plan_time")));
    putchar ('\n');
    if (!zone && field_number (plan, "plan_type") <= SCHEDULE_DAY)
        return; // without a zone of its own such a plan does not depend on one
    terms_label ("time zone");
    if (zone)
        print_bytes (text_of (zone));
    puts (zone ? "" : "UTC");
}

// -- progress

// Print the progress of a run. If workers fetched the plan, each has its own progress.
static void print_progress (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    size_t i;
    struct verdict ignored;
    const json_t *worker, *plan_progress = json_object_get (plan, "progress");
    show_text ("progress", plan_progress);
    if (plan_progress || state_of (plan) != PLAN_EXECUTE)
        return;
    const char *const request_words[] = {"team", id_hex_text (json_object_get (plan, "plan_id")),
                                         NULL};
    json_t *team = call_command_quietly (cli, client, request_words, &ignored);
    json_array_foreach (json_object_get (team, "workers"), i, worker)
    {
        const json_t *progress = json_object_get (worker, "progress");
        if (!progress || !span_is (field_text (worker, "state"), "running"))
            continue;
        terms_label ("progress");
        write_frame (stdout, progress);
        print_between (", ", field_text (worker, "worker"), "\n");
    }
    json_decref (team);
}

// -- when it runs next

// Find the occurrence after the current one, if the plan is running or retrying. NULL: none, or
// unknown.
static json_t *request_next_occurrence (const struct cli *cli, struct zplan_client *client,
                                        const json_t *plan)
{
    size_t i;
    struct verdict ignored;
    json_t *next = NULL, *time;
    // A manual run is not an occurrence: the next one is then still plan_time.
    bool manual = field_number (plan, "extra") > 0;
    json_int_t from = field_number (plan, "plan_time") + !manual;
    const char *const request_words[] = {"next", id_hex_text (json_object_get (plan, "plan_id")),
                                         "2", NULL};
    json_t *answer = call_command_quietly (cli, client, request_words, &ignored);
    json_array_foreach (json_object_get (answer, "next"), i, time)
    {
        if (!next && json_integer_value (time) >= from)
            next = json_incref (time);
    }
    json_decref (answer);
    return next;
}

static void print_next (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    json_t *next = NULL;
    if (state_of (plan) == PLAN_EXECUTE || state_of (plan) == PLAN_RETRY)
        next = request_next_occurrence (cli, client, plan);
    else if (plan_waits (plan))
        next = json_incref (json_object_get (plan, "plan_time"));
    show_line ("next", time_line_text (next));
    json_decref (next);
}

// -- when it is retried

// The delay from the end of the last run to the retry; -1: no retry is pending.
static int64_t retry_delay (const json_t *plan)
{
    struct policy *policy;
    struct reason ignored;
    int64_t failures = field_number (plan, "error_count");
    const json_t *run = json_object_get (plan, "exec_id");
    if (state_of (plan) != PLAN_RETRY || failures < 1 ||
        !policy_read_from (plan, &policy, &ignored))
        return -1;
    const struct retry_policy default_retry = {.strategy = RETRY_PACED};
    int64_t delay_ms = retry_delay_ms (policy ? &policy->retry : &default_retry, failures,
                                       (uint64_t)json_integer_value (run));
    policy_destroy (&policy);
    return delay_ms;
}

// Print the time of the retry. The end of the run is read from the history; if it has no entry,
// nothing is printed.
static void print_retry (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    int64_t delay_ms = retry_delay (plan);
    if (delay_ms < 0)
        return;
    struct verdict ignored;
    json_t *filter =
        json_pack ("{s:s, s:b, s:i}", "plan", id_hex_text (json_object_get (plan, "plan_id")),
                   "newest", 1, "limit", 1);
    json_t *answer = call_with_filter (cli, client, "history", filter, &ignored);
    const json_t *run = json_array_get (json_object_get (answer, "runs"), 0);
    const json_t *ended = json_object_get (run, "ended");
    if (ended && json_equal (json_object_get (run, "exec_id"), json_object_get (plan, "exec_id"))) {
        json_t *at = json_real (json_number_value (ended) + (double)delay_ms / 1000);
        show_line ("next try", time_line_text (at));
        json_decref (at);
    }
    json_decref (answer);
}

// Print the last failures, also if the last run succeeded.
static void print_failures (const json_t *plan)
{
    size_t i;
    const json_t *run;
    json_array_foreach (json_object_get (plan, "failures"), i, run)
    {
        terms_label (i == 0 ? "failures" : "");
        printf ("%s  %s  ", time_line_text (json_object_get (run, "ended")),
                outcome_text (json_object_get (run, "status")));
        write_run_reason (stdout, run);
        putchar ('\n');
    }
}

static void show_sections (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    json_t *names = json_names (JSON_PLAN, plan); // the plan with the names of --json
    show_text ("name", json_object_get (plan, "key"));
    show_id ("id", json_object_get (plan, "plan_id"));
    show_text ("title", json_object_get (plan, "description"));
    print_command (names);
    show_text ("target", json_object_get (plan, "station"));
    print_schedule (plan);
    print_next (cli, client, plan);
    print_retry (cli, client, plan);
    show_state (plan, names);
    json_decref (names);
    print_progress (cli, client, plan);
    print_counts (plan);
    show_id ("flow run", json_object_get (plan, "flow_run"));
    print_last_run (plan);
    if (field_number (plan, "add_time"))
        show_line ("added", time_line_text (json_object_get (plan, "add_time")));
    terms_show (plan);
    print_failures (plan);
}

static int show_plan (const struct cli *cli, struct zplan_client *client, const char *id)
{
    int code;
    json_t *plan = call_command (cli, client, (const char *[]){"message", id, NULL}, id, &code);
    if (plan && cli->json)
        print_plan (cli, plan);
    else if (plan)
        show_sections (cli, client, plan);
    json_decref (plan);
    return code;
}

int verb_show (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan show ID",
        .about = about,
        .words_min = 1,
        .words_max = 1,
        .words = "one plan, by id or name",
    };
    return call_for_each_plan (cli, &usage, show_plan);
}
