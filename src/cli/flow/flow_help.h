// The subcommands of zplan flow as a table, and the help of all of them or of one.
#pragma once

#include "flow_options.h"
#include "options.h"

enum flow_section { LOCAL, STORED, RUNS, PEOPLE, FLOW_SECTIONS };

struct flow_verb {
    struct subcommand word;
    flow_fn *run;
    const char *arguments;
    enum flow_section section;
    unsigned groups; // its options: a bit set of enum flow_option_marks
    const char *text;
    const char *examples;
};

enum { FLOW_WORDS = 25 };
extern const struct flow_verb flow_rows[FLOW_WORDS];

// The help of one subcommand, or, for a NULL row, of all. The usage borrows from `self` and `wish`;
// free `self` with flow_help_clear.
struct flow_help {
    char *about, *synopsis;
    struct option terms[FLOW_TERMS_MAX]; // those of `zplan add` that a simulated flow plan may have
};
void flow_help_start (struct flow_help *self, const struct flow_verb *row, struct flow_wish *wish,
                      struct usage *ret);
void flow_help_clear (struct flow_help *self);
