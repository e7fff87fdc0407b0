// YAML files of flows, as JSON. Only what JSON can say: no anchors, aliases, tags, merge keys, no
// second document, no key twice. Plain `true`, `false`, `null` and numbers of JSON are values of
// their own, every other scalar is a string.
#pragma once

#include <jansson.h>

#include "reason.h"

enum { FLOW_YAML_DEPTH_MAX = 64 }; // of mappings and sequences in each other

// The document as JSON, to be given back by json_decref. NULL: a reason that names the line.
json_t *flow_yaml_read (struct span text, struct reason *reason);
