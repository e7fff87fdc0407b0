// zplan flow: definitions of flows, and their runs. `check`, `graph` of a file, and `simulate` need
// no station.
#pragma once

#include "call.h"
#include "options.h"
#include "terms.h"

enum flow_form { FLOW_LAYERS, FLOW_DOT, FLOW_MERMAID, FLOW_SVG };

// The values of the options.
struct flow_options {
    struct zplan_client *client; // NULL: the subcommand connects itself (flow_options.h)
    char **words;                // the arguments after the subcommand
    int count;
    bool ascii, dot, mermaid, svg; // options of `graph`
    enum flow_form form;           // the form that these options choose
    const char *at, *timezone, *cron, *input, *each;
    struct option_texts last, fail, never, value, outage, limit, rate, workers;
    struct terms terms; // terms of a simulated flow plan; only some are used
    int64_t runs;
    // Options of runs at the station.
    const char *flow, *state, *steps, *batch, *unique, *title, *skip_value, *reason;
    struct option_texts params;
    int64_t rows; // maximum number of rows; 0 = the default
    bool wait, follow, graph, fresh, restart, force;
    int64_t version;       // --version of `retry`; 0 = the run's own
    const char *from, *to; // options of `backfill`
    bool dry_run, again;
};

// One function per subcommand, whose arguments are in options->words. Returns an exit code.
typedef int flow_fn (const struct cli *cli, const struct flow_options *options);

flow_fn flow_check;    // FILE...: report the errors in files, which may refer to each other
flow_fn flow_draw;     // FILE, "-" is stdin; or NAME of a flow of the station, or RUN
flow_fn flow_rehearse; // FILE...: the first one on a virtual clock; the others are its sub-flows
flow_fn flow_put;      // FILE [LAST VERSION]
flow_fn flow_get;      // NAME [VERSION]
flow_fn flow_list;     // [PATTERN]
flow_fn flow_use;      // NAME VERSION
flow_fn flow_remove;   // NAME...
flow_fn flow_export;   // [NAME...]: definitions in use as a file
flow_fn flow_import;   // FILE that flow_export wrote
flow_fn flow_start;    // NAME
flow_fn flow_backfill; // NAME
flow_fn flow_runs;
flow_fn flow_show;         // RUN; with options->graph it calls flow_draw_run
flow_fn flow_log;          // RUN
flow_fn flow_step_command; // RUN/STEP: why, done, reset or cancel, given in cli->argv[1]
flow_fn flow_run_command;  // RUN ...: signal, reject, skip, retry, suspend, resume, cancel

// Draw the run options->words[0], with the states of its steps.
int flow_draw_run (const struct cli *cli, struct zplan_client *client,
                   const struct flow_options *options);

// For the completion: print the names of all flows, the newest runs, or the steps of the run
// cli->argv[2], one per line.
connected_fn flow_print_names, flow_print_runs, flow_print_steps;

// Print the station's report on a definition, for people: a line for the bound on run time, and
// one for each warning.
void flow_print_summary (const json_t *report);
