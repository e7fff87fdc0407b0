#include "flow_options.h"

#include <string.h>

static const struct option graph_rows[] = {
    FLAG_OPTION (struct flow_options, ascii, "--ascii", "a line for each step, the default"),
    FLAG_OPTION (struct flow_options, dot, "--dot", "a text for Graphviz"),
    FLAG_OPTION (struct flow_options, mermaid, "--mermaid", "a text for Mermaid"),
    FLAG_OPTION (struct flow_options, svg, "--svg", "a picture; `dot` of Graphviz makes it"),
};

static const struct option simulate_rows[] = {
    TEXT_OPTION (struct flow_options, at, "--at", "TIME",
                 "when the run begins, as 2026-01-31T02:00; by default now"),
    TEXT_OPTION (struct flow_options, timezone, "--timezone", "ZONE",
                 "of the times, as Europe/Berlin; by default UTC"),
    TEXT_OPTION (struct flow_options, cron, "--cron", "EXPRESSION",
                 "a flow plan with this schedule, from --at on"),
    NUMBER_OPTION (struct flow_options, runs, "--runs", "N", 1, 1000,
                   "simulate N occurrences of --cron; only their ends are printed"),
    TEXT_OPTION (struct flow_options, each, "--each", "DURATION",
                 "how long a call takes, and a signal is waited for; by default 1s"),
    TEXTS_OPTION (struct flow_options, last, "--last", "STEP=DURATION", "the same for one step"),
    TEXTS_OPTION (struct flow_options, fail, "--fail", "STEP[:N]",
                  "its calls fail; with N their first N attempts only"),
    TEXTS_OPTION (struct flow_options, never, "--never", "STEP",
                  "its calls never end, its signal never arrives"),
    TEXTS_OPTION (struct flow_options, value, "--value", "STEP=FILE",
                  "the result of its calls, JSON or YAML; by default null"),
    TEXTS_OPTION (struct flow_options, outage, "--outage", "TARGET=HH:MM..HH:MM",
                  "the target takes nothing at that time of each day"),
    TEXTS_OPTION (struct flow_options, limit, "--limit", "NAME=N",
                  "at most N concurrent runs of a target, or of group:NAME"),
    TEXTS_OPTION (struct flow_options, rate, "--rate", "NAME=N",
                  "at most N starts per second, as 0.5, of a target or group:NAME"),
    TEXTS_OPTION (struct flow_options, workers, "--workers", "TARGET=N|NAMES",
                  "a pull target: N workers take its plans, one each, or these, as eu,us"),
    TEXT_OPTION (struct flow_options, input, "--input", "FILE",
                 "the input of the run, JSON or YAML", .offered = VALUES_FILES),
};

static const struct option start_rows[] = {
    TEXTS_OPTION (struct flow_options, params, "--param", "NAME=VALUE",
                  "a param: JSON, or else a text; a param of type string takes it as it is",
                  .utf8 = true),
    TEXT_OPTION (struct flow_options, input, "--input", "FILE",
                 "the input of the run, an object as JSON or YAML; - is standard input",
                 .offered = VALUES_FILES),
    TEXT_OPTION (struct flow_options, batch, "--batch", "DATE",
                 "business date of the run, for example 2026-01-31 or 2026-01-31T02:00",
                 .utf8 = true),
    TEXT_OPTION (struct flow_options, unique, "--unique", "NAME",
                 "a name of the plan: as long as there is a plan of it, nothing is started",
                 .utf8 = true),
    TEXT_OPTION (struct flow_options, title, "--title", "TEXT",
                 "of the plan; by default the name of the flow", .utf8 = true),
    FLAG_OPTION (struct flow_options, wait, "--wait",
                 "print what its steps come to, until it has ended. Exit status: 0 it finished, "
                 "1 it failed, was cancelled or timed out"),
};

static const struct option backfill_rows[] = {
    TEXT_OPTION (struct flow_options, from, "--from", "DATE",
                 "the first time, as 2026-01-01 or 2026-01-01T02:00"),
    TEXT_OPTION (struct flow_options, to, "--to", "DATE", "the last time, itself included"),
    TEXT_OPTION (struct flow_options, cron, "--cron", "EXPR",
                 "the times between; by default 0 0 * * *, each day"),
    TEXTS_OPTION (struct flow_options, params, "--param", "NAME=VALUE",
                  "a param of all runs, as of start", .utf8 = true),
    FLAG_OPTION (
        struct flow_options, again, "--again",
        "also the times whose run has ended, except a plan that is kept because it failed: "
        "new runs, with new idempotency keys"),
    FLAG_OPTION (struct flow_options, dry_run, "--dry-run", "print the times; start nothing"),
};

