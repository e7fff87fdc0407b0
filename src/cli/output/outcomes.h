// Outcomes of runs, as the history returns them and as an archive stores them: their keys, and the
// filter by status. Pure.
#pragma once

#include <jansson.h>

#include "options.h"
#include "print.h"

// The key of an outcome. Entry numbers restart when Redis was emptied, run numbers do not: together
// they are unique.
struct outcome_key {
    int64_t ended_ms;  // Unix milliseconds
    uint64_t seq, sub; // the number of its entry in the history
    int64_t exec_id;
};

enum { ENTRY_NAME_SIZE = 64 };

// Read the key from a run of `history`. False: it has no entry, or no valid time.
bool outcome_key_read (const json_t *run, struct outcome_key *ret);

// Parse a line of JSON to an outcome and its key; NULL: invalid.
json_t *outcome_read (struct span line, struct outcome_key *ret);

// Compare two keys, or items that begin with their key, for qsort and bsearch: by time, then by
// entry, then by run.
int outcome_key_compare (const void *a, const void *b);

// Whether entry `a` is before `b` in the history.
bool outcome_is_before (const struct outcome_key *a, const struct outcome_key *b);

// Write the entry in the form that `forget` accepts: with its time, if it has one. Returns `out`.
const char *outcome_entry_name (const struct outcome_key *self, char out[ENTRY_NAME_SIZE]);

// -- how it ended

#define OUTCOME_WORDS "ok failed lost cancelled missed"
// The word of OUTCOME_WORDS for a status of the wire, 0..255.
const char *outcome_word (int status);

// How a run ended, for people; an error that is more specific than `failed` is explained. `status`
// is a number or a word of the wire. The text is as those of print.h.
const char *outcome_text (const json_t *status);

// Print outcome_text in its colour.
void print_outcome (const json_t *status);

#define OUTCOME_HELP                                                                               \
    "runs that ended so, may be given several times: ok; lost (its\n"                              \
    "lease ended without a result), cancelled, missed; failed: any\n"                              \
    "other way; or a status such as 'not found', 0x83"

struct outcome_states {
    bool given; // false: all states are selected
    bool wanted[256];
};

// Read the texts of --state. 0, or -1 with a reason.
int outcome_states_read (const struct option_texts *texts, struct outcome_states *ret,
                         struct reason *reason);

// The states as an array of numbers.
json_t *outcome_statuses (const struct outcome_states *self);

// Whether the run ended in one of the selected states.
bool outcome_matches (const struct outcome_states *self, const json_t *run);
