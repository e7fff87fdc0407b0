// Declarations that the files of the command `flow` and its subcommands share.
#pragma once

#include "flow_change.h"
#include "flow_run.h"
#include "inquiry.h"

manage_fn manage_flow;

// The arguments after the subcommand. A definition may also come as a JSON frame.
struct flow_arguments {
    size_t count;
    struct span at[3];
    enum flow_event_kind event;   // applied by the subcommand, if it changes a run
    enum flow_change_kind change; // of the definition, if the subcommand changes one
};

typedef void flow_subcommand_fn (struct station *self, struct request *request,
                                 const struct flow_arguments *args);

// Read runs: manage_flow_run.c.
flow_subcommand_fn manage_flow_show_runs, manage_flow_show_run, manage_flow_show_log;

// Change a run by the event of the subcommand: manage_flow_change.c.
flow_subcommand_fn manage_flow_change_run;
