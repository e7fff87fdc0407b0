// Restores what `zplan export --everything` wrote: shared by verb_import.c and the restore_*.c
// files only.
#pragma once

#include "call.h"
#include "pipeline.h"
#include "progress.h"

enum restore_type { TARGETS, KINDS, LIMITS, FLOWS, OUTCOMES, PLANS, TYPES };

extern const char *const restore_type_names[TYPES];

// The set of outcomes that a station already has. Outcomes are compared by a hash of their content
// without the number, which each station assigns itself. Memory: 24 bytes for each.
struct seen_outcome {
    uint64_t sums[2];
    size_t left; // how many equal ones were not found yet
};

struct seen_outcomes {
    struct seen_outcome *at; // owned; the user frees it
    size_t count, room;
};

struct restore_state {
    const struct cli *cli;
    const char *name; // the file's name, for messages
    FILE *file;       // borrowed; its first line was read already
    bool hold;        // restore the plans as paused, and mark them as held
    bool dry_run;     // only report what would be done
    bool stop_on_error;
    struct zplan_client *client;
    struct pipeline *pipeline;
    // Objects by name. TARGETS, KINDS, LIMITS: the station's. FLOWS: the file's, with their
    // versions that were found or added (restore_flow.c). OUTCOMES and PLANS: empty.
    json_t *known[TYPES];
    struct seen_outcomes seen;
    bool history_seen; // the station's outcomes were read
    json_t *runs;      // outcomes to be sent with the next batch
    size_t runs_bytes;
    json_t *missing;                                // target -> how many plans wait for it
    int64_t line;                                   // number of the current line
    const char *text;                               // the current line
    int64_t added[TYPES], existing[TYPES], refused; // numbers of records
    bool ended;                                     // the record `end` was read
    bool stopped;                                   // the next lines would be rejected as well
    bool unknown;                                   // it is unknown whether a request was executed
    bool unread;                                    // a part of the file could not be read
    int code;
    struct verdict failure; // the failed request, if `code` is not EXIT_DONE
    struct progress progress;
};

// Restore one line, whose number is self->line.
void restore_line (struct restore_state *self, const char *text);

// Restore an outcome, with the next batch.
void restore_outcome (struct restore_state *self, const json_t *record);

// Send the batched outcomes.
void restore_send_outcomes (struct restore_state *self);

// Send a command, a NULL-terminated list of words, and wait for the answer: an object, owned by the
// caller. NULL: the station did not answer, or rejected the command, which is reported.
json_t *restore_request (struct restore_state *self, const char *const *words);

// Count a record as already existing on the station, or as added.
void restore_count (struct restore_state *self, enum restore_type type, bool existing);

// Restore one version of a flow.
void restore_flow_version (struct restore_state *self, const json_t *record);

// Report a rejected record on stderr, and count it; stop if --stop-on-error is given.
void restore_refuse (struct restore_state *self, int64_t line, struct span words);

// The pipeline's callback: handles the answer to a request.
void restore_on_answer (void *owner, void *item, int outcome, const struct zplan_reply *reply);
