// A ballot: a request that all workers are to answer. The voters are the workers that had joined,
// and were not draining, when it was opened; it is over when no vote is expected any more.
//
// A voter is in its worker's queue until it has voted or is lost. While a worker has a job, that is
// the ballot of the first voter in its queue.
#pragma once

#include "heap.h"
#include "workers.h"

enum { VOTER_NAME_SIZE = WORKER_NAME_SIZE + 8 }; // "#10000"

struct ballot_worker {
    struct heap_node limit; // in the heap while its vote is expected; key: its deadline
    struct worker_ballot *ballot;
    struct worker *worker;      // NULL when its vote is not expected any more
    struct ballot_worker *prev; // in its worker's queue
    struct ballot_worker *next;
    size_t number; // among the voters of one name: 1, 2, ...
};

struct worker_ballot {
    struct worker_ballot *prev; // among those that are open
    struct worker_ballot *next;
    struct job *job; // the request, owned; shared by the workers that have it in their hands
    size_t size;     // bytes, the request's among them
    size_t expected; // votes that may still come
    bool cut;        // an answer was lost: the requester must not take the rest for the whole
    size_t count;
    struct ballot_worker voters[]; // by name, those of one name as they joined
};

struct ballots;

// `limit_us`: how long a voter may neither vote nor say that it is at it.
struct ballots *ballots_new (int64_t limit_us);

// No ballot may be open.
void ballots_destroy (struct ballots **self);

// Those that are open, and their bytes.
size_t ballots_count (const struct ballots *self);
size_t ballots_bytes (const struct ballots *self);

// The size of a ballot on this job with `voters` voters.
size_t ballot_size (const struct job *job, size_t voters);

// Open a ballot on the job, which it takes, with all workers that are not draining as voters; none
// has got it yet.
struct worker_ballot *ballots_open (struct ballots *self, const struct workers *workers,
                                    struct job *job);

// Close it; no vote is expected.
void ballots_close (struct ballots *self, struct worker_ballot **ballot);

// The ballot that was opened last, or NULL; the others follow by `next`.
struct worker_ballot *ballots_first (const struct ballots *self);

// What the requester calls the voter: the worker's name, or NAME#2 and so on for the second worker
// of that name. The worker is still there.
const char *voter_name (const struct ballot_worker *voter, char out[VOTER_NAME_SIZE]);

// Whether the worker has the ballot.
bool voter_has_ballot (const struct ballot_worker *voter);

// Its time restarts: it has got the ballot, or reports that it is at it.
void voter_alive (struct ballots *self, struct ballot_worker *voter);

// Its vote is not expected any more, and it does not have the ballot.
void voter_settle (struct ballots *self, struct ballot_worker *voter);

// A voter whose deadline is past, or NULL.
struct ballot_worker *voter_overdue (const struct ballots *self);
