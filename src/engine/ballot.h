// The voters of a run and their votes: the counts by which a vote is decided.
#pragma once

#include "dialect.h"
#include "engine.h"

enum { VOTERS_MAX = 1000, VOTER_NAME_MAX = 72 };

struct voter {
    char name[VOTER_NAME_MAX + 1];
    bool voted, in_favour;
    size_t bytes; // size of its vote
};

struct ballot {
    bool opened; // the voters are known
    bool stored; // the participants in the store are those of this vote
    size_t count, room;
    size_t others; // named voters whose votes cannot be recorded
    size_t bytes;  // size of all votes
    struct voter *at;
};

struct ballot *ballot_new (void);
void ballot_destroy (struct ballot **self);

// Whether an answer with this status (in zplan's own numbers) is a vote in favour: any success,
// except the one that says that the voter leaves.
bool ballot_in_favour (uint8_t status);

// Whether this can be a voter's name: 1 to 72 bytes of UTF-8 without NUL.
bool ballot_name_valid (struct span name);

// Open the vote with these voters, none of whom has voted. `names` is a JSON array of strings; an
// entry with an invalid name or beyond VOTERS_MAX counts as a voter that never votes.
void ballot_open (struct ballot *self, struct span names);

// Record a voter's answer of this many bytes; it replaces an earlier one. A voter that was not
// named is added. False: the name is invalid, or there are too many.
bool ballot_cast (struct ballot *self, struct span name, bool in_favour, size_t bytes);

// Restore a voter from the store. `frames` is its answer, with the description first, in the status
// numbers of its target; empty: it has not voted.
void ballot_restore (struct ballot *self, struct span name, const json_t *frames,
                     enum dialect dialect);

// Count the votes. `event`: the role of the present answer.
struct vote_tally ballot_tally (const struct ballot *self, enum poll event);
