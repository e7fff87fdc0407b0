// libzplan, the half for workers: take jobs from a target station, one at a time, and answer them.
//
//     struct zplan_worker *worker = zplan_worker_new ("tcp://127.0.0.1:7931", "printer-1");
//     for (;;) {
//         const struct zplan_job *job = zplan_worker_recv (worker, -1);
//         if (job)
//             zplan_worker_answer (worker, &(struct zplan_answer){.status = ZERO_STATUS_OK_ID});
//     }
//
// A job may come twice: when its answer was lost, or the worker was silent for so long that the
// station gave it up (10 seconds by default). Two deliveries of one run differ in nothing but
// exec_id, so work that must not be done twice is keyed by plan_id and plan_time_s.
//
// A worker belongs to one thread at a time. Destroy it before the process exits: the ZeroMQ context
// waits for it at exit.
#ifndef ZPLAN_WORKER_H
#define ZPLAN_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zplan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct zplan_worker;

// A job in hand. All of it belongs to the worker and lasts until the job is answered, or the worker
// destroyed. A frame that the job does not have is NULL.
struct zplan_job {
    uint64_t plan_id;    // of the plan that fires; 0 = an ordinary call
    uint64_t exec_id;    // of this run, another one each time the plan is sent; 0 = none was given
    int64_t plan_time_s; // nominal time of the run, Unix seconds; -1 = none was given
    int64_t deadline_s;  // Unix seconds at which the plan is sent again; 0 = none was given
    const char *title;   // the plan's description, UTF-8; "" = none
    const struct zplan_frame *command;  // COMMAND
    const struct zplan_frame *argument; // the first ARG; without one the first CONTENT
    const struct zplan_frame *context;  // CONTEXT
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // all of them, in the order of the wire
};

// The final answer to a job. Everything in it is borrowed for the call.
struct zplan_answer {
    uint8_t status;       // ZERO_STATUS_OK_ID; from ZERO_STATUS_ERROR_FLAG on it is a failure
    const char *reason;   // UTF-8, why, goes into a STATUS frame; NULL = no such frame
    uint8_t content_type; // ZERO_FRAME_CONTENT (text), _BIN, _JSON, _XML; 0 = no content
    const void *content;
    size_t content_size; // bytes, at most 1 MiB
};

// A worker of the station whose workers' port is at `endpoint` (tcp://HOST:PORT or ipc://PATH).
// `name` is what the station calls it in its log and in answers: 1 to 64 of A-Z a-z 0-9 _ . -, the
// same name twice is allowed: to a vote station the second is the voter NAME#2. It joins when the
// station is there, and again when the station or the connection is made anew. NULL: errno is
// EINVAL for a wrong endpoint or name, else why there is no socket. Give it back with
// zplan_worker_destroy.
struct zplan_worker *zplan_worker_new (const char *endpoint, const char *name);

// The same with CURVE, as zplan_client_new_curve; `server_key` is that of the target station.
struct zplan_worker *zplan_worker_new_curve (const char *endpoint, const char *name,
                                             const struct zplan_curve *curve);

// Tells the station that the worker leaves - a job in hand is then answered as failed - and takes
// it away; the pointer becomes NULL, and NULL is fine. The last messages have one second to leave.
void zplan_worker_destroy (struct zplan_worker **worker);

// Ask for a job and wait for it, at most `timeout_ms` milliseconds; 0 does not wait, below 0 waits
// for ever. NULL: none came, or a signal was caught (errno is EINTR then and 0 otherwise). The
// signs of life that keep a worker joined are sent from inside this call, so it must be called at
// least each second or two, while a job is worked on as well: it then returns NULL after the
// time-out, and there is no other job until this one is answered.
const struct zplan_job *zplan_worker_recv (struct zplan_worker *worker, int64_t timeout_ms);

// Say that the job in hand is still being worked on, so that a plan's lease goes on. 0, or -1:
// there is no job in hand, or the message could not be queued.
int zplan_worker_waiting (struct zplan_worker *worker);

// Answer the job in hand, which is then gone whatever this returns. 0: the answer is queued for the
// station. -1: there was no job, the content is too large, or it could not be queued.
int zplan_worker_answer (struct zplan_worker *worker, const struct zplan_answer *answer);

// Whether the station has taken the worker in.
bool zplan_worker_joined (const struct zplan_worker *worker);

// Why the station refused the worker when it last asked to join; "" if it did not. It asks again
// each second. The text lasts until the next zplan_worker_recv.
const char *zplan_worker_refusal (const struct zplan_worker *worker);

// The ZeroMQ socket, to wait for it together with others (zmq_poll for ZMQ_POLLIN, then
// zplan_worker_recv with time-out 0). It belongs to the worker; do nothing else with it. It is
// another one, or NULL, after a lost connection: ask for it before each wait.
void *zplan_worker_socket (const struct zplan_worker *worker);

// How long such a wait may be before zplan_worker_recv must be called, in milliseconds.
int64_t zplan_worker_wait_ms (const struct zplan_worker *worker);

#ifdef __cplusplus
}
#endif

#endif
