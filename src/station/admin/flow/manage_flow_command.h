// A command about one run of a flow: it reads the run first, and is replied to when what it changes
// is written. proto/flows.md 18.18.
#pragma once

#include "flow_runs_private.h"
#include "manage_flow.h"

enum { KEY_NAME_SIZE = 128 };

struct run_command;
typedef void run_command_fn (struct run_command *self, struct flow_live *live);

// A command about one run, in progress.
struct run_command {
    struct station *station;
    struct peer *peer;
    uint64_t run;
    run_command_fn *go;
    struct flow_event event;
    char step[FLOW_NAME_MAX + 32]; // STEP or STEP.ITEM, "" = none
    char text[REASON_MAX];         // a reason
    char key[KEY_NAME_SIZE];       // whose command it is, "" = not known
    json_t *value, *steps;
    int version;             // of a retry; 0 = as it was
    const struct flow *flow; // that is of it, held; NULL = as it was
    bool carried;            // the run was
    bool had_finished;       // before that
    struct reason reason;    // why it was not
};

// Of the run in the first word. NULL: that is no number of a run, and the request was refused.
struct run_command *run_command_new (struct station *self, struct request *request, struct span run,
                                     run_command_fn *go);

// Read the JSON in this word, if it is there. False: invalid, and the request was rejected.
bool run_command_json (struct run_command *self, const struct flow_words *words, size_t at);

// Read the run; then `go` is called with it, or the request is refused.
void run_command_start (struct run_command *self);

// What a run is, without its steps.
json_t *flow_run_json (const struct flow_live *live);

// The end of the command: each of these frees it.
void run_command_refuse (struct run_command *self, enum wire_error error, const char *reason);
void run_command_reply (struct run_command *self, json_t *object);
void run_command_end (struct run_command *self);
