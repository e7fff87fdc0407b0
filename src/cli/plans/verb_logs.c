// zplan logs: the output of a plan's runs.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "codes.h"
#include "status_names.h"
#include "options.h"
#include "pages.h"
#include "plan.h"
#include "plan_ref.h"
#include "print.h"
#include "cells.h"
#include "settings.h"

enum { RUNS_MAX = 50 }; // runs on a page with outputs

struct logs {
    const char *run;
    int64_t count;
    bool follow;
};

static const struct option rows[] = {
    TEXT_OPTION (struct logs, run, "--run", "N", "this run: its RUN in `zplan history`"),
    NUMBER_OPTION (struct logs, count, "-n", "COUNT", 1, RUNS_MAX,
                   "the last COUNT runs, the oldest first; default 1"),
    FLAG_OPTION (struct logs, follow, "--follow",
                 "continue with the next runs as they end, until the plan has ended",
                 .aliases = "-f"),
};

static const char about[] =
    "Print what the last run of a plan wrote: its standard output, or its standard error if it\n"
    "failed. The station keeps the first and the last KiB of each run (--output-bytes of zpland),\n"
    "also of plans that have ended, for 7 days (--output-age). A line before each names the\n"
    "run, when and how it ended, and how long it took; with --json a run is one object.\n\n"
    "  zplan logs nightly\n"
    "  zplan logs nightly --run 4711\n"
    "  zplan logs 1f -n 5\n"
    "  zplan logs nightly --follow\n";

// -- requests

// Request the runs that the filter selects; takes ownership of it. NULL: reported, and `ret_code`
// is the exit code.
static json_t *request_runs (const struct cli *cli, struct zplan_client *client, json_t *filter,
                             int *ret_code)
{
    struct verdict verdict;
    json_t *answer = call_with_filter (cli, client, "history", filter, &verdict);
    *ret_code = verdict_print (&verdict, NULL);
    return answer;
}

// The filter for one run, by its number, or by SEQ-K if it was not published. NULL: the text is
// neither.
static json_t *single_run_filter (const char *plan, const char *run)
{
    int64_t seq;
    char after[48];
    uint64_t entry_seq = 0, sub = 0;
    if (number_parse (run, &seq) && seq > 0)
        return json_pack ("{ss sb sI}", "plan", plan, "output", 1, "since", (json_int_t)seq - 1);
    if (sscanf (run, "%" SCNu64 "-%" SCNu64, &entry_seq, &sub) != 2 || sub == 0)
        return NULL;
    snprintf (after, sizeof after, "%" PRIu64 "-%" PRIu64, entry_seq, sub - 1);
    return json_pack ("{ss sb ss}", "plan", plan, "output", 1, "after", after);
}

static bool has_number (const json_t *run, const char *wanted)
{
    const json_t *seq = json_object_get (run, "seq");
    return span_is (field_text (run, "entry"), wanted) ||
           (json_integer_value (seq) && strcmp (number_cell_text (seq), wanted) == 0);
}

// -- printing

static void print_run (const struct cli *cli, const json_t *run)
{
    if (cli->json)
        print_answer (cli, JSON_RUN, run);
    else
        print_run_output (run, NULL);
}

// Print the runs, the oldest first. Returns their number; `last` is replaced by the entry of the
// last one.
static size_t print_runs (const struct cli *cli, const json_t *runs, json_t **last)
{
    size_t printed = 0, i;
    json_t *run;
    json_array_foreach (runs, i, run)
    {
        json_decref (*last);
        *last = json_incref (json_object_get (run, "entry"));
        if (field_number (run, "status") == ZERO_STATUS_MISSED_ID)
            continue; // it did not take place
        print_run (cli, run);
        printed++;
    }
    fflush (stdout);
    return printed;
}

// -- the verb

// Find why the history has no run of the plan; `ret_gone` is set if the plan no longer exists.
static const char *find_no_run_reason (const struct cli *cli, struct zplan_client *client,
                                       const char *plan, bool *ret_gone)
{
    struct verdict verdict;
    json_t *message =
        call_command_quietly (cli, client, (const char *[]){"message", plan, NULL}, &verdict);
    *ret_gone = verdict.status == ZERO_STATUS_NOT_FIND_ID;
    if (*ret_gone)
        return "no such plan, and no run of it in the history";
    bool ran = field_number (message, "real_repet") > 0 || json_last_status (message);
    json_decref (message);
    return ran ? "its runs are no longer in the history" : "no run of it has ended yet";
}

