// zplan flow start: submits a plan that runs a flow once, at once; backfill: one plan for each
// time.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "civil.h"
#include "flow.h"
#include "flow_command.h"
#include "flow_file.h"
#include "flow_run_view.h"
#include "flow_stored.h"
#include "instant.h"
#include "json.h"
#include "action_frame.h"
#include "print.h"
#include "rfc3339.h"

// The data that all plans of a start or of a backfill share.
struct flow_submission {
    const struct cli *cli;
    const struct flow_options *options;
    const char *flow;
    char *input;      // NULL = none
    json_t *params;   // NULL = none
    const char *time; // the current time of a backfill; NULL = not a backfill
    struct zplan_client *client;
};

// -- the input

// Read the input, an object, as JSON text; free it. NULL with a reason.
static char *read_input (const char *file, struct reason *reason)
{
    struct reason why;
    json_t *json = flow_file_json (file, &why);
    char *text = json_is_object (json) ? json_write (json) : NULL;
    if (!text)
        reason_set (reason, "%s: %s", file, json ? "want an object" : why.text);
    json_decref (json);
    return text;
}

// -- the wait for the end

// Find the run of a plan: the plan names it as long as it exists; later, search the flow's runs.
static bool find_run (const struct flow_submission *self, const char *plan, int64_t *answered_us,
                      char out[IDENT_SIZE], int *ret_code)
{
    uint64_t id = 0;
    const json_t *run;
    struct verdict verdict;
    json_t *message = call_command_quietly (self->cli, self->client,
                                            (const char *[]){"message", plan, NULL}, &verdict);
    if (verdict.code == EXIT_DONE) {
        id = (uint64_t)field_number (message, "flow_run");
    } else if (verdict.status == ZERO_STATUS_NOT_FIND_ID) {
        struct flow_items runs =
            flow_items (self->cli, self->client, "runs",
                        json_pack ("{s:s, s:i}", "flow", self->flow, "limit", 1000));
        while (!id && (run = flow_items_next (&runs)))
            if (span_is (field_text (run, "plan"), plan))
                ident_parse (field_text (run, "run"), &id);
        *ret_code = flow_items_end (&runs);
        if (!id && *ret_code == EXIT_DONE)
            *ret_code = complain (plan, span_text ("the plan is gone, and no run of it is known"));
    } else if (!flow_wait_continues (&verdict, answered_us)) {
        *ret_code = verdict_print (&verdict, plan);
    }
    json_decref (message);
    ident_text (id, out);
    return id;
}

static int wait_for_end (const struct flow_submission *self, const char *plan)
{
    enum { PAUSE_US = 100000 };
    const struct cli *cli = self->cli;
    int code = EXIT_DONE;
    int64_t answered_us = 0;
    char name[IDENT_SIZE];
    while (!find_run (self, plan, &answered_us, name, &code)) {
        if (code != EXIT_DONE)
            return code;
        usleep (PAUSE_US);
    }
    if (!cli->json)
        printf ("run %s of flow %s\n", name, self->flow);
    json_t *run = flow_run_follow (cli, self->client, name, &code);
    if (run && cli->json) {
        flow_run_print_json (cli, run);
    } else if (run) {
        flow_run_print_state (run);
        if (json_object_get (run, "error"))
            complain (NULL, field_text (run, "error"));
        if (json_object_get (run, "output")) {
            printf ("output ");
            print_json (json_object_get (run, "output"));
        }
    }
    if (run && !span_is (field_text (run, "state"), "finished"))
        code = EXIT_REFUSED;
    json_decref (run);
    return code;
}

// -- the request

// Report that the plan was accepted, or existed already.
static void print_started (const struct flow_submission *self, const char *id, bool is_new,
                           bool waits)
{
    if (self->cli->json)
        print_json_new (json_pack ("{s:s, s:s, s:s*, s:s}", "id", id, "flow", self->flow, "batch",
                                   self->time, "result", is_new ? "added" : "exists"));
    else if (self->time)
        printf ("%s: %s (plan %s)\n", self->time, is_new ? "started" : "exists", id);
    else
        printf ("plan %s of flow %s %s%s%s\n", id, self->flow,
                is_new ? "accepted, runs at once" : "already exists",
                waits ? "" : "; its run: zplan show ", waits ? "" : id);
    fflush (stdout);
}

