// The workers that have joined: found by connection, chosen by credit and least recent use, lost
// when they are unresponsive.
//
// A worker is the connection it came by; two may have one name. It gets a job only for a credit
// (READY), and never has more of them than it said when it joined: nothing is sent to a worker that
// did not ask for it.
#pragma once

#include "heap.h"
#include "job.h"

enum { WORKER_NAME_SIZE = 65, WORKER_IDENTITY_MAX = 255, WORKER_JOBS_MAX = 64 };

struct ballot_worker;

struct voter_queue {
    struct ballot_worker *head;
    struct ballot_worker *tail;
};

struct worker {
    struct heap_node ready;    // in the heap while it is free; key: its last use
    struct heap_node life;     // key: monotonic microseconds at which it is lost
    struct worker *next;       // in its bucket
    struct voter_queue voters; // vote only: the ballots it is to vote in, oldest first
    size_t credit;             // how many times it said READY and got no job for it yet
    int64_t used;              // the turn in which it last got a job, or joined
    int64_t joined;            // the turn in which it joined
    int64_t joined_s;          // when that was, Unix seconds
    bool takes_cancel;         // it wants to be notified when one of its jobs is cancelled
    bool draining;             // it gets no more jobs
    char *commands;            // that it takes, ",A,B,"; NULL = all. Owned
    char name[WORKER_NAME_SIZE];
    size_t identity_size;
    uint8_t identity[WORKER_IDENTITY_MAX];
    size_t job_count;
    size_t jobs_max;    // how many jobs it may have at once
    struct job *jobs[]; // the jobs that it has, oldest first
};

struct workers;

// `timeout_us`: how long a worker may be silent.
struct workers *workers_new (int64_t timeout_us);

// Jobs of workers are neither freed nor answered.
void workers_destroy (struct workers **self);

size_t workers_count (const struct workers *self);

// Those among them that are not draining.
size_t workers_serving (const struct workers *self);

// One of them, `i` below their count; in no order that lasts.
struct worker *workers_at (const struct workers *self, size_t i);

// The jobs in the hands of all of them.
size_t workers_jobs (const struct workers *self);

// For qsort, of pointers to workers: by name, those of one name as they joined.
int workers_order (const void *left, const void *right);

// The worker of this connection, or NULL.
struct worker *workers_find (const struct workers *self, struct span identity);

// Register a connection that is not known yet. The name and identity fit the sizes above; it takes
// at most `jobs_max` jobs at once, 1 to WORKER_JOBS_MAX.
struct worker *workers_join (struct workers *self, struct span identity, struct span name,
                             size_t jobs_max);

// It takes only jobs of these commands: names of 1..256 bytes with commas between. False: it is no
// such list, and nothing has changed.
bool workers_limit (struct workers *self, struct worker *worker, struct span names);

// Whether some worker that is not draining takes this command.
bool workers_take_any (const struct workers *self, struct span command);

// Whether some worker does not take all commands.
bool workers_are_limited (const struct workers *self);

// It sent a heartbeat.
void workers_alive (struct workers *self, struct worker *worker);

// It gets no more jobs: its credits are gone, and it has no further ones.
void workers_drain (struct workers *self, struct worker *worker);

// It may get one job more. Credits beyond jobs_max change nothing, and those of one that drains.
void workers_credit (struct workers *self, struct worker *worker);

// It wants no more jobs than it has: its credits are gone.
void workers_no_credit (struct workers *self, struct worker *worker);

// Whether it has a credit and a free slot.
bool worker_is_free (const struct worker *worker);

// Whether it has the job.
bool worker_has (const struct worker *worker, const struct job *job);

// Its job that this answer is about: of several with that mailbox - runs of one plan - the one with
// the answer's LOCAL_ID, else the oldest. NULL = none.
struct job *worker_job_of (const struct worker *worker, const struct message *answer);

// The worker whose turn it is, or NULL when none has a credit; and among those that take this
// command.
struct worker *workers_next (const struct workers *self);
struct worker *workers_next_for (const struct workers *self, struct span command);

// Give it the job, for its credit.
void workers_give (struct workers *self, struct worker *worker, struct job *job);

// Take the job, which is there, from it.
void workers_take (struct workers *self, struct worker *worker, const struct job *job);

// One that was unresponsive for too long, or NULL.
struct worker *workers_unresponsive (const struct workers *self);

// Any one, or NULL: to empty the registry.
struct worker *workers_any (const struct workers *self);

// Take it out of the registry, with its jobs.
void workers_remove (struct workers *self, struct worker *worker);

// Free a worker that was taken out.
void worker_destroy (struct worker **self);
