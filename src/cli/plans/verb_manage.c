// zplan pause, resume, reset, skip, close, remove, run, cancel, done: each sends one admin command
// for plans given by id or name, or for all plans that a filter selects.
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk.h"
#include "decimal.h"
#include "flow_stored.h"
#include "json.h"
#include "action_frame.h"
#include "plan.h"
#include "print.h"

// -- the options

struct manage_options {
    const struct manage_verb *verb;
    struct bulk bulk;
    int64_t count;
    const char *reason, *remark, *batch;
    struct option_texts params;
};

static const struct option count_row =
    NUMBER_OPTION (struct manage_options, count, "--count", "N", 1, INT32_MAX,
                   "skip the next N occurrences; default 1");
static const struct option reason_row = TEXT_OPTION (struct manage_options, reason, "--reason",
                                                     "TEXT", "why: for the target and the history");
static const struct option remark_row = TEXT_OPTION (
    struct manage_options, remark, "--remark", "TEXT", "what was done about it: shown by `show`");
static const struct option run_rows[] = {
    TEXT_OPTION (struct manage_options, batch, "--batch", "DATE",
                 "of a flow plan: business date of this run, as 2026-01-31 or\n"
                 "2026-01-31T02:00",
                 .utf8 = true),
    TEXTS_OPTION (struct manage_options, params, "--param", "NAME=VALUE",
                  "of a flow plan: a param of this run, over that of the plan, as\n"
                  "of zplan flow start",
                  .utf8 = true),
};

// -- the argument after the id

// Make the batch and params of a manual run of a flow plan (proto/flows.md, 18.11), which the
// caller frees; NULL: none.
static char *run_argument (const struct plan_command *command, const char *id)
{
    const struct manage_options *options = command->owner;
    struct verdict ignored;
    struct reason reason;
    json_t *with = json_pack ("{s:s*}", "batch", options->batch);
    if (options->params.count) {
        json_t *plan = call_command_quietly (command->cli, command->client,
                                             (const char *[]){"message", id, NULL}, &ignored);
        const char *flow = json_string_value (json_object_get (plan, "station"));
        json_t *declared = flow ? flow_stored_params (command->client, flow) : NULL;
        json_object_set_new (with, "params",
                             action_read_params (&options->params, declared, &reason));
        json_decref (declared);
        json_decref (plan);
    }
    char *text = json_object_size (with) ? json_write (with) : NULL;
    json_decref (with);
    return text;
}

// -- the verbs

enum {
    IN_QUEUE = (1 << PLAN_PAUSE) - 1, // all states before PLAN_PAUSE
    PAUSED = 1 << PLAN_PAUSE,
    CLOSED = 1 << PLAN_CLOSE
};

#define FILTER_HELP                                                                                \
    "Plans are given by id or name, or selected by the filters of list; --dry-run shows which.\n"  \
    "A plan that is already as wanted stays so, and that is a success.\n"

static void report_cancelled (const json_t *answer, json_t *object)
{
    const json_t *notified = json_object_get (answer, "told");
    if (object) {
        json_object_set (object, "exec_id", json_object_get (answer, "exec_id"));
        json_object_set (object, "told", (json_t *)(uintptr_t)notified);
        return;
    }
    fputs (json_is_true (notified) ? ", its target was notified"
           : field_is_true (answer, "pull")
               ? "; a worker that has it stops at its next heartbeat"
               : "; its target could not be notified, and may continue",
           stdout);
}

