// The target of an HTTP request: path and query, decoded. Pure.
#pragma once

#include "reason.h"

enum { TARGET_SEGMENTS_MAX = 8, TARGET_FIELDS_MAX = 32, TARGET_SIZE_MAX = 8192 };

struct query_field {
    const char *name, *value;
};

struct request_target {
    char *text;            // owned; segments and fields point into it
    struct span authority; // HOST:PORT of an absolute URL, borrowed from the raw target; empty: not
                           // absolute
    const char *segments[TARGET_SEGMENTS_MAX];
    size_t segment_count; // "/" has none
    struct query_field fields[TARGET_FIELDS_MAX];
    size_t field_count;
};

// Parse the target of the request line. Its decoded parts are UTF-8 without control bytes. 0, or -1
// with the reason: there is no path, a segment is empty or `.` or `..`, it has a slash or a
// backslash, a percent sign is not followed by two hex digits, or there are too many parts, or a
// field of the query twice. `ret` is then empty.
int request_target_read (struct span raw, struct request_target *ret, struct reason *reason);
void request_target_clear (struct request_target *self);

// The value of a field of the query; NULL: no such field.
const char *request_target_field (const struct request_target *self, const char *name);
