#include "flow_options.h"

#include <string.h>

static const struct option graph_rows[] = {
    {.name = "--ascii",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, ascii),
     .help = "a line for each step, the default"},
    {.name = "--dot",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, dot),
     .help = "a text for Graphviz"},
    {.name = "--mermaid",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, mermaid),
     .help = "a text for Mermaid"},
    {.name = "--svg",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, svg),
     .help = "a picture; `dot` of Graphviz makes it"},
};

static const struct option simulate_rows[] = {
    {.name = "--at",
     .metavar = "TIME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, at),
     .help = "when the run begins, as 2026-01-31T02:00; by default now"},
    {.name = "--timezone",
     .metavar = "ZONE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, timezone),
     .help = "of the times, as Europe/Berlin; by default UTC"},
    {.name = "--cron",
     .metavar = "EXPRESSION",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, cron),
     .help = "a flow plan with this schedule, from --at on"},
    {.name = "--runs",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct flow_wish, runs),
     .help = "simulate N occurrences of --cron; only their ends are printed",
     .min = 1,
     .max = 1000},
    {.name = "--each",
     .metavar = "DURATION",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, each),
     .help = "how long a call takes, and a signal is waited for; by default 1s"},
    {.name = "--last",
     .metavar = "STEP=DURATION",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, last),
     .help = "the same for one step"},
    {.name = "--fail",
     .metavar = "STEP[:N]",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, fail),
     .help = "its calls fail; with N their first N attempts only"},
    {.name = "--never",
     .metavar = "STEP",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, never),
     .help = "its calls never end, its signal never arrives"},
    {.name = "--value",
     .metavar = "STEP=FILE",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, value),
     .help = "the result of its calls, JSON or YAML; by default null"},
    {.name = "--outage",
     .metavar = "TARGET=HH:MM..HH:MM",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, outage),
     .help = "the target takes nothing at that time of each day"},
    {.name = "--limit",
     .metavar = "NAME=N",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, limit),
     .help = "at most N concurrent runs of a target, or of group:NAME"},
    {.name = "--rate",
     .metavar = "NAME=N",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, rate),
     .help = "at most N starts per second, as 0.5, of a target or group:NAME"},
    {.name = "--workers",
     .metavar = "TARGET=N|NAMES",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, workers),
     .help = "a pull target: N workers take its plans, one each, or these, as eu,us"},
    {.name = "--input",
     .metavar = "FILE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, input),
     .help = "the input of the run, JSON or YAML",
     .offered = VALUES_FILES},
};

static const struct option start_rows[] = {
    {.name = "--param",
     .metavar = "NAME=VALUE",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, params),
     .utf8 = true,
     .help = "a param: JSON, or else a text; a param of type string takes it as it is"},
    {.name = "--input",
     .metavar = "FILE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, input),
     .help = "the input of the run, an object as JSON or YAML; - is standard input",
     .offered = VALUES_FILES},
    {.name = "--batch",
     .metavar = "DATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, batch),
     .utf8 = true,
     .help = "business date of the run, for example 2026-01-31 or 2026-01-31T02:00"},
    {.name = "--unique",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, unique),
     .utf8 = true,
     .help = "a name of the plan: as long as there is a plan of it, nothing is started"},
    {.name = "--title",
     .metavar = "TEXT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, title),
     .utf8 = true,
     .help = "of the plan; by default the name of the flow"},
    {.name = "--wait",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, wait),
     .help = "print what its steps come to, until it has ended. Exit status: 0 it finished, "
             "1 it failed, was cancelled or timed out"},
};

static const struct option backfill_rows[] = {
    {.name = "--from",
     .metavar = "DATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, from),
     .help = "the first time, as 2026-01-01 or 2026-01-01T02:00"},
    {.name = "--to",
     .metavar = "DATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, to),
     .help = "the last time, itself included"},
    {.name = "--cron",
     .metavar = "EXPR",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, cron),
     .help = "the times between; by default 0 0 * * *, each day"},
    {.name = "--param",
     .metavar = "NAME=VALUE",
     .type = OPTION_TEXTS,
     .offset = offsetof (struct flow_wish, params),
     .utf8 = true,
     .help = "a param of all runs, as of start"},
    {.name = "--dry-run",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, dry_run),
     .help = "print the times; start nothing"},
};

