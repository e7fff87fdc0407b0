// zplan history: how runs ended, page by page.
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "archive_file.h"
#include "codes.h"
#include "instant.h"
#include "only.h"
#include "options.h"
#include "outcomes.h"
#include "pages.h"
#include "plan_ref.h"
#include "print.h"
#include "cells.h"
#include "settings.h"
#include "text_table.h"

struct history_options {
    const char *since_text;
    int64_t since; // number of an outcome; -1 = not given
    const char *until_text;
    int64_t since_s, until_s; // --since and --until as times, Unix seconds; 0 = not given
    bool failed;
    const char *epoch, *station, *archive, *flow_run;
    bool newest, output;
    int64_t count;
    struct option_texts states;
    struct outcome_states wanted; // as `states` says
};

static const struct option rows[] = {
    TEXT_OPTION (struct history_options, since_text, "--since", "WHEN",
                 "runs that ended in the last 12h, since today, yesterday or an\n"
                 "instant as 2026-12-24T18:00 (in UTC); or the number SEQ of an\n"
                 "outcome: those after it; reports if some are gone"),
    TEXT_OPTION (struct history_options, until_text, "--until", "WHEN",
                 "runs that ended before this, a duration or an instant as for\n"
                 "--since"),
    FLAG_OPTION (struct history_options, failed, "--failed",
                 "the same as --state failed --state lost"),
    TEXT_OPTION (struct history_options, epoch, "--epoch", "TEXT",
                 "epoch of SEQ; if the station's differs, print the whole history", .utf8 = true),
    TARGET_OPTION (struct history_options, station, "runs at this target"),
    TEXT_OPTION (struct history_options, flow_run, "--flow-run", "RUN",
                 "runs of the steps of this run of a flow, and of its flow plan", .utf8 = true),
    TEXTS_OPTION (struct history_options, states, "--state", "STATE", OUTCOME_HELP,
                  .values = OUTCOME_WORDS, .offered = VALUES_SOME),
    FLAG_OPTION (struct history_options, newest, "--newest", "the newest first"),
    FLAG_OPTION (struct history_options, output, "--output",
                 "instead of a table, or with --json: what each run wrote"),
    NUMBER_OPTION (struct history_options, count, "-n", "COUNT", 1, INT64_MAX,
                   "print at most this many; of each plan, where ids are given"),
    TEXT_OPTION (struct history_options, archive, "--archive", "PATH",
                 "of this folder or file that `zplan archive` wrote; needs no\n"
                 "station. With --epoch, --since counts in that epoch only",
                 .offered = VALUES_FILES),
};

static const char about[] =
    "Print how runs ended, the oldest first: a table, or with --json one JSON object per line\n"
    "(NDJSON). RUN is the number under which the station published it (SEQ), or N-K behind such\n"
    "a one: `zplan logs PLAN --run N` prints what it wrote. PLAN is the name of the plan, or else "
    "its title, or its id;\n"
    "PLANNED its time by the schedule. REASON of a failure has the last line that the run wrote.\n"
    "On a terminal long texts are cut, and columns omitted. Occurrences that did not run have a\n"
    "row of their own for each time that some were missed. A plan that neither exists nor has "
    "runs\n"
    "here is an error. Archives of earlier versions know ids only.\n\n"
    "  zplan history 1f\n"
    "  zplan history --since yesterday --failed\n"
    "  zplan history --newest -n 20\n"
    "  zplan history nightly --output -n 3 --newest\n"
    "  zplan history --state missed\n"
    "  zplan history --archive /var/backups/zplan nightly --state failed\n"
    "  zplan history --since 4711 --target jobs --json\n";

// -- the table

// Whether the occurrence was missed: then it has no start and no duration.
static bool is_missed (const json_t *run)
{
    return field_number (run, "status") == ZERO_STATUS_MISSED_ID;
}

static void write_started (FILE *out, const json_t *run)
{
    fputs (is_missed (run) ? "-" : time_cell_text (json_object_get (run, "fired")), out);
}

static void write_duration_cell (FILE *out, const json_t *run)
{
    const json_t *fired = json_object_get (run, "fired"), *ended = json_object_get (run, "ended");
    fputs (is_missed (run) ? "-" : duration_between_text (fired, ended), out);
}

static void write_reason_cell (FILE *out, const json_t *run)
{
    const json_t *first = json_object_get (run, "missed_first");
    const json_t *last = json_object_get (run, "missed_last");
    write_run_reason (out, run);
    if (first && json_equal (first, last))
        fprintf (out, ", %s", time_cell_text (first));
    else if (first)
        fprintf (out, ", %s to %s", time_cell_text (first), time_cell_text (last));
}

