// A job: a request on its way to a worker and back. It owns the request's bytes until its answer is
// sent.
#pragma once

#include <sys/queue.h>

#include "frames.h"
#include "message.h"
#include "table.h"

enum { RUN_ID_MAX = 64, RUN_IDENTITY_MAX = 255 }; // largest ids of a run that may be resent

struct job {
    TAILQ_ENTRY (job) place; // in a queue
    struct table_node node;  // in the table `runs`
    struct table *runs;      // the table of runs by mailbox; borrowed; NULL = not in a table
    bool is_run;     // a run of a plan, answered RUNING first; else a call, whose requester waits
    uint64_t number; // order of arrival
    bool rerouted;   // an answer had to be sent to zpland's request socket
    bool cancelled;  // the requester no longer waits for it
    int64_t deadline_s;     // Unix seconds after which a run must not start; 0 = none
    struct frames *renewed; // `identity` and `local_id` of a resent run; owned; NULL = not resent
    struct span local_id;   // LOCAL_ID of the answers to a resent run
    struct span identity;   // the requester's connection
    struct span mailbox;    // the mailbox that the worker receives and answers
    struct message message; // the request
    size_t size;            // bytes, including the request
    // The connection, then what the worker receives: mailbox, description and frames as received.
    // The spans above point into it. Owned.
    struct frames *received;
};

// Copy a request received on this connection. The mailbox of a plan's run is the plan's own,
// exactly as received; for any other request it is generated, starts with '+' and is new each time.
struct job *job_new (struct span identity, const struct message *request);

// Destroy the job, remove it from the table of runs, and set the pointer to NULL.
void job_destroy (struct job **self);

// Add a run to the table; it is removed when it is destroyed.
void job_add_to_runs (struct job *self, struct table *runs);

// Find the job in the table that this run is a duplicate of; zpland resends a run if it does not
// know whether the run arrived. Duplicates have the same mailbox, PLAN_TIME and frames, except for
// the PLAN frame and the LOCAL_ID. A cancelled job does not match. NULL = none.
struct job *job_find_duplicate (const struct table *runs, struct span identity,
                                const struct message *run);

// Record that the run was resent on this connection: from now on the job's answers are sent on it,
// with the LOCAL_ID of this delivery. The job was found by job_find_duplicate.
void job_update_delivery (struct job *self, struct span identity, const struct message *run);

// The `deadline` of a run's PLAN frame in Unix seconds, 0 where there is none (proto 7.2).
int64_t run_deadline_s (const struct message *run);

// Whether the deadline is past: then the run must not start, since zpland resends it. False also
// for 0, no deadline.
bool deadline_past (int64_t deadline_s);

// Jobs that wait for a worker, oldest first.
struct job_queue {
    TAILQ_HEAD (, job) jobs;
    size_t count;
    size_t bytes;
};

void job_queue_push (struct job_queue *self, struct job *job);

// Remove and return the oldest job; NULL: the queue is empty.
struct job *job_queue_pop (struct job_queue *self);

// Remove the job, which must be in the queue.
void job_queue_remove (struct job_queue *self, struct job *job);
