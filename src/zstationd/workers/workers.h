// The workers that have joined: found by connection, chosen by credit and least recent use, lost
// when they are unresponsive.
//
// A worker is identified by its connection; two may have the same name. It gets a job only for a
// credit (READY), and never more concurrent jobs than it announced when it joined.
#pragma once

#include "heap.h"
#include "job.h"
#include "table.h"

enum { WORKER_NAME_SIZE = 65, WORKER_IDENTITY_MAX = 255, WORKER_JOBS_MAX = 64 };

struct ballot_worker;

TAILQ_HEAD (voter_queue, ballot_worker);

struct worker {
    struct heap_node ready;    // in the heap `ready` while it is free; key: its last use
    struct heap_node life;     // key: monotonic microseconds at which it is lost
    struct table_node node;    // in the table `known`
    struct voter_queue voters; // vote only: the ballots it has to vote in, oldest first
    size_t credit;             // number of READYs without a job yet
    int64_t used;              // the turn in which it last got a job, or joined
    int64_t joined;            // the turn in which it joined
    int64_t joined_s;          // time of joining, Unix seconds
    bool takes_cancel;         // it is notified when one of its jobs is cancelled
    bool draining;             // it gets no more jobs
    char *commands;            // commands that it takes, "A,B"; NULL = all. Owned
    char name[WORKER_NAME_SIZE];
    size_t identity_size;
    uint8_t identity[WORKER_IDENTITY_MAX];
    size_t job_count;
    size_t jobs_max;    // how many jobs it may have at once
    struct job *jobs[]; // the jobs that it has, oldest first
};

// The registry of workers. All zero is empty; workers_start sets it up. Only the functions below
// change it.
struct workers {
    int64_t timeout_us; // how long a worker may send nothing before it is lost
    int64_t turn;       // grows with every job given and every worker joined
    uint64_t seed;      // secret seed of the hash, since peers choose their identities
    size_t count;       // workers
    size_t draining;    // workers that drain
    size_t limited;     // workers that do not take all commands
    size_t jobs;        // jobs in progress, of all workers
    struct heap ready;
    struct heap life;   // all workers
    struct table known; // all workers, by identity
};

// Set up the empty registry.
void workers_start (struct workers *self, int64_t timeout_us);

// Free the workers; their jobs are neither freed nor answered.
void workers_clear (struct workers *self);

// The number of workers that are not draining.
size_t workers_serving (const struct workers *self);

// The worker at index `i`, below their count; the order may change.
struct worker *workers_at (const struct workers *self, size_t i);

// For qsort of pointers to workers: by name, then by the order of joining.
int workers_compare (const void *left, const void *right);

// The worker of this connection, or NULL.
struct worker *workers_find (const struct workers *self, struct span identity);

// Register a connection that is not known yet. The name and identity must fit the sizes above; the
// worker has at most `jobs_max` jobs at once, 1 to WORKER_JOBS_MAX.
struct worker *workers_join (struct workers *self, struct span identity, struct span name,
                             size_t jobs_max);

// Limit the worker to jobs of these commands: comma-separated names of 1..256 bytes. False: invalid
// list, and nothing has changed.
bool workers_set_commands (struct workers *self, struct worker *worker, struct span names);

// Whether at least one worker that is not draining takes this command.
bool workers_any_takes (const struct workers *self, struct span command);

// Restart the timeout of a worker that sent a message.
void workers_restart_timeout (struct workers *self, struct worker *worker);

// Drain the worker: its credits are removed, and it gets no new ones.
void workers_drain (struct workers *self, struct worker *worker);

// Add a credit for one more job. Credits beyond jobs_max, and those of a draining worker, have no
// effect.
void workers_credit (struct workers *self, struct worker *worker);

// Remove all credits: the worker wants no more jobs.
void workers_clear_credit (struct workers *self, struct worker *worker);

// Whether the worker has a credit and a free slot.
bool worker_is_free (const struct worker *worker);

// Whether the worker has the job.
bool worker_has (const struct worker *worker, const struct job *job);

// The worker's job that this answer is about: of several runs of one plan, with the same mailbox,
// the one with the answer's LOCAL_ID, else the oldest. NULL = none.
struct job *worker_job_of (const struct worker *worker, const struct message *answer);

// The free worker that was used least recently, or NULL. workers_next_for considers only workers
// that take this command.
struct worker *workers_next (const struct workers *self);
struct worker *workers_next_for (const struct workers *self, struct span command);

// Record that the free worker has the job, which costs one credit.
void workers_assign_job (struct workers *self, struct worker *worker, struct job *job);

// Record that the worker no longer has the job, which it must have.
void workers_release_job (struct workers *self, struct worker *worker, const struct job *job);

// A worker whose timeout has expired, or NULL.
struct worker *workers_unresponsive (const struct workers *self);

// Any worker, or NULL: to empty the registry.
struct worker *workers_any (const struct workers *self);

// Remove the worker from the registry, with its jobs.
void workers_remove (struct workers *self, struct worker *worker);

// Free a worker that was removed.
void worker_destroy (struct worker **self);