// Submit a plan; `options` has its own title, batch and unique key.
static int submission_send (const struct flow_submission *self, const struct flow_options *options)
{
    const char *title = options->title ? options->title : self->flow, *input = self->input;
    json_t *plan = json_pack ("{s:i, s:o, s:s*, s:s*, s:O*}", "plan_type", 0, "description",
                              json_from_frame (span_text (title)), "key", options->unique, "batch",
                              options->batch, "params", self->params);
    struct zplan_reply reply;
    char *text = json_write (plan), id[IDENT_SIZE];
    uint64_t number = 0;
    struct zplan_frame frame = {ZERO_FRAME_JSON, input, input ? strlen (input) : 0};
    struct zplan_submission submission = {
        .station = self->flow, .plan = text, .frames = &frame, .count = input ? 1 : 0};
    int outcome = zplan_client_submit (self->client, &submission, &reply);
    int code = call_report (self->cli, outcome, &reply, self->flow);
    free (text);
    json_decref (plan);
    if (code != EXIT_DONE)
        return code;
    if (reply.status != ZERO_STATUS_PLAN_ID ||
        !ident_parse (call_frame (&reply, ZERO_FRAME_GLOBAL_ID), &number))
        return complain (self->cli->connect,
                         span_text ("answers, but keeps no plan: is it a plan station?"));
    ident_text (number, id);
    print_started (self, id, zplan_reply_stored (&reply) == ZPLAN_STORED_NEW, options->wait);
    return options->wait ? wait_for_end (self, id) : EXIT_DONE;
}

// Read the input and the params, and connect. EXIT_DONE, or another exit code after an error was
// reported; submission_close is needed in both cases.
static int submission_open (struct flow_submission *self)
{
    int code = EXIT_USAGE;
    struct reason reason;
    const struct flow_options *options = self->options;
    self->input = options->input ? read_input (options->input, &reason) : NULL;
    if (options->input && !self->input)
        return complain ("--input", span_text (reason.text));
    self->client = call_open (self->cli, &code);
    if (!self->client || !options->params.count)
        return self->client ? EXIT_DONE : code;
    json_t *declared = flow_stored_params (self->client, self->flow);
    self->params = action_read_params (&options->params, declared, &reason);
    json_decref (declared);
    return self->params ? EXIT_DONE : usage_error (self->cli->argv[0], &reason);
}

static void submission_close (struct flow_submission *self)
{
    zplan_client_destroy (&self->client);
    json_decref (self->params);
    free (self->input);
}

int flow_start (const struct cli *cli, const struct flow_options *options)
{
    struct flow_submission submission = {.cli = cli, .options = options, .flow = options->words[0]};
    int code = submission_open (&submission);
    if (code == EXIT_DONE)
        code = submission_send (&submission, options);
    submission_close (&submission);
    return code;
}

// -- backfill: a run for each time that was missed, or was before the flow existed

enum { BACKFILL_MAX = 10000, BATCH_SIZE = 40 };

// The times of a backfill are local to the flow plan's zone, in which `batch` is interpreted too.
struct backfill {
    struct zone *wall;
    struct cron *cron;
    int64_t from, to;
};

static bool backfill_read (struct backfill *self, const struct flow_options *options,
                           struct reason *reason)
{
    const struct {
        const char *option, *text;
        int64_t *ret;
    } times[] = {{"--from", options->from, &self->from}, {"--to", options->to, &self->to}};
    const struct span text = span_text (options->cron ? options->cron : "0 0 * * *");
    struct reason why;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!times[i].text || instant_parse_date (times[i].text, self->wall, times[i].ret, &why)) {
            reason_set (reason, "%s: %s", times[i].option,
                        times[i].text ? why.text : "want a date as 2026-01-31");
            return false;
        }
    self->cron = cron_new (&text, 1, &why);
    if (!self->cron)
        reason_set (reason, "--cron: %s", why.text);
    else if (self->from > self->to)
        reason_set (reason, "--to: want a time that is not before --from");
    return self->cron && self->from <= self->to;
}

// List the times as texts, at least one. NULL with a reason.
static json_t *backfill_times (const struct backfill *self, struct reason *reason)
{
    json_t *times = json_array ();
    int64_t time = self->from;
    for (; cron_next (self->cron, self->wall, ZONE_GAP_SHIFT, ZONE_OVERLAP_FIRST, time, &time) &&
           time <= self->to && json_array_size (times) <= BACKFILL_MAX;
         time++) {
        char text[RFC3339_SIZE];
        rfc3339_format (time, text);
        // A date, or a date and a time of day.
        json_array_append_new (times, json_stringn (text, civil_time_of_day (time) ? 19 : 10));
    }
    size_t count = json_array_size (times);
    if (count && count <= BACKFILL_MAX)
        return times;
    if (count)
        reason_set (reason, "--to: want at most %d times, there are more", BACKFILL_MAX);
    else
        reason_set (reason, "--cron: no time of it is between --from and --to");
    json_decref (times);
    return NULL;
}

