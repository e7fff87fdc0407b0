// Who votes in a run, and who has: the counts that the rules of a vote are judged by.
#pragma once

#include "dialect.h"
#include "engine.h"

enum { VOTERS_MAX = 1000, VOTER_NAME_MAX = 72 };

struct voter {
    char name[VOTER_NAME_MAX + 1];
    bool voted, in_favour;
    size_t bytes; // of its vote
};

struct ballot {
    bool opened; // the voters are known
    bool stored; // the participants in the store are those of this vote
    size_t count, room;
    size_t others; // named, but their votes cannot be taken
    size_t bytes;  // of all votes
    struct voter *at;
};

struct ballot *ballot_new (void);
void ballot_destroy (struct ballot **self);

// Whether an answer with this status (in our numbers) is in favour. One who leaves is not.
bool ballot_in_favour (uint8_t status);

// A name that can stand for a voter: 1 to 72 bytes of UTF-8 without NUL.
bool ballot_name_valid (struct span name);

// The vote begins: these are the voters, none of whom has voted. `names` is a JSON array of
// strings; who has no valid name, or is one too many, is a voter that never votes.
void ballot_open (struct ballot *self, struct span names);

// A voter's answer, of this many bytes; a second one takes the place of the first. One who was not
// named is a voter too. False: the name is invalid, or there are too many.
bool ballot_cast (struct ballot *self, struct span name, bool in_favour, size_t bytes);

// A voter as the store has it: with its answer, description first, in its target's numbers; or with
// an empty array.
void ballot_recall (struct ballot *self, struct span name, const json_t *frames,
                    enum dialect dialect);

struct vote_tally ballot_tally (const struct ballot *self, enum poll event);
