// A job: a request on its way to a worker and back. It owns the request's bytes, in one allocation
// with itself, until its answer is sent.
#pragma once

#include "message.h"
#include "table.h"

enum { RUN_ID_MAX = 64, RUN_IDENTITY_MAX = 255 }; // of a run that may be resent

enum job_kind {
    JOB_CALL, // the requester waits for the answer
    JOB_RUN   // a run of a plan: answered RUNING first, the result follows
};

struct job {
    struct job *next;       // in a queue
    struct table_node node; // of `runs`
    struct table *runs;     // by mailbox; borrowed, NULL = it is in none
    enum job_kind kind;
    uint64_t number;        // in the order in which they came
    bool rerouted;          // an answer had to go to zpland's request socket
    bool cancelled;         // its worker was notified that it is cancelled
    int64_t deadline_s;     // Unix seconds after which a run must not start; 0 = none
    uint8_t *renewed;       // of a run that was resent: what the next two point into; owned
    struct span local_id;   // LOCAL_ID of the answers to a resent run
    struct span identity;   // the requester's connection
    struct span mailbox;    // what the worker gets and answers to
    struct message message; // the request
    size_t size;            // bytes of the whole allocation
    uint8_t bytes[];        // what the spans above point into
};

// Copy a request that came in on this connection. The mailbox of a plan's run is the plan's own,
// exactly as received; for any other request it is made here, starts with '+' and is new each time.
struct job *job_new (struct span identity, const struct message *request, enum job_kind kind);

// Also takes it out of the table.
void job_destroy (struct job **self);

// Enter a run in the table, to be found there until it is destroyed.
void job_enter (struct job *self, struct table *runs);

// The job in the table of which this run is a duplicate, as zpland resends a run of
// which it does not know whether it arrived: the same mailbox, PLAN_TIME and frames, except for
// the PLAN frame and the LOCAL_ID. A cancelled job does not match. NULL = none.
struct job *job_find_same (const struct table *runs, struct span identity,
                           const struct message *run);

// The run was resent on this connection, and job_find_same has found its job: answers go there from
// now on, with the LOCAL_ID of this run.
void job_renew (struct job *self, struct span identity, const struct message *run);

// What the worker gets: mailbox, description and frames as they came. Returns the number of frames.
size_t job_layout (const struct job *self, struct span out[MESSAGE_FRAMES_MAX]);

// The `deadline` of a run's PLAN frame in Unix seconds, 0 where there is none (proto 7.2).
int64_t run_deadline_s (const struct message *run);

// Whether that deadline is past: the run will have been sent again, so it must not start.
bool deadline_past (int64_t deadline_s);

// Jobs that wait for a worker, oldest first.
struct job_queue {
    struct job *head;
    struct job *tail;
    size_t count;
    size_t bytes;
};

void job_queue_push (struct job_queue *self, struct job *job);

// The oldest, or NULL.
struct job *job_queue_pop (struct job_queue *self);

// Take out the job, which is there.
void job_queue_remove (struct job_queue *self, const struct job *job);
