// Reads files with definitions of flows, JSON or YAML, as JSON: one, or several that refer to each
// other.
#pragma once

#include "flow.h"

// Read the contents of a file, "-" is stdin, NUL-terminated; free them. NULL with a reason, also if
// it has more than `max` bytes, for which the reason says `max_text`.
char *flow_file_bytes (const char *name, size_t max, const char *max_text, size_t *ret_size,
                       struct reason *reason);

// Read the definition in a file, "-" is stdin, as NUL-terminated JSON text; free it. A text that
// begins with "{" is returned unchanged, any other is parsed as YAML. NULL with a reason.
char *flow_file_read (const char *name, size_t *ret_size, struct reason *reason);

// As flow_file_read, but parsed: any JSON value, owned by the caller.
json_t *flow_file_json (const char *name, struct reason *reason);

// A file with a definition.
struct flow_source {
    const char *path;
    char *text;
    size_t size;
    json_t *json;
    struct flow *flow; // NULL: it has `errors`, or was not checked yet
    json_t *errors;
    enum { SOURCE_NEW, SOURCE_CHECKING, SOURCE_CHECKED } state;
};

struct flow_sources {
    struct flow_source *rows;
    int count;
};

// Read these files; unreadable files, and further ones of the same flow, are reported and skipped.
// False: at least one was skipped. In both cases free the result with flow_sources_clear.
bool flow_sources_read (struct flow_sources *self, char **paths, int count);
void flow_sources_clear (struct flow_sources *self);

// Check a definition and those that it refers to, unless they were checked already.
void flow_source_check (struct flow_sources *self, struct flow_source *source);

// The source that defines the flow of this name, or NULL.
struct flow_source *flow_source_named (const struct flow_sources *self, const char *name);

// Print all errors of a definition on stderr, one per line. Returns whether there are any.
bool flow_print_errors (const char *subject, const json_t *errors);