static const struct option runs_rows[] = {
    {.name = "--flow",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, flow),
     .utf8 = true,
     .help = "of this flow only"},
    {.name = "--state",
     .metavar = "STATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, state),
     .values = "running suspended undoing finished failed cancelled timeout",
     .help = "in this state only"},
    {.name = "--limit",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct flow_wish, rows),
     .min = 1,
     .max = 100000,
     .help = "at most N runs, the newest ones; by default 50"},
};

static const struct option last_rows[] = {
    {.name = "--flow",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, flow),
     .utf8 = true,
     .help = "with `last` as RUN: the newest run of this flow"},
};

static const struct option show_rows[] = {
    {.name = "--steps",
     .metavar = "STATE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, steps),
     .values = "none new running finished failed cancelled skipped",
     .help = "only steps in this state"},
    {.name = "--graph",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, graph),
     .help = "draw it, as `zplan flow graph RUN`"},
};

static const struct option log_rows[] = {
    {.name = "--follow",
     .aliases = "-f",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, follow),
     .help = "continue with what comes, until the run has ended"},
};

static const struct option skip_rows[] = {
    {.name = "--value",
     .metavar = "JSON",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, skip_value),
     .utf8 = true,
     .help = "the value of the step, for those that read it; by default null"},
    {.name = "--reason",
     .metavar = "TEXT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, reason),
     .utf8 = true,
     .help = "why"},
};

static const struct option retry_rows[] = {
    {.name = "--fresh",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, fresh),
     .help = "evaluate params, lists and times anew"},
    {.name = "--restart",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, restart),
     .help = "all steps again, also those that finished"},
    {.name = "--version",
     .metavar = "N",
     .type = OPTION_NUMBER,
     .offset = offsetof (struct flow_wish, version),
     .help = "go on by this version, of the same steps and edges: what\n"
             "differs in it, and all behind it, begins anew",
     .min = 1,
     .max = INT32_MAX},
    {.name = "--reason",
     .metavar = "TEXT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct flow_wish, reason),
     .utf8 = true,
     .help = "why"},
};

static const struct option cancel_rows[] = {
    {.name = "--force",
     .type = OPTION_FLAG,
     .offset = offsetof (struct flow_wish, force),
     .help = "nothing more is undone, and the step of `finally` does not run"},
};

// Options of `zplan add` that a flow plan may have here.
static size_t choose_terms (struct terms *terms, struct option *ret, size_t max)
{
    static const char *const names[] = {"--misfire", "--misfire-window", "--overlap-policy",
                                        "--retry", "--run-timeout"};
    const struct option_group all = terms_options (terms);
    size_t count = 0;
    for (size_t i = 0; i < all.count; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names && count < max; j++)
            if (strcmp (all.rows[i].name, names[j]) == 0)
                ret[count++] = all.rows[i];
    return count;
}

#define ROWS(rows) (rows), sizeof (rows) / sizeof *(rows)

size_t flow_options (unsigned wanted, struct flow_wish *wish, struct option terms[FLOW_TERMS_MAX],
                     struct option_group *ret)
{
    const size_t term_count = choose_terms (&wish->terms, terms, FLOW_TERMS_MAX);
    const struct {
        enum flow_option_marks mark;
        struct option_group group;
    } all[] = {{GRAPH, {"Graph", ROWS (graph_rows), wish}},
               {SIMULATE, {"Simulate", ROWS (simulate_rows), wish}},
               {SIMULATE, {"Flow plan of simulate", terms, term_count, &wish->terms}},
               {START, {"Start", ROWS (start_rows), wish}},
               {BACKFILL, {"Backfill", ROWS (backfill_rows), wish}},
               {LISTED, {"Runs", ROWS (runs_rows), wish}},
               {SHOW, {"Show", ROWS (show_rows), wish}},
               {LOG, {"Log", ROWS (log_rows), wish}},
               {SKIP, {"Skip", ROWS (skip_rows), wish}},
               {RETRY, {"Retry", ROWS (retry_rows), wish}},
               {CANCEL, {"Cancel", ROWS (cancel_rows), wish}},
               {LAST, {"The newest run", ROWS (last_rows), wish}}};
    _Static_assert(sizeof all / sizeof *all <= USAGE_GROUPS_MAX, "there is room for all");
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (wanted & all[i].mark)
            ret[count++] = all[i].group;
    return count;
}
