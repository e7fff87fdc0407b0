// Outcomes of runs, as the history returns them and as an archive keeps them: the key of each, and
// the filter by how they ended. Pure.
#pragma once

#include <jansson.h>

#include "options.h"
#include "print.h"

// The key of an outcome. Numbers of entries restart when Redis was emptied, those of runs do not:
// together they are unique.
struct outcome_key {
    int64_t ended_ms;  // Unix milliseconds
    uint64_t seq, sub; // of the entry
    int64_t exec_id;
};

enum { ENTRY_NAME_SIZE = 64 };

// Read it from a run of `history`. False: there is no entry, or no sound time.
bool outcome_key_read (const json_t *run, struct outcome_key *ret);

// The outcome of a line of JSON, and its key; NULL: invalid.
json_t *outcome_read (struct span line, struct outcome_key *ret);

// The order of time, and of the entries that were written at one; as strcmp.
int outcome_key_compare (const struct outcome_key *a, const struct outcome_key *b);

// Whether this entry stands before that one in the history.
bool outcome_is_before (const struct outcome_key *a, const struct outcome_key *b);

// The entry as `forget` takes it: with its time, if it has one. Returns `out`.
const char *outcome_name (const struct outcome_key *self, char out[ENTRY_NAME_SIZE]);

// -- how it ended

#define OUTCOME_WORDS "ok failed lost cancelled missed"
// The word of a status of the wire, 0..255.
const char *outcome_word (int status);

// How a run ended, for people: of an error that is more than `failed` what it means. `status` is
// that of the wire, or its word: in `out`, or a constant.
const char *outcome_text (const json_t *status, char out[WORD_SIZE]);

#define OUTCOME_HELP                                                                               \
    "runs that ended so, may be given several times: ok; lost (its\n"                              \
    "lease ended without a result), cancelled, missed; failed: any\n"                              \
    "other way; or a status such as 'not found', 0x83"

struct outcome_states {
    bool given; // else all are meant
    bool wanted[256];
};

// 0, or -1 with a reason.
int outcome_states_read (const struct option_texts *texts, struct outcome_states *ret,
                         struct reason *reason);

// Them as an array of numbers.
json_t *outcome_statuses (const struct outcome_states *self);

bool outcome_fits (const struct outcome_states *self, const json_t *run);
