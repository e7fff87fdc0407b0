// The help of zplan flow, of all its subcommands or of one.
#pragma once

#include "flow_options.h"

enum flow_word {
    FLOW_CHECK,
    FLOW_GRAPH,
    FLOW_SIMULATE,
    FLOW_PUT_FILE,
    FLOW_USE_VERSION,
    FLOW_GET,
    FLOW_LIST,
    FLOW_REMOVE_ALL,
    FLOW_EXPORT,
    FLOW_IMPORT,
    FLOW_START_RUN,
    FLOW_BACKFILL,
    FLOW_SHOW_RUNS,
    FLOW_SHOW_RUN,
    FLOW_SHOW_LOG,
    FLOW_SHOW_WHY,
    FLOW_DONE_UNDO,
    FLOW_RESET_UNDO,
    FLOW_SIGNAL_RUN,
    FLOW_REJECT_RUN,
    FLOW_SKIP_STEP,
    FLOW_RETRY_RUN,
    FLOW_SUSPEND_RUN,
    FLOW_RESUME_RUN,
    FLOW_CANCEL_RUN,
    FLOW_WORDS
};

// Of one subcommand, or of all: FLOW_WORDS. The usage borrows from both, and its texts from
// `texts`, which is to be given back.
struct flow_help {
    char *about, *synopsis;
    struct option terms[FLOW_TERMS_MAX]; // those of `zplan add` that a simulated flow plan may have
};
void flow_help_start (struct flow_help *self, enum flow_word word, struct flow_wish *wish,
                      struct usage *ret);
void flow_help_clear (struct flow_help *self);