// The first column is omitted if all runs are of one plan.
static const struct column columns[] = {
    COLUMN ("PLAN", 16, .rule = COLUMN_SHORT, .least = 12, .write = write_plan_label),
    COLUMN ("RUN", 8, .is_number = true, .write = write_run_number),
    COLUMN ("TARGET", 12, .rule = COLUMN_SPARE, .may_omit = true, .field = "station"),
    COLUMN ("PLANNED", 20, .may_omit = true, .field = "nominal", .write = column_time),
    COLUMN ("STARTED", 20, .write = write_started),
    COLUMN ("TOOK", 11, .is_number = true, .may_omit = true, .write = write_duration_cell),
    COLUMN ("OUTCOME", 9, .field = "status", .text = outcome_text, .colour = status_colour),
    COLUMN ("REASON", 0, .rule = COLUMN_REST, .least = 24, .write = write_reason_cell),
};

struct history_printer {
    const struct cli *cli;
    const struct history_options *options;
    struct text_table *table; // NULL with --json and --output
    bool gone_reported;       // the note on missing outcomes was printed
    const char *plan;         // reading an archive: the plan's reference (plan_ref.h), NULL = any
    int64_t room;             // reading an archive: outcomes still wanted
    bool found;               // the plan has an outcome, printed or not
};

// Outcomes per page with --output: fewer, as an output may be large.
enum { OUTPUTS_PAGE = 50 };

// -- the pages

// Print a run. As JSON it begins with the plan's `id`, as in other verbs, and has the epoch of its
// seq, which the station returns once per page, and an archive in each outcome.
static void show_run (struct history_printer *self, const json_t *run, const json_t *epoch)
{
    if (!self->cli->json) {
        if (self->options->output)
            print_run_output (run, write_plan_label);
        else
            table_add_row (self->table, run);
        return;
    }
    json_t *object = json_pack ("{s:O*}", "id", json_object_get (run, "plan"));
    json_object_update_missing (object, (json_t *)(uintptr_t)run);
    if (epoch && !json_object_get (object, "epoch"))
        json_object_set (object, "epoch", (json_t *)(uintptr_t)epoch);
    print_answer_new (self->cli, JSON_RUN, object);
}

static void report_gone_outcomes (struct history_printer *self, const json_t *page)
{
    const char *epoch_given = self->options->epoch;
    const char *epoch = json_string_value (json_object_get (page, "epoch"));
    if (epoch_given && epoch && strcmp (epoch_given, epoch) != 0)
        complain (NULL,
                  span_text ("the station restarted its numbering of results: it has only these"));
    else if (field_number (page, "last") < self->options->since)
        fprintf (stderr, "zplan: there is no outcome %" PRId64 " yet: the last one is %s\n",
                 self->options->since, number_cell_text (json_object_get (page, "last")));
    else if (field_number (page, "first") <= self->options->since + 1 &&
             field_number (page, "first") > 0)
        fprintf (stderr, "zplan: some outcomes after %" PRId64 " were moved into an archive\n",
                 self->options->since);
    else
        fprintf (stderr, "zplan: outcomes after %" PRId64 " are gone: the first one kept is %s\n",
                 self->options->since, number_cell_text (json_object_get (page, "first")));
    self->gone_reported = true;
}

// Keep only the last line of the output, which is all that a table shows, to save memory.
static void keep_last_line (json_t *run)
{
    char line[OUTPUT_LINE_SIZE];
    const json_t *output = json_object_get (run, "output");
    if (output && *output_last_line (output, line))
        json_object_set_new (run, "output", json_pack ("{s:s}", "head", line));
    else
        json_object_del (run, "output");
}

static bool handle_page (struct pages *pages, const json_t *page)
{
    struct history_printer *self = pages->owner;
    if (field_is_true (page, "missed") && !self->gone_reported)
        report_gone_outcomes (self, page);
    size_t i;
    json_t *run;
    json_array_foreach (json_object_get (page, "runs"), i, run)
    {
        if (pages->room == 0)
            return false;
        self->found = true;
        if (!outcome_matches (&self->options->wanted, run))
            continue;
        if (!self->options->output)
            keep_last_line (run);
        show_run (self, run, json_object_get (page, "epoch"));
        pages->room--;
    }
    return true;
}

