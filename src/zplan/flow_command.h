// zplan flow: what can be asked of definitions of flows, without a station.
#pragma once

#include "options.h"

enum flow_form { FLOW_LAYERS, FLOW_DOT, FLOW_MERMAID, FLOW_SVG };

// Say what is wrong with the definitions in these files, which may refer to each other, and what a
// run of them may take. Returns an exit code.
int flow_check (const struct cli *cli, char **paths, int count);

// Draw the definition in a file; "-" is stdin. Returns an exit code.
int flow_draw (const struct cli *cli, const char *file, enum flow_form form);
