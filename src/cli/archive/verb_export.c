// zplan export: writes plans with all that the station keeps of each, one per line.

#include "everything.h"
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

static int export_plans (const struct cli *cli, const struct selection *selection)
{
    int code;
    struct plan_export self = {0};
    struct zplan_client *client = call_open (cli, &code);
    if (client && plan_export_begin (&self, cli, NULL, &code)) {
        struct verdict verdict = select_walk (
            cli, client, selection,
            &(struct plan_visitor){.take = plan_export_add, .owner = &self, .room = INT64_MAX});
        if (self.trouble.code != EXIT_NO_ANSWER)
            plan_export_flush (&self);
        progress_clear (&self.progress);
        int left = plan_export_report (&self);
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
    if (everything && options_given (&usage.groups[1], 1)) {
        reason_set (&reason, "--everything and %s: want one or the other",
                    options_given (&usage.groups[1], 1));
        return usage_error (cli->argv[0], &reason);
    }
    return everything ? everything_export (cli) : export_plans (cli, &selection);
}
