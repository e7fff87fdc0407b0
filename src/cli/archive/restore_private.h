// Private to the files of the restoring.
#pragma once

#include "call.h"
#include "pipeline.h"
#include "progress.h"
#include "restore.h"
#include "seen_outcomes.h"

enum restore_type { TARGETS, KINDS, LIMITS, FLOWS, OUTCOMES, PLANS, TYPES };

extern const char *const restore_type_names[TYPES];

struct restoring {
    const struct cli *cli;
    const struct restore *restore;
    struct zplan_client *client;
    struct pipeline *pipeline;
    json_t *targets, *kinds, *limits; // of the station, by their names
    json_t *flows; // of the file: name -> which versions were found, or put (restore_flow.c)
    struct seen_outcomes seen;
    bool history_seen; // the station's outcomes were read
    json_t *runs;      // outcomes that wait to be sent
    size_t runs_bytes;
    json_t *missing; // target -> how many plans wait for it
    int64_t line;
    const char *text; // of the line
    int64_t added[TYPES], there[TYPES], refused;
    bool ended;   // the last line was read
    bool stopped; // the next lines would be refused as well
    bool unknown; // whether a request was done is not known
    bool unread;  // a part of the file could not be
    int code;
    struct verdict silence; // with a code that is not EXIT_DONE
    struct progress progress;
};

// Take the line, whose number is self->line.
void restore_take_line (struct restoring *self, const char *text);

// Send the outcomes that wait.
void restore_send_outcomes (struct restoring *self);

// Send a command, whose words end with a NULL, and wait for the answer: an object, owned by the
// caller. NULL: it was rejected, which is reported, or the station does not answer.
json_t *restore_say (struct restoring *self, const char *const *words);

// Count what was added, or is there already.
void restore_count (struct restoring *self, enum restore_type type, bool there);

// One version of a flow.
void restore_take_flow (struct restoring *self, const json_t *record);

void restore_refuse (struct restoring *self, int64_t line, struct span words);

// Of the pipeline.
void restore_on_answer (void *owner, void *item, int outcome, const struct zplan_reply *reply);
