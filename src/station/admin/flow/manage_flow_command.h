// A command about one run of a flow. The run is read first; the reply is sent when the changes are
// written. proto/flows.md 18.18.
#pragma once

#include "flow_runs_private.h"
#include "manage_flow.h"

enum { KEY_NAME_SIZE = 128 };

struct run_command;
typedef void run_command_fn (struct run_command *self, struct flow_live *live);

// The state of a command about one run, from its request to its reply.
struct run_command {
    struct station *station;
    struct peer *peer;
    uint64_t run;
    run_command_fn *start;
    struct flow_event event;
    char step[FLOW_NAME_MAX + 32]; // STEP or STEP.ITEM, "" = none
    char text[REASON_MAX];         // the reason that the caller gives
    char key[KEY_NAME_SIZE];       // the key of the caller, "" = unknown
    json_t *value, *steps;
    int version;             // version that a retry moves the run to; 0 = unchanged
    const struct flow *flow; // definition of `version`, with a reference held; NULL = unchanged
    bool event_applied;      // the event was applied to the run
    bool was_finished;       // the run had finished before the event
    struct reason reason;    // why the event was rejected
};

// `run`: its number as text. NULL: the number is invalid, and the request was rejected.
struct run_command *run_command_new (struct station *self, struct request *request, struct span run,
                                     run_command_fn *start);

// Read the JSON in argument `at`, if given. False: invalid, and the request was rejected.
bool run_command_json (struct run_command *self, const struct flow_arguments *args, size_t at);

// Read the run; then `start` is called with it, or the request is rejected.
void run_command_start (struct run_command *self);

// The run as JSON, without its steps.
json_t *flow_run_json (const struct flow_live *live);

// End the command: each of these frees it.
void run_command_refuse (struct run_command *self, enum wire_error error, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));
void run_command_reply (struct run_command *self, json_t *object);
void run_command_end (struct run_command *self);
