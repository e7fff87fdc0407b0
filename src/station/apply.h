// What the engine decided is written, and what follows from it is done when Redis has acknowledged.
#pragma once

#include "runs.h"

struct outcome {
    const struct plan *plan;
    struct span key_station;
    uint64_t exec_id;
    const struct decision *decision;
    const struct message *answer; // of the target; NULL when there was none
    bool keep_message;            // the stored message is not to be written
};

// Commit the decision; broadcast when it is written. Everything is copied.
void apply (struct station *self, const struct outcome *outcome);
