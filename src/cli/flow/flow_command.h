// zplan flow: definitions of flows, and their runs. check, graph of a file and simulate need no
// station.
#pragma once

#include "options.h"
#include "terms.h"

enum flow_form { FLOW_LAYERS, FLOW_DOT, FLOW_MERMAID, FLOW_SVG };

// Say what is wrong with the definitions in these files, which may refer to each other, and what a
// run of them may take. Returns an exit code.
int flow_check (const struct cli *cli, char **paths, int count);

// Draw the definition in a file, "-" is stdin; or a flow of the station, or a run as flow_draw_run.
// Returns an exit code.
int flow_draw (const struct cli *cli, const char *text, const char *flow, enum flow_form form);

// Draw a run, with the states of its steps; `flow`: as of flow_run_read. Returns an exit code.
int flow_draw_run (const struct cli *cli, const char *text, const char *flow, enum flow_form form);

// What the options say.
struct flow_wish {
    bool ascii, dot, mermaid, svg; // of a graph
    const char *at, *timezone, *cron, *input, *each;
    struct option_texts last, fail, never, value, outage, limit, rate, workers;
    struct terms terms; // of the flow plan, some of them
    int64_t runs;
    // of runs at the station
    const char *flow, *state, *steps, *batch, *unique, *title, *skip_value, *reason;
    struct option_texts params;
    int64_t rows; // a limit; 0 = the default
    bool wait, follow, graph, fresh, restart, force;
    int64_t version;       // of a retry; 0 = as it was
    const char *from, *to; // of a backfill
    bool dry_run;
};

// Run the definition in the first file on a virtual clock; the others are of its sub-flows. Returns
// an exit code.
int flow_rehearse (const struct cli *cli, char **paths, int count, const struct flow_wish *wish);

// Definitions that the station keeps: the words behind the subcommand. Each returns an exit code.
int flow_put (const struct cli *cli, char **words, int count);    // FILE [LAST VERSION]
int flow_get (const struct cli *cli, char **words, int count);    // NAME [VERSION]
int flow_list (const struct cli *cli, char **words, int count);   // [PATTERN]
int flow_use (const struct cli *cli, char **words);               // NAME VERSION
int flow_remove (const struct cli *cli, char **words, int count); // NAME...

// Their names, a line each.
int flow_print_names (const struct cli *cli);

// Definitions in use as a file, and back: all or these; FILE. Each returns an exit code.
int flow_export (const struct cli *cli, char **words, int count);
int flow_import (const struct cli *cli, const char *file);

// Runs: NAME of a flow; RUN; RUN/STEP. Each returns an exit code.
int flow_start (const struct cli *cli, const char *name, const struct flow_wish *wish);
int flow_backfill (const struct cli *cli, const char *name, const struct flow_wish *wish);
int flow_runs (const struct cli *cli, const struct flow_wish *wish);
int flow_show (const struct cli *cli, const char *run, const struct flow_wish *wish);
int flow_log (const struct cli *cli, const char *run, const struct flow_wish *wish);

// why, done, reset, cancel: `word`, with RUN/STEP and what stands behind it.
int flow_step_word (const struct cli *cli, const char *word, char **args, int count,
                    const struct flow_wish *wish);

// signal, reject, skip, retry, suspend, resume, cancel: `word`, with RUN and what stands behind it.
int flow_act (const struct cli *cli, const char *word, char **args, int count,
              const struct flow_wish *wish);

// For the completion: the newest runs, and the steps of one.
int flow_print_runs (const struct cli *cli);
int flow_print_steps (const struct cli *cli, const char *run);

// What a check reports, for people: a line for its calls, its time and each warning.
void flow_print_report (const json_t *report);
