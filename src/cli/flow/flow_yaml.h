// Converts YAML files of flows to JSON. Only what JSON can express is allowed: no anchors, aliases,
// tags, merge keys, second documents, duplicate keys. Plain `true`, `false`, `null` and numbers in
// JSON's syntax keep their types, every other scalar is a string.
#pragma once

#include <jansson.h>

#include "reason.h"

enum { FLOW_YAML_DEPTH_MAX = 64 }; // nested mappings and sequences

// Parse the document to JSON, owned by the caller. NULL with a reason that names the line.
json_t *flow_yaml_read (struct span text, struct reason *reason);
