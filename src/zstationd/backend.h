// The workers' port of a station: workers join, ask for a job, send heartbeats, answer, leave. The
// station's type defines jobs and handles answers.
#pragma once

#include "station.h"

enum { WORKERS_MAX = 10000 };

// Receive one message of the port. False: there was none.
bool backend_recv (struct target_server *station);

// Hand the job to a worker that has a credit. False: the worker could not be reached and was
// removed; the job is still the caller's.
bool backend_give_job (struct target_server *station, struct worker *worker, struct job *job);

// Remove and free a worker; `what` is the reason, as text that follows the worker's name ("is
// gone").
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
