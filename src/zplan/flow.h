// zplan flow: what can be asked of definitions of flows, without a station.
#pragma once

#include "options.h"

enum flow_form { FLOW_LAYERS, FLOW_DOT, FLOW_MERMAID, FLOW_SVG };

// Draw the definition in a file; "-" is stdin. Returns an exit code.
int flow_draw (const struct cli *cli, const char *file, enum flow_form form);