static const struct option runs_rows[] = {
    TEXT_OPTION (struct flow_options, flow, "--flow", "NAME", "of this flow only", .utf8 = true),
    TEXT_OPTION (struct flow_options, state, "--state", "STATE", "in this state only",
                 .values = "running suspended undoing finished failed cancelled timeout"),
    NUMBER_OPTION (struct flow_options, rows, "--limit", "N", 1, 100000,
                   "at most N runs, the newest ones; by default 50"),
};

static const struct option last_rows[] = {
    TEXT_OPTION (struct flow_options, flow, "--flow", "NAME",
                 "with `last` as RUN: the newest run of this flow", .utf8 = true),
};

static const struct option show_rows[] = {
    TEXT_OPTION (struct flow_options, steps, "--steps", "STATE", "only steps in this state",
                 .values = "none new running finished failed cancelled skipped"),
    FLAG_OPTION (struct flow_options, graph, "--graph", "draw it, as `zplan flow graph RUN`"),
};

static const struct option log_rows[] = {
    FLAG_OPTION (struct flow_options, follow, "--follow",
                 "continue with what comes, until the run has ended", .aliases = "-f"),
};

static const struct option skip_rows[] = {
    TEXT_OPTION (struct flow_options, skip_value, "--value", "JSON",
                 "the value of the step, for those that read it; by default null", .utf8 = true),
    TEXT_OPTION (struct flow_options, reason, "--reason", "TEXT", "why", .utf8 = true),
};

static const struct option retry_rows[] = {
    FLAG_OPTION (struct flow_options, fresh, "--fresh", "evaluate params, lists and times again"),
    FLAG_OPTION (struct flow_options, restart, "--restart",
                 "all steps again, also those that finished"),
    NUMBER_OPTION (struct flow_options, version, "--version", "N", 1, INT32_MAX,
                   "go on by this version, of the same steps and edges: what\n"
                   "differs in it, and all steps after it, restart"),
    TEXT_OPTION (struct flow_options, reason, "--reason", "TEXT", "why", .utf8 = true),
};

static const struct option cancel_rows[] = {
    FLAG_OPTION (struct flow_options, force, "--force",
                 "nothing more is undone, and the step of `finally` does not run"),
};

// Choose the options of `zplan add` that a simulated flow plan may have. Returns their number.
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

void flow_option_groups (unsigned wanted, struct flow_options *options,
                         struct option terms[FLOW_TERMS_MAX], struct option_group *ret)
{
    const size_t term_count = choose_terms (&options->terms, terms, FLOW_TERMS_MAX);
    const struct {
        enum flow_option_marks mark;
        struct option_group group;
    } all[] = {{GRAPH, OPTION_GROUP ("Graph", graph_rows, options)},
               {SIMULATE, OPTION_GROUP ("Simulate", simulate_rows, options)},
               {SIMULATE, {"Flow plan of simulate", terms, term_count, &options->terms}},
               {START, OPTION_GROUP ("Start", start_rows, options)},
               {BACKFILL, OPTION_GROUP ("Backfill", backfill_rows, options)},
               {LISTED, OPTION_GROUP ("Runs", runs_rows, options)},
               {SHOW, OPTION_GROUP ("Show", show_rows, options)},
               {LOG, OPTION_GROUP ("Log", log_rows, options)},
               {SKIP, OPTION_GROUP ("Skip", skip_rows, options)},
               {RETRY, OPTION_GROUP ("Retry", retry_rows, options)},
               {CANCEL, OPTION_GROUP ("Cancel", cancel_rows, options)},
               {LAST, OPTION_GROUP ("The newest run", last_rows, options)}};
    _Static_assert(sizeof all / sizeof *all <= USAGE_GROUPS_MAX, "there is room for all");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (wanted & all[i].mark)
            *ret++ = all[i].group;
}
