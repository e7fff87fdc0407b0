// The station: its sockets, its jobs, its counts.
#pragma once

#include "allow.h"
#include "ballot.h"
#include "curve.h"
#include "options.h"
#include "plan_link.h"

// Everything that is dropped or fails is counted; the counts are logged at the end.
enum count {
#define COUNT(name, word) COUNT_##name,
#include "counts.def"
    COUNT_END
};

// Limit for the bytes of requests that are queued (api) or being voted on (vote).
enum { STATION_BYTES_MAX = 256 << 20 };

struct target_server;

// A parsed request; everything is borrowed from the packet.
struct target_request {
    struct span identity;
    struct message message;
};

// The handler of a request.
typedef void target_request_fn (struct target_server *station,
                                const struct target_request *request);

// A type of station.
struct station_kind {
    int answers_max;           // answers that may wait for one slow requester
    target_request_fn *start;  // handles a call or a run
    target_request_fn *cancel; // handles a CLOSE_REQUEST
    size_t jobs_max; // jobs that one worker may have at once, at most WORKER_JOBS_MAX; 0: the type
                     // has no workers, and everything below is NULL
    bool by_command; // true: a worker may name the commands that it takes

    // What happens to workers. These functions may send messages, lose workers and give jobs.

    // The worker got a credit: it can take a job.
    void (*ready) (struct target_server *station, struct worker *worker);
    // The worker sent a message about a job that it has; the job still exists.
    void (*answer) (struct target_server *station, struct worker *worker, struct job *job,
                    struct message *answer);
    // The worker sent a malformed message about a job that it has, so no other answer will come;
    // the job still exists.
    void (*broken) (struct target_server *station, struct worker *worker, struct job *job);
    // The worker was removed, and is freed afterwards; it had these jobs, oldest first. `what` is
    // the reason, as text that follows the worker's name ("is gone").
    void (*lost) (struct target_server *station, struct worker *worker, struct job **jobs,
                  size_t count, const char *what);
    // The worker drains: no job may wait for it any more.
    void (*drained) (struct target_server *station, struct worker *worker);

    void (*tick) (struct target_server *station);
    // The station is stopping, and frontend_make_job accepts no more requests: answer the jobs that
    // no worker has received yet. NULL: there are none.
    void (*drain) (struct target_server *station);
    // Whether the stop must wait, as answers are outstanding. NULL: it never waits.
    bool (*busy) (const struct target_server *station);
    void (*stop) (struct target_server *station); // answer all remaining requests
};

// api: every request becomes a job for one worker; pub: it is published to the subscribers of its
// title; vote: it goes to all workers, and all their answers go to the requester.
extern const struct station_kind api_station, pub_station, vote_station;

struct target_server {
    const struct station_kind *kind; // the type, as in options.type
    struct options options;
    struct curve_keys keys;          // our own keys, with options.curve
    struct allow *allow;             // with options.curve; else NULL
    void *request;                   // ROUTER: clients and stations (zpland)
    struct plan_link plan;           // with options.plan
    void *backend;                   // ROUTER: workers; api and vote
    void *publish;                   // XPUB; pub only
    struct subscribers *subscribers; // subscriptions at `publish`, which are limited
    struct workers workers;          // api and vote
    bool serving; // api: the queue is being served; stranded jobs are failed when that has ended
    bool has_stranded;      // queued jobs may have lost the last worker that takes them
    struct job_queue queue; // api only: jobs that wait for a worker that takes them
    struct table runs;      // api only: jobs of plans' runs, by mailbox
    struct ballots ballots; // vote only
    bool stopping;          // the station accepts no more requests, and ends when it is not busy
    uint64_t counts[COUNT_END];
};

// Load the keys that may connect, and our own; call it before anything is bound. 0, or -1 with a
// reason: a file that an option names cannot be used.
int station_open_curve (struct target_server *self, struct reason *reason);

// Open and bind the sockets of the station's type. 0, or -1 with a reason.
int station_open (struct target_server *self, struct reason *reason);

// Make a ROUTER process the disconnects known so far, which it otherwise does only when it is read.
// Called before a send whose failure matters.
void station_process_disconnects (void *router);

// Close everything; the last answers get a moment to be sent.
void station_close (struct target_server *self);

// Log the counts.
void station_log_counts (const struct target_server *self);