static const struct manage_verb {
    const char *name;    // the verb, and the command on the wire unless `command` is set
    const char *command; // the command on the wire; NULL: it is `name`
    const char *done;    // the verb's past participle
    const char *synopsis, *about;
    const struct option *row; // the verb's own options
    size_t row_count;
    const char *state; // a filter without a state selects only plans in this one
    bool dead;         // a filter without a verdict selects plans as --dead does
    void (*add_report) (const json_t *answer, json_t *object); // as in struct plan_command
    unsigned wanted;
    bool gone_is_wanted;
} manage_verbs[] = {
    {.name = "pause",
     .done = "paused",
     .wanted = PAUSED,
     .synopsis = "zplan pause ID... | --target NAME ... | --all  [--dry-run]",
     .about = "Take plans out of the queue, until resumed. A run in progress continues "
              "and counts.\n" FILTER_HELP "\n"
              "  zplan pause 1f 20\n"
              "  zplan pause --target jobs --title 'report*' --state queued --dry-run\n"
              "  zplan pause --all\n"},
    {.name = "resume",
     .command = "reset",
     .done = "resumed",
     .wanted = IN_QUEUE,
     .synopsis = "zplan resume ID... | --target NAME ... | --all  [--dry-run]",
     .about = "Queue paused plans again. One that is overdue by then runs once, immediately.\n"
              "`zplan reset` is the same command, for plans that failed.\n" FILTER_HELP "\n"
              "  zplan resume 1f\n"
              "  zplan resume nightly-report\n"
              "  zplan resume --state paused --target jobs\n"},
    {.name = "reset",
     .done = "reset",
     .wanted = IN_QUEUE,
     .synopsis = "zplan reset ID... | --state failed ... | --all  [--dry-run]",
     .about = "Queue paused plans again, and those that have failed permanently.\n"
              "One that is overdue by then runs once, immediately.\n" FILTER_HELP "\n"
              "  zplan reset 1f\n"
              "  zplan reset --held                       # what `import --hold` keeps paused\n"
              "  zplan reset --state failed --target jobs\n"
              "  zplan reset --dead --dry-run             # failed permanently: retry those\n"},
    {.name = "skip",
     .done = "skipped",
     .synopsis = "zplan skip ID... | --target NAME ... | --all  [--count N] [--dry-run]",
     .about = "Skip the next occurrence of plans, or the next N; they use up repeats. A run in\n"
              "progress is not one of them.\n" FILTER_HELP "\n"
              "  zplan skip 1f\n"
              "  zplan skip 1f --count 3\n",
     .row = &count_row,
     .row_count = 1},
    {.name = "close",
     .done = "closed",
     .wanted = CLOSED,
     .synopsis = "zplan close ID... | --target NAME ... | --all  [--dry-run]",
     .about =
         "Close plans: they run no more, but are kept until they are removed.\n" FILTER_HELP "\n"
         "  zplan close 1f\n"
         "  zplan close --target jobs --type second --dry-run\n"},
    {.name = "remove",
     .done = "removed",
     .gone_is_wanted = true,
     .synopsis = "zplan remove ID... | --state closed ... | --all  [--dry-run]",
     .about = "Remove plans, in any state. A run in progress is not stopped.\n" FILTER_HELP "\n"
              "  zplan remove 1f 20 21\n"
              "  zplan remove --state closed\n"
              "  zplan remove --dead --target jobs\n"},
    {.name = "run",
     .done = "started",
     .synopsis = "zplan run ID... | --target NAME ... | --all  [--batch DATE] "
                 "[--param NAME=VALUE]... [--dry-run]",
     .about = "Run plans now, once, outside their schedule: no repeat is used up, and the next\n"
              "time stays as it is. Rejected while a run is in progress.\n" FILTER_HELP "\n"
              "  zplan run 1f\n"
              "  zplan run --target jobs --title 'report*'\n"
              "  zplan run nightly-etl --batch 2026-01-31 --param region=eu  # of a flow\n",
     .row = run_rows,
     .row_count = 2},
    {.name = "cancel",
     .done = "cancelled",
     .synopsis = "zplan cancel ID... | --target NAME ... | --all  [--reason TEXT] [--dry-run]",
     .about = "End the run in progress of plans: it has failed, and is not retried; the plan\n"
              "continues with its next time. The target is notified, and may stop its work; the\n"
              "output says whether it was. A filter selects running plans.\n\n"
              "  zplan cancel 1f\n"
              "  zplan cancel 1f 20 --reason 'took too long'\n"
              "  zplan cancel --target jobs --title 'import*' --reason 'disk is full'\n",
     .row = &reason_row,
     .row_count = 1,
     .state = "execute",
     .add_report = report_cancelled},
    {.name = "done",
     .done = "done",
     .synopsis = "zplan done ID... | --target NAME ... | --all  [--remark TEXT] [--dry-run]",
     .about = "Resolve a permanent failure (verdict failure or pending) that was handled\n"
              "manually: the plan continues with its next time, or is closed when that was its\n"
              "last. A filter selects such plans; `zplan reset` retries them instead.\n\n"
              "  zplan list --dead\n"
              "  zplan done 1f --remark 'sent by hand'\n"
              "  zplan done --target billing --verdict pending --dry-run\n",
     .row = &remark_row,
     .row_count = 1,
     .dead = true},
};