static bool note_any_run (struct pages *pages, const json_t *page)
{
    struct history_printer *self = pages->owner;
    self->found = self->found || json_array_size (json_object_get (page, "runs")) > 0;
    return !self->found;
}

// Check a plan of which no outcome was printed: it is an error unless the plan exists, or the
// history has outcomes of it that the filter excludes.
static struct verdict check_absent_plan (struct history_printer *printer,
                                         struct zplan_client *client, const char *plan)
{
    struct verdict verdict;
    json_decref (call_command_quietly (printer->cli, client,
                                       (const char *[]){"message", plan, NULL}, &verdict));
    bool absent = verdict.status == ZERO_STATUS_NOT_FIND_ID;
    if (absent)
        verdict = pages_read (printer->cli, client,
                              &(struct pages){.word = "history",
                                              .filter = json_pack ("{s:s}", "plan", plan),
                                              .room = 1,
                                              .take = note_any_run,
                                              .owner = printer});
    return absent && verdict.code == EXIT_DONE && !printer->found
               ? verdict_refused ("no such plan, and no run of it in the history")
               : verdict;
}

// Print the runs of a plan, a reference (plan_ref.h), or of all plans if it is NULL. An id that is
// not found is tried once as a name.
static int print_runs (struct history_printer *printer, struct zplan_client *client,
                       const char *plan)
{
    const struct history_options *options = printer->options;
    bool output = !printer->cli->json || options->output;
    struct pages pages = {
        .word = "history",
        .filter = json_pack ("{s:s*, s:s*, s:s*, s:s*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}", "plan",
                             plan, "epoch", options->epoch, "station", options->station, "flow_run",
                             options->flow_run, "output", output ? json_true () : NULL, "since",
                             options->since >= 0 ? json_integer (options->since) : NULL, "newest",
                             options->newest ? json_true () : NULL, "from",
                             options->since_s ? json_integer (options->since_s) : NULL, "to",
                             options->until_s ? json_integer (options->until_s) : NULL, "status",
                             options->wanted.given ? outcome_statuses (&options->wanted) : NULL),
        .room = options->count,
        .size = output ? OUTPUTS_PAGE : 0,
        .take = handle_page,
        .owner = printer};
    printer->found = false;
    struct verdict verdict = pages_read (printer->cli, client, &pages);
    if (!plan && options->station && verdict.code == EXIT_DONE && !printer->found)
        only_target_warn (printer->cli, client, options->station);
    if (plan && verdict.code == EXIT_DONE && !printer->found) {
        verdict = check_absent_plan (printer, client, plan);
        char name[PLAN_REF_SIZE];
        if (verdict.code == EXIT_REFUSED && plan_ref_as_name (printer->cli, plan, name))
            return print_runs (printer, client, name);
    }
    return verdict_print (&verdict, plan ? plan_ref_shown (plan) : NULL);
}

// -- the archive

// Whether the outcome is after --since; with --epoch, outcomes of other epochs are not.
static bool is_after_since (const struct history_options *options, const json_t *run,
                            const struct outcome_key *key)
{
    const char *epoch = json_string_value (json_object_get (run, "epoch"));
    const struct outcome_key since = {.seq = (uint64_t)options->since};
    return options->since < 0 ||
           (outcome_is_before (&since, key) &&
            (!options->epoch || (epoch && strcmp (epoch, options->epoch) == 0)));
}

static bool wants_archived_run (void *owner, const json_t *run)
{
    struct history_printer *self = owner;
    const struct history_options *options = self->options;
    struct outcome_key key;
    const char *plan = self->plan, *field = plan && plan_ref_is_name (plan) ? "key" : "plan";
    if (plan && !span_is (field_text (run, field), plan_ref_shown (plan)))
        return false;
    self->found = true;
    double ended = json_number_value (json_object_get (run, "ended"));
    return outcome_key_read (run, &key) && is_after_since (options, run, &key) &&
           ended >= (double)options->since_s &&
           (!options->until_s || ended < (double)options->until_s) &&
           outcome_matches (&self->options->wanted, run) &&
           (!options->station || span_is (field_text (run, "station"), options->station));
}

static bool print_archived_run (void *owner, const json_t *run)
{
    show_run (owner, run, NULL);
    return --((struct history_printer *)owner)->room > 0;
}

