// zplan show: one plan, for people.
#include <stdio.h>

#include "call.h"
#include "codes.h"
#include "json.h"
#include "options.h"
#include "outcomes.h"
#include "plan.h"
#include "plan_ref.h"
#include "plan_words.h"
#include "policy.h"
#include "print.h"
#include "run_words.h"
#include "show_plan.h"
#include "terms_show.h"

static const char about[] =
    "Show a plan as it is now: what it calls, when it runs next, how its last run ended, its last\n"
    "failures, and its policies, as the options of `zplan add`. --json has all of its fields and\n"
    "frames, --json=wire as the station sends them.\n\n"
    "  zplan show nightly\n"
    "  zplan show 1f\n"
    "  zplan show 1f --json | jq .next_at\n";

static json_int_t state_of (const json_t *plan)
{
    return json_integer_value (json_object_get (plan, "plan_state"));
}

// -- progress

// Of a plan whose workers fetched it each of them has its own.
static void print_progress (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    size_t i;
    char id[WORD_SIZE];
    struct verdict ignored;
    const json_t *worker, *said = json_object_get (plan, "progress");
    show_text ("progress", said);
    if (said || state_of (plan) != PLAN_EXECUTE)
        return;
    const char *const say[] = {"team", id_word (json_object_get (plan, "plan_id"), id), NULL};
    json_t *team = call_quietly (cli, client, say, &ignored);
    json_array_foreach (json_object_get (team, "workers"), i, worker)
    {
        const json_t *progress = json_object_get (worker, "progress");
        if (!progress || !span_is (text_of (json_object_get (worker, "state")), "running"))
            continue;
        terms_label ("progress");
        print_frame (progress);
        print_between (", ", text_of (json_object_get (worker, "worker")), "\n");
    }
    json_decref (team);
}

// -- when it runs next

// Of a plan that runs, or tries again, the occurrence behind that one. NULL: none, or not known.
static json_t *next_occurrence (const struct cli *cli, struct zplan_client *client,
                                const json_t *plan)
{
    size_t i;
    char id[WORD_SIZE];
    struct verdict ignored;
    json_t *next = NULL, *time;
    // A manual run is none of them.
    bool manual = json_integer_value (json_object_get (plan, "extra")) > 0;
    json_int_t from = json_integer_value (json_object_get (plan, "plan_time")) + !manual;
    const char *const say[] = {"next", id_word (json_object_get (plan, "plan_id"), id), "2", NULL};
    json_t *answer = call_quietly (cli, client, say, &ignored);
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
        next = next_occurrence (cli, client, plan);
    else if (plan_waits (plan))
        next = json_incref (json_object_get (plan, "plan_time"));
    show_moment ("next", next);
    json_decref (next);
}

// -- when it is tried again

// The pace of the plan's retries, from the end of its last run; -1: it waits for no retry.
static int64_t retry_delay (const json_t *plan)
{
    struct policy *policy;
    struct reason ignored;
    int64_t failures = json_integer_value (json_object_get (plan, "error_count"));
    const json_t *run = json_object_get (plan, "exec_id");
    if (state_of (plan) != PLAN_RETRY || failures < 1 ||
        !policy_read_from (plan, &policy, &ignored))
        return -1;
    const struct retry_policy paced = {.strategy = RETRY_PACED};
    int64_t delay_ms = retry_delay_ms (policy ? &policy->retry : &paced, failures,
                                       (uint64_t)json_integer_value (run));
    policy_destroy (&policy);
    return delay_ms;
}

// The history has the end of the run. Without an entry nothing is printed.
static void print_retry (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    int64_t delay_ms = retry_delay (plan);
    if (delay_ms < 0)
        return;
    struct verdict ignored;
    char out[WORD_SIZE];
    json_t *filter =
        json_pack ("{s:s, s:b, s:i}", "plan", id_word (json_object_get (plan, "plan_id"), out),
                   "newest", 1, "limit", 1);
    json_t *answer = call_filtered (cli, client, "history", filter, &ignored);
    const json_t *run = json_array_get (json_object_get (answer, "runs"), 0);
    const json_t *ended = json_object_get (run, "ended");
    if (ended && json_equal (json_object_get (run, "exec_id"), json_object_get (plan, "exec_id"))) {
        json_t *at = json_real (json_number_value (ended) + (double)delay_ms / 1000);
        terms_label ("next try");
        printf ("%s\n", moment_word (at, out));
        json_decref (at);
    }
    json_decref (answer);
}

// The last failures, also after a run that ended well.
static void print_failures (const json_t *plan)
{
    size_t i;
    const json_t *run;
    json_array_foreach (json_object_get (plan, "failures"), i, run)
    {
        char out[WORD_SIZE];
        terms_label (i == 0 ? "failures" : "");
        printf ("%s  ", moment_word (json_object_get (run, "ended"), out));
        printf ("%s  ", outcome_text (json_object_get (run, "status"), out));
        write_run_reason (stdout, run);
        putchar ('\n');
    }
}

static void print_all (const struct cli *cli, struct zplan_client *client, const json_t *plan)
{
    show_what (plan);
    print_next (cli, client, plan);
    print_retry (cli, client, plan);
    show_state (plan);
    print_progress (cli, client, plan);
    show_how (plan);
    print_failures (plan);
}

static int show (const struct cli *cli, struct zplan_client *client, const char *id)
{
    int code;
    json_t *plan = call_command (cli, client, (const char *[]){"message", id, NULL}, id, &code);
    if (plan && cli->json)
        print_plan (cli, plan);
    else if (plan)
        print_all (cli, client, plan);
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
    return call_each_plan (cli, &usage, show);
}
