// zplan export: plans with all that the station keeps of them, a line each.
#include <stdio.h>

#include "everything.h"
#include "ident.h"
#include "json.h"
#include "pipeline.h"
#include "print.h"
#include "progress.h"
#include "select.h"

static const char about[] =
    "Write plans to standard output, one JSON object per line (NDJSON), in the order of\n"
    "their ids: what `zplan show --json=wire` prints, with messages, counters and state.\n"
    "What is changed meanwhile is written as it is found. `zplan import` reads it, and so\n"
    "does `zplan add --from`.\n\n"
    "With --everything it is all that the station keeps, to move it or to back it up:\n"
    "targets, flows with all versions, kinds, limits, the history, and plans with their\n"
    "state and counts. Runs of flows in progress are not in it: with the import new ones\n"
    "begin. The station may run meanwhile: each plan is as it was at one moment, and the history\n"
    "has every run that the plans have counted. For a copy of one moment pause all\n"
    "plans first. The last line says how many of each there are: a file without it\n"
    "is truncated. Keys are not in it; arguments of plans are.\n\n"
    "  zplan export --everything >everything.ndjson\n"
    "  zplan export >plans.ndjson\n"
    "  zplan export --target jobs --state pause | wc -l\n";

enum { BATCH = 32 }; // plans asked for at once; each may be large

struct exporting {
    const struct cli *cli;
    struct pipeline *pipeline;
    uint64_t ids[BATCH];
    json_t *plans[BATCH]; // NULL: it is not there any more
    size_t count;
    size_t written;
    int64_t callbacks, masked;
    struct verdict trouble;
    struct progress progress;
};

// The item is where the plan's place is kept.
static void on_answer (void *owner, void *item, int outcome, const struct zplan_reply *reply)
{
    struct exporting *self = owner;
    struct reason reason;
    json_t **plan = item;
    struct verdict verdict = call_verdict (self->cli, outcome, reply);
    if (outcome == ZPLAN_OK && reply->status == ZERO_STATUS_NOT_FIND_ID)
        return;
    if (verdict.code == EXIT_DONE) {
        *plan = json_read_object (call_frame (reply, ZERO_FRAME_JSON), &reason);
        if (!*plan)
            verdict = verdict_refused (reason.text);
    }
    if (verdict.code != EXIT_DONE)
        self->trouble = verdict;
}

// Request the batch, and write it. False: the station is unresponsive.
static bool write_batch (struct exporting *self)
{
    bool going = true;
    for (size_t i = 0; i < self->count && going; i++) {
        char id[IDENT_SIZE];
        const char *args[] = {ident_text (self->ids[i], id)};
        going = pipeline_manage (self->pipeline, "message", args, 1, &self->plans[i]);
    }
    going = going && pipeline_drain (self->pipeline);
    for (size_t i = 0; i < self->count; i++) {
        if (self->plans[i]) {
            self->masked += everything_is_masked (self->plans[i]);
            print_plan (NULL, self->plans[i]); // as import reads it
            self->written++;
        }
        json_decref (self->plans[i]);
        self->plans[i] = NULL;
    }
    self->count = 0;
    progress_step (&self->progress, self->written, 0);
    return going;
}

static bool take_plan (void *owner, const json_t *plan)
{
    struct exporting *self = owner;
    int64_t id;
    if (!json_get_integer (plan, "plan_id", 1, INT64_MAX, &id))
        return true;
    if (everything_leaves_out (plan)) {
        self->callbacks++;
        return true;
    }
    self->ids[self->count++] = (uint64_t)id;
    return self->count < BATCH || write_batch (self);
}

static int export(const struct cli *cli, const struct selection *selection)
{
    int code;
    struct exporting self = {.cli = cli, .trouble = {.code = EXIT_DONE}};
    struct zplan_client *client = call_open (cli, &code);
    self.pipeline = client ? pipeline_open (cli, on_answer, &self, &code) : NULL;
    if (self.pipeline) {
        progress_start (&self.progress, "export", PROGRESS_LINES);
        struct verdict verdict =
            select_walk (cli, client, selection,
                         &(struct selected){.take = take_plan, .owner = &self, .room = INT64_MAX});
        if (self.trouble.code != EXIT_NO_ANSWER)
            write_batch (&self);
        progress_clear (&self.progress);
        int left = everything_report_left (self.callbacks, self.masked);
        code = verdict_print (self.trouble.code != EXIT_DONE ? &self.trouble : &verdict, NULL);
        code = code ? code : left;
    }
    pipeline_destroy (&self.pipeline);
    zplan_client_destroy (&client);
    return code;
}

int verb_export (const struct cli *cli)
{
    struct selection selection = {0};
    bool everything = false;
    const struct option row = {.name = "--everything",
                               .type = OPTION_FLAG,
                               .help = "targets, flows, kinds, limits, history and all plans"};
    const struct usage usage = {
        .synopsis = "zplan export [--everything] [--target NAME] [--state STATE] [--type TYPE] "
                    "[--title PATTERN]",
        .about = about,
        .groups = {{"What", &row, 1, &everything}, select_options (&selection)},
    };
    int count, code;
    struct reason reason;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    if (select_check (&selection, &usage.groups[1], &reason))
        return usage_error (cli->argv[0], &reason);
    if (everything && options_given (&usage.groups[1])) {
        reason_set (&reason, "--everything and %s: want one or the other",
                    options_given (&usage.groups[1]));
        return usage_error (cli->argv[0], &reason);
    }
    return everything ? everything_export (cli) : export(cli, &selection);
}