static int print_archived (struct history_printer *printer, const char *plan)
{
    struct reason reason;
    struct archive_reader reader = {.path = printer->options->archive,
                                    .newest = printer->options->newest,
                                    .quiet = printer->gone_reported,
                                    .wants = wants_archived_run,
                                    .take = print_archived_run,
                                    .owner = printer};
    char name[PLAN_REF_SIZE];
    printer->plan = plan;
    printer->room = printer->options->count;
    printer->found = !plan; // without a plan the archive may be empty
    int error = archive_read (&reader, &reason);
    if (error && !printer->gone_reported)
        complain (NULL, span_text (reason.text));
    printer->gone_reported = true;
    if (error || printer->found)
        return error || reader.broken ? EXIT_REFUSED : EXIT_DONE;
    if (plan_ref_as_name (printer->cli, plan, name))
        return print_archived (printer, name);
    return complain (plan_ref_shown (plan), span_text ("no run of it in the archive"));
}

// -- station and archive

// Print the runs of each given plan, or of all plans; `client` is NULL for an archive.
static int print_plans (struct history_printer *printer, struct zplan_client *client, int plans)
{
    const struct cli *cli = printer->cli;
    int code = EXIT_DONE;
    for (int i = plans ? 1 : 0; i <= plans && code != EXIT_NO_ANSWER; i++) {
        char id[PLAN_REF_SIZE];
        struct reason reason;
        const char *plan = i ? id : NULL;
        if (i)
            plan_ref_read (cli->argv[i], id, &reason); // valid: read_history_options read it
        int result = client ? print_runs (printer, client, plan) : print_archived (printer, plan);
        code = result == EXIT_DONE ? code : result;
    }
    return code;
}

static int print_history (const struct cli *cli, const struct history_options *options, int plans)
{
    int code;
    struct zplan_client *client = options->archive ? NULL : call_open (cli, &code);
    if (!client && !options->archive)
        return code;
    struct history_printer printer = {.cli = cli, .options = options};
    const size_t omitted = plans == 1;
    if (!cli->json && !options->output)
        printer.table =
            table_new (columns + omitted, sizeof columns / sizeof *columns - omitted, stdout);
    code = print_plans (&printer, client, plans);
    (code == EXIT_DONE ? table_end : table_end_if_rows) (&printer.table);
    zplan_client_destroy (&client);
    return code;
}

// Read --since, a number of an outcome or a time, and --until, a time.
static int read_times (struct history_options *options, struct reason *reason)
{
    int64_t now = display_get ()->now;
    const char *text = options->since_text;
    bool number = text && number_parse (text, &options->since) && options->since >= 0;
    if (text && !number && !instant_since (text, now, &options->since_s))
        return reason_set (reason,
                           "--since: want a duration as 12h, today, yesterday, an instant as "
                           "2026-12-24T18:00, or a number of an outcome, got %s",
                           quoted (span_text (text)));
    text = options->until_text;
    if (text && !instant_since (text, now, &options->until_s))
        return reason_set (reason,
                           "--until: want a duration as 12h, today, yesterday, or an instant as "
                           "2026-12-24T18:00, got %s",
                           quoted (span_text (text)));
    return 0;
}

static int read_history_options (const struct cli *cli, struct history_options *options, int plans,
                                 struct reason *reason)
{
    char id[PLAN_REF_SIZE];
    if (options->failed && options->states.count > 0)
        return reason_set (reason, "--failed and --state: want one or the other");
    if (options->failed)
        options->states = (struct option_texts){.texts = {"failed", "lost"}, .count = 2};
    if (read_times (options, reason))
        return -1;
    for (int i = 1; i <= plans; i++)
        if (plan_ref_read (cli->argv[i], id, reason))
            return -1;
    if (options->flow_run && options->archive)
        return reason_set (reason, "--flow-run: goes without --archive only");
    if (options->epoch && options->since < 0)
        return reason_set (reason, "--epoch: goes with --since only");
    return outcome_states_read (&options->states, &options->wanted, reason);
}

int verb_history (const struct cli *cli)
{
    struct history_options options = {.since = -1, .count = INT64_MAX};
    const struct usage usage = {
        .synopsis =
            "zplan history [ID...] [--since WHEN] [--until WHEN] [--failed] "
            "[--target NAME] [--state STATE] [--newest] [-n COUNT] [--output] [--archive PATH]",
        .about = about,
        .groups = {OPTION_GROUP ("Which runs", rows, &options)},
        .words_max = INT_MAX,
        .words = "plans, by id or name",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (read_history_options (cli, &options, count, &reason))
        return usage_error (cli->argv[0], &reason);
    return print_history (cli, &options, count);
}
