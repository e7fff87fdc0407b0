// Files with definitions of flows, which may refer to each other.
#pragma once

#include "flow.h"

// A definition among others.
struct flow_source {
    const char *path;
    char *text;
    size_t size;
    json_t *json;
    struct flow *flow; // NULL: `errors`, or not judged yet
    json_t *errors;
    enum { SOURCE_NEW, SOURCE_BEGUN, SOURCE_JUDGED } state;
};

struct flow_sources {
    struct flow_source *rows;
    int count;
};

// Read these files; unreadable ones, and others of a flow, are reported and skipped. False: there
// was such a one. Either way flow_sources_clear gives it back.
bool flow_sources_read (struct flow_sources *self, char **paths, int count);
void flow_sources_clear (struct flow_sources *self);

// Judge a definition, and those that it refers to, unless that is done.
void flow_source_judge (struct flow_sources *self, struct flow_source *source);

// The one with the flow of this name, or NULL.
struct flow_source *flow_source_named (const struct flow_sources *self, const char *name);

// Print all errors of a definition on stderr, a line each. False: there are none.
bool flow_complain (const char *subject, const json_t *errors);
