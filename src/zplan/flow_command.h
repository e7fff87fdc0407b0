// zplan flow: definitions of flows. check, graph and simulate need no station.
#pragma once

#include "options.h"
#include "terms.h"

enum flow_form { FLOW_LAYERS, FLOW_DOT, FLOW_MERMAID, FLOW_SVG };

// Say what is wrong with the definitions in these files, which may refer to each other, and what a
// run of them may take. Returns an exit code.
int flow_check (const struct cli *cli, char **paths, int count);

// Draw the definition in a file; "-" is stdin. Returns an exit code.
int flow_draw (const struct cli *cli, const char *file, enum flow_form form);

// What the options say.
struct flow_wish {
    bool ascii, dot, mermaid, svg; // of a graph
    const char *at, *timezone, *cron, *input, *each;
    struct option_texts last, fail, never, value, outage, limit, rate, workers;
    struct terms terms; // of the flow plan, some of them
    int64_t runs;
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

// What a check reports, for people: a line for its calls, its time and each warning.
void flow_print_report (const json_t *report);