// Map each batch to its newest run of the flow, excluding sub-flow runs. Runs are read because a
// plan is removed after success, and its run is not. NULL: the error was printed.
static json_t *request_runs_by_batch (const struct flow_submission *self, int *ret_code)
{
    enum { PAGE_MAX = 1000 };
    json_t *found = json_object (), *run;
    struct flow_items runs =
        flow_items (self->cli, self->client, "runs",
                    json_pack ("{s:s, s:i}", "flow", self->flow, "limit", PAGE_MAX));
    while ((run = flow_items_next (&runs))) {
        const char *batch = json_string_value (json_object_get (run, "batch"));
        if (batch && !json_object_get (run, "parent") && !json_object_get (found, batch))
            json_object_set (found, batch, run);
    }
    *ret_code = flow_items_end (&runs);
    if (*ret_code == EXIT_DONE)
        return found;
    json_decref (found);
    return NULL;
}

static void print_existing_run (const struct flow_submission *self, const json_t *run)
{
    bool ended = flow_run_has_ended (run),
         finished = span_is (field_text (run, "state"), "finished");
    if (self->cli->json) {
        print_json_new (json_pack (
            "{s:O*, s:s, s:s, s:s, s:O, s:O*}", "id", json_object_get (run, "plan"), "flow",
            self->flow, "batch", self->time, "result", ended ? "ran" : "exists", "run",
            json_object_get (run, "run"), "state", json_object_get (run, "state")));
        return;
    }
    printf ("%s: %s", self->time, ended ? "ran already" : "exists");
    print_between (" (run ", field_text (run, "run"), ", ");
    print_between ("", field_text (run, "state"),
                   ended && !finished ? "): zplan flow retry " : ")\n");
    if (ended && !finished)
        print_between ("", field_text (run, "run"), "\n");
}

static int start_backfill (const struct cli *cli, const char *flow,
                           const struct flow_options *options, const json_t *times)
{
    size_t i;
    const json_t *time;
    struct flow_submission submission = {.cli = cli, .options = options, .flow = flow};
    int code = submission_open (&submission);
    json_t *runs =
        code == EXIT_DONE && !options->again ? request_runs_by_batch (&submission, &code) : NULL;
    json_array_foreach (times, i, time)
    {
        const char *text = json_string_value (time);
        struct flow_options run_options = *options;
        char key[FLOW_NAME_MAX + BATCH_SIZE + 2], title[FLOW_NAME_MAX + BATCH_SIZE + 2];
        char batch[BATCH_SIZE];
        if (code != EXIT_DONE)
            break;
        snprintf (key, sizeof key, "%.*s@%s", FLOW_NAME_MAX, flow, text);
        snprintf (title, sizeof title, "%.*s %s", FLOW_NAME_MAX, flow, text);
        snprintf (batch, sizeof batch, "%.20s%s", text, strchr (text, 'T') ? "" : "T00:00:00");
        const json_t *run = json_object_get (runs, batch); // NULL: none is known
        submission.time = run_options.batch = text;
        run_options.unique = key;
        run_options.title = options->title ? options->title : title;
        if (run)
            print_existing_run (&submission, run);
        else
            code = submission_send (&submission, &run_options);
    }
    json_decref (runs);
    submission_close (&submission);
    return code;
}

// With --dry-run: print the time of a run that would be started.
static void print_backfill_time (const struct cli *cli, const char *flow, const char *time)
{
    if (!cli->json) {
        puts (time);
        return;
    }
    print_answer_new (cli, JSON_ANSWER,
                      json_pack ("{s:s, s:o, s:s}", "would", "start", "flow",
                                 json_from_frame (span_text (flow)), "batch", time));
}

int flow_backfill (const struct cli *cli, const struct flow_options *options)
{
    const char *flow = options->words[0];
    struct reason reason;
    struct backfill backfill = {.wall = zone_new_utc ()};
    size_t i;
    const json_t *time;
    int code = EXIT_DONE;
    bool good = backfill_read (&backfill, options, &reason);
    json_t *times = good ? backfill_times (&backfill, &reason) : NULL;
    if (!times)
        code = usage_error (cli->argv[0], &reason);
    else if (!options->dry_run)
        code = start_backfill (cli, flow, options, times);
    else
        json_array_foreach (times, i, time)
            print_backfill_time (cli, flow, json_string_value (time));
    json_decref (times);
    cron_destroy (&backfill.cron);
    zone_destroy (&backfill.wall);
    return code;
}
