// The workers' port of a station: workers join, ask for a job, send heartbeats, answer, leave. The
// station's type defines jobs and handles answers.
#pragma once

#include "station.h"

enum { WORKERS_MAX = 10000 };

// The handlers of a type of station for its workers. A handler may send messages, lose workers and
// give jobs.
struct worker_rules {
    // The worker got a credit: it can take a job.
    void (*ready) (struct target_server *station, struct worker *worker);
    // The worker sent a message about a job that it has; the job still exists.
    void (*answer) (struct target_server *station, struct worker *worker, struct job *job,
                    struct message *answer);
    // The worker sent a malformed message about a job that it has, so no other answer will come;
    // the job still exists.
    void (*broken) (struct target_server *station, struct worker *worker, struct job *job);
    // The worker was removed, and is freed afterwards; it had these jobs, oldest first. `what` is
    // the reason, as text that follows its name ("is gone").
    void (*lost) (struct target_server *station, struct worker *worker, struct job **jobs,
                  size_t count, const char *what);
    // The worker drains: no job may wait for it any more.
    void (*drained) (struct target_server *station, struct worker *worker);
    size_t jobs_max; // jobs that one worker may have at once, at most WORKER_JOBS_MAX
    bool by_command; // true: a worker may name the commands that it takes
};

// Receive one message of the port. False: there was none.
bool backend_recv (struct target_server *station);

// Hand the job to a worker that has a credit. False: it cannot be reached and was lost, the job is
// still the caller's.
bool backend_give_job (struct target_server *station, struct worker *worker, struct job *job);

// Remove and free a worker; `what` is the reason, as text that follows its name ("is gone").
void backend_lose_worker (struct target_server *station, struct worker *worker, const char *what);

// Give a worker no more jobs, and notify it that it should finish the jobs it has and leave. One
// that cannot be reached is lost, and freed.
void backend_drain_worker (struct target_server *station, struct worker *worker);

// Lose the workers that were unresponsive for too long.
void backend_tick (struct target_server *station);

// Remove all workers, as the station stops.
void backend_stop (struct target_server *station);

// Whether the status means that the worker still works on the job: WAITING, RUNING, or VOTE_START,
// whose number is the command WAITING (no worker reports the start of a vote).
bool is_heartbeat (uint8_t status);