enum { MANAGE_VERBS = sizeof manage_verbs / sizeof *manage_verbs };

static const struct manage_verb *manage_verb_named (const char *name)
{
    size_t i = 0;
    while (i < MANAGE_VERBS && strcmp (manage_verbs[i].name, name) != 0)
        i++;
    // cli/args/verb_table.c gives these verbs to verb_manage and no others.
    assert (i < MANAGE_VERBS);
    return &manage_verbs[i];
}

// -- execution

static int manage_plan (struct plan_command *command, const char *id)
{
    const struct manage_options *options = command->owner;
    const char *argument =
        options->reason ? options->reason : options->remark; // a verb has at most one
    char number[DECIMAL_SIZE], *run = NULL;
    if (options->verb->row == &count_row) {
        decimal_text (options->count, number);
        argument = number;
    } else if (options->verb->row == run_rows) {
        argument = run = run_argument (command, id);
    }
    int code = plan_command_send (command, id, argument);
    free (run);
    return code;
}

// Print a hint after a failure: a name among several plans may be meant as the text of an option.
static void hint_text (const struct manage_options *options)
{
    bool named = false;
    for (size_t i = 1; i < options->bulk.count; i++)
        named = named || options->bulk.plans[i].id == 0;
    const struct option *row = options->verb->row;
    if (named && (row == &reason_row || row == &remark_row) && !options->reason && !options->remark)
        fprintf (stderr, "zplan: a text follows %s\n", row->name);
}

static int manage_plans (const struct cli *cli, struct manage_options *options)
{
    const struct manage_verb *verb = options->verb;
    struct plan_command command = {.cli = cli,
                                   .bulk = &options->bulk,
                                   .name = verb->command ? verb->command : verb->name,
                                   .done = verb->done,
                                   .wanted = verb->wanted,
                                   .gone_is_wanted = verb->gone_is_wanted,
                                   .apply = manage_plan,
                                   .owner = options,
                                   .add_report = verb->add_report};
    int code = bulk_apply (&command);
    if (code == EXIT_REFUSED && command.refused)
        hint_text (options);
    return code;
}

int verb_manage (const struct cli *cli)
{
    const struct manage_verb *verb = manage_verb_named (cli->verb);
    struct manage_options options = {.verb = verb, .count = 1};
    const struct option_group which = select_options (&options.bulk.selection);
    const struct usage usage = {
        .synopsis = verb->synopsis,
        .about = verb->about,
        .groups = {which,
                   bulk_options (&options.bulk),
                   {"Besides", verb->row, verb->row_count, &options}},
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    json_t *params = action_read_params (&options.params, NULL, &reason); // checks only the syntax
    if (!params || bulk_read (&options.bulk, &which, cli, count, &reason)) {
        code = usage_error (cli->argv[0], &reason);
    } else {
        struct selection *selection = &options.bulk.selection;
        if (count == 0 && !selection->state)
            selection->state = verb->state;
        if (count == 0 && verb->dead)
            selection->dead = !selection->verdict;
        code = manage_plans (cli, &options);
    }
    free (options.bulk.plans);
    json_decref (params);
    return code;
}
