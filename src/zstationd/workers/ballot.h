// A ballot: a request that all workers are to answer. The voters are the workers that had joined,
// and were not draining, when it was opened; it is over when no vote is expected any more.
//
// A voter is in its worker's queue until it has voted or is lost. The job of a worker, if it has
// one, is the ballot of the first voter in its queue.
#pragma once

#include "heap.h"
#include "workers.h"

enum { VOTER_NAME_SIZE = WORKER_NAME_SIZE + 8 }; // "#10000"

struct ballot_worker {
    struct heap_node deadline; // in the heap `deadlines` while its vote is expected; monotonic
    struct worker_ballot *ballot;
    struct worker *worker;             // NULL when its vote is not expected any more
    TAILQ_ENTRY (ballot_worker) place; // in its worker's queue
    size_t number;                     // among voters with the same name: 1, 2, ...
};

struct worker_ballot {
    LIST_ENTRY (worker_ballot) place; // in the list of open ballots
    struct job *job;                  // the request, owned; shared by the workers that have it
    size_t size;                      // bytes, including the request
    size_t expected;                  // votes that may still come
    bool cut; // an answer was lost: the rest is not sent, as it would look complete
    size_t count;
    struct ballot_worker voters[]; // sorted by name, then by the order of joining
};

// The open ballots. All zero: there are none.
struct ballots {
    int64_t timeout_us; // how long a voter may send neither a vote nor a heartbeat
    size_t count;
    size_t bytes; // of all open ballots
    struct heap deadlines;
    LIST_HEAD (, worker_ballot) open; // latest first
};

// The size of a ballot on this job with `voters` voters.
size_t ballot_size (const struct job *job, size_t voters);

// Open a ballot that owns the job. The voters are all workers that are not draining; they do not
// get the ballot yet.
struct worker_ballot *ballots_open (struct ballots *self, const struct workers *workers,
                                    struct job *job);

// Close a ballot and free it. No vote may be expected any more.
void ballots_close (struct ballots *self, struct worker_ballot *ballot);

// The name of the voter in answers: the worker's name, or NAME#2 and so on for further workers of
// that name. The worker must still exist.
const char *voter_name (const struct ballot_worker *voter, char out[VOTER_NAME_SIZE]);

// Whether the voter's worker has received the ballot and not answered it.
bool voter_has_ballot (const struct ballot_worker *voter);

// Restart the timeout of a voter that received the ballot or sent a heartbeat.
void voter_restart_timeout (struct ballots *self, struct ballot_worker *voter);

// Expect no more votes from a voter that does not have the ballot, and remove it from its worker's
// queue.
void voter_remove (struct ballots *self, struct ballot_worker *voter);

// A voter whose deadline is past, or NULL.
struct ballot_worker *voter_overdue (const struct ballots *self);
