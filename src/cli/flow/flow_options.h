// The subcommands of zplan flow as a table, and their options.
#pragma once

#include "flow_command.h"

// Which options a subcommand has: a bit set.
enum flow_option_marks {
    GRAPH = 1,
    SIMULATE = 2,
    START = 4,
    LISTED = 8,
    LAST = 16,
    SHOW = 32,
    LOG = 64,
    SKIP = 128,
    RETRY = 256,
    CANCEL = 512,
    BACKFILL = 1024,
    ALL = 2047
};

enum { FLOW_TERMS_MAX = 5 };

// The groups with one of the marks `wanted`, at most USAGE_GROUPS_MAX, which fill `options`.
// `terms` is a buffer for options of `zplan add`; the result borrows it.
void flow_option_groups (unsigned wanted, struct flow_options *options,
                         struct option terms[FLOW_TERMS_MAX], struct option_group *ret);

enum flow_section { LOCAL, STORED, RUNS, PEOPLE, FLOW_SECTIONS };

struct flow_verb {
    struct subcommand word;
    flow_fn *run;
    const char *arguments;
    enum flow_section section;
    unsigned groups; // its options: enum flow_option_marks
    const char *text;
    const char *examples;
    bool connects_itself; // `run` connects, after reading files or dates; implied for LOCAL
};

enum { FLOW_WORDS = 25 };
extern const struct flow_verb flow_rows[FLOW_WORDS];