// Whether the plan will have no more runs: it no longer exists, or is closed without a run in
// progress.
static bool has_plan_ended (const struct cli *cli, struct zplan_client *client, const char *plan)
{
    struct verdict verdict;
    json_t *why = call_command_quietly (cli, client, (const char *[]){"why", plan, NULL}, &verdict);
    bool closed = field_number (why, "plan_state") == PLAN_CLOSE && !field_is_true (why, "running");
    json_decref (why);
    return closed || verdict.status == ZERO_STATUS_NOT_FIND_ID;
}

static int follow_plan (const struct cli *cli, struct zplan_client *client, const char *plan,
                        json_t *last)
{
    enum { PAUSE_US = 300000 };
    int code = EXIT_DONE;
    for (bool ended = false;; ended = has_plan_ended (cli, client, plan)) {
        json_t *filter = json_pack ("{ss sb sO*}", "plan", plan, "output", 1, "after", last);
        json_t *answer = request_runs (cli, client, filter, &code);
        size_t runs = answer ? print_runs (cli, json_object_get (answer, "runs"), &last) : 0;
        json_t *next = json_object_get (answer, "next"); // skips the runs of other plans, too
        if (next) {
            json_decref (last);
            last = json_incref (next);
        }
        bool stop = !answer || (ended && runs == 0 && !next);
        json_decref (answer);
        if (stop)
            break;
        usleep (PAUSE_US);
    }
    json_decref (last);
    return code;
}

// Print one run. Takes ownership of `filter`, which single_run_filter made.
static int print_wanted_run (const struct cli *cli, struct zplan_client *client, const char *plan,
                             const char *wanted, json_t *filter)
{
    int code;
    json_t *answer = request_runs (cli, client, filter, &code), *found = NULL, *run;
    size_t i;
    json_array_foreach (json_object_get (answer, "runs"), i, run)
    {
        if (!found && has_number (run, wanted))
            found = run;
    }
    if (found)
        print_run (cli, found);
    else if (answer) {
        fprintf (stderr, "zplan: %s: no run %s of it is in the history\n", plan_ref_shown (plan),
                 wanted);
        code = EXIT_REFUSED;
    }
    json_decref (answer);
    return code;
}

static int print_last_runs (const struct cli *cli, struct zplan_client *client,
                            const struct logs *logs, char *plan)
{
    int code;
    json_t *last = NULL, *found = output_runs (cli, client, logs->count, plan, &code);
    if (!found)
        return code;
    size_t runs = print_runs (cli, found, &last);
    json_decref (found);
    if (logs->follow)
        return follow_plan (cli, client, plan, last);
    json_decref (last);
    if (runs)
        return EXIT_DONE;
    bool gone;
    const char *why = find_no_run_reason (cli, client, plan, &gone);
    fprintf (stderr, "zplan: %s: %s\n", plan_ref_shown (plan), why);
    return gone ? EXIT_REFUSED : EXIT_DONE;
}

int verb_logs (const struct cli *cli)
{
    struct logs logs = {.count = 1};
    const struct usage usage = {
        .synopsis = "zplan logs ID [--run N | -n COUNT] [--follow]",
        .about = about,
        .groups = {OPTION_GROUP ("Options", rows, &logs)},
        .words_min = 1,
        .words_max = 1,
        .words = "one plan id or name",
    };
    int count, code;
    struct reason reason;
    char plan[PLAN_REF_SIZE];
    if (!options_read (&usage, cli, &count, &code))
        return code;
    if (plan_ref_read (cli->argv[1], plan, &reason))
        return usage_error (cli->argv[0], &reason);
    json_t *filter = logs.run ? single_run_filter (plan, logs.run) : NULL;
    if (logs.run && (!filter || logs.follow)) {
        if (filter)
            reason_set (&reason, "--run and --follow: want one or the other");
        else
            reason_set (&reason, "--run: want a run as `zplan history` shows it, got %s",
                        quoted (span_text (logs.run)));
        json_decref (filter);
        return usage_error (cli->argv[0], &reason);
    }
    struct zplan_client *client = call_open (cli, &code);
    if (client && filter)
        code = print_wanted_run (cli, client, plan, logs.run, filter);
    else if (client)
        code = print_last_runs (cli, client, &logs, plan);
    else
        json_decref (filter);
    zplan_client_destroy (&client);
    return code;
}
