// The workers' port of a station: workers join, ask for a job, send heartbeats, answer, leave. The
// station's type defines jobs and handles answers.
#pragma once

#include "station.h"

enum { WORKERS_MAX = 10000 };

// The handlers of a type of station for its workers. A row may send, lose workers and give jobs.
struct worker_rules {
    // The worker has a credit.
    void (*ready) (struct target_server *station, struct worker *worker);
    // It said something about a job that it has; the job is still there.
    void (*answer) (struct target_server *station, struct worker *worker, struct job *job,
                    struct message *answer);
    // What it said about a job that it has cannot be read, and nothing else will come; the job is
    // still there.
    void (*broken) (struct target_server *station, struct worker *worker, struct job *job);
    // It is no longer among the workers and freed afterwards; it had these jobs, oldest first.
    // `what` became of it, as text that follows its name.
    void (*lost) (struct target_server *station, struct worker *worker, struct job **jobs,
                  size_t count, const char *what);
    // It drains: no job may wait for it any more.
    void (*drained) (struct target_server *station, struct worker *worker);
    size_t jobs_max; // that one worker may have at once, at most WORKER_JOBS_MAX
    bool by_command; // a worker may name the commands that it takes
};

// Receive one message of the port. False: there was none.
bool port_recv (struct target_server *station);

// Hand the job to a worker that has a credit. False: it cannot be reached and was lost, the job is
// still the caller's.
bool port_give (struct target_server *station, struct worker *worker, struct job *job);

// Forget a worker, which is freed; `what` as above.
void port_lose (struct target_server *station, struct worker *worker, const char *what);

// Give a worker no more jobs, and notify it: it is to end what it has, and to leave. One that
// cannot be reached is lost, and freed.
void port_drain (struct target_server *station, struct worker *worker);

// Lose the workers that were unresponsive for too long.
void port_tick (struct target_server *station);

// Lose them all: the station stops.
void port_stop (struct target_server *station);

// Statuses after which the worker is still at it. 23, VOTE_START, is what WAITING is among the
// commands: a worker that votes has no start to report.
bool is_heartbeat (uint8_t status);
