// libzplan, the part for workers: take jobs, do them, answer them. The jobs come from a target
// station (zstationd), or are the plans of a pull target of zpland itself (option `pull`).
//
// A worker has a thread of its own that talks to the station: it joins, requests jobs, answers, and
// sends heartbeats for every job in progress. So a job may take any time, and the caller's code
// blocks nothing. There are three ways to process jobs:
//
//   handlers   zplan_worker_handle, then zplan_worker_run: it calls them;
//   own loop   zplan_worker_fd and zplan_worker_process: your event loop calls the handlers;
//   by hand    zplan_worker_take.
//
// A whole worker with handlers:
//
// ---- example: worker_handlers
//     #include <signal.h>
//     #include <stdio.h>
//     #include <zplan_worker.h>
//
//     static struct zplan_worker *worker;
//
//     static void stop (int number)
//     {
//         (void)number;
//         zplan_worker_leave (worker); // as write(2): may be called here
//     }
//
//     static int greet (struct zplan_job *job, struct zplan_answer *answer, void *context)
//     {
//         static const char text[] = "hello";
//         (void)context;
//         zplan_job_progress (job, 50, "thinking of something to say");
//         answer->content_type = ZERO_FRAME_CONTENT;
//         answer->content = text;
//         answer->content_size = sizeof text - 1;
//         return ZERO_STATUS_OK_ID;
//     }
//
//     int main (int argc, char **argv)
//     {
//         worker = zplan_worker_new (&(struct zplan_worker_options){
//             .endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:7931", .name = "greeter"});
//         if (!worker || zplan_worker_handle (worker, "greet", greet, NULL)) {
//             perror ("greeter");
//             return 1;
//         }
//         signal (SIGTERM, stop);
//         zplan_worker_run (worker, -1); // ends when the worker has left
//         zplan_worker_destroy (&worker);
//         return 0;
//     }
// ---- end
//
// A worker that takes a job by hand:
//
// ---- example: worker_hands
//     #include <stdio.h>
//     #include <zplan_worker.h>
//
//     int main (int argc, char **argv)
//     {
//         struct zplan_worker *worker = zplan_worker_new (&(struct zplan_worker_options){
//             .endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:7931", .name = "printer"});
//         struct zplan_job *job = worker ? zplan_worker_take (worker, 60000) : NULL;
//         if (job) {
//             printf ("run %llx of plan %llx\n", (unsigned long long)job->exec_id,
//                     (unsigned long long)job->plan_id);
//             if (!job->argument)
//                 zplan_job_fail (job, "nothing to print");
//             else
//                 zplan_job_answer (job, &(struct zplan_answer){.status = ZERO_STATUS_OK_ID});
//         }
//         zplan_worker_destroy (&worker);
//         return job ? 0 : 1;
//     }
// ---- end
//
// And in your own event loop:
//
// ---- example: worker_loop
//     #include <poll.h>
//     #include <unistd.h>
//     #include <zplan_worker.h>
//
//     static int echo (struct zplan_job *job, struct zplan_answer *answer, void *context)
//     {
//         (void)context;
//         if (!job->argument)
//             return ZERO_STATUS_OK_ID;
//         answer->content_type = ZERO_FRAME_BIN; // the job's bytes last until it is answered
//         answer->content = job->argument->data;
//         answer->content_size = job->argument->size;
//         return ZERO_STATUS_OK_ID;
//     }
//
//     int main (int argc, char **argv)
//     {
//         struct zplan_worker *worker = zplan_worker_new (&(struct zplan_worker_options){
//             .endpoint = argc > 1 ? argv[1] : "tcp://127.0.0.1:7931",
//             .name = "echo",
//             .credit = 4});
//         if (!worker || zplan_worker_handle (worker, NULL, echo, NULL))
//             return 1;
//         while (!zplan_worker_left (worker)) {
//             struct pollfd items[] = {{zplan_worker_fd (worker), POLLIN, 0},
//                                      {STDIN_FILENO, POLLIN, 0}};
//             poll (items, 2, -1);
//             char byte;
//             if (items[1].revents && read (STDIN_FILENO, &byte, 1) <= 0)
//                 zplan_worker_leave (worker); // end of input
//             zplan_worker_process (worker);
//         }
//         zplan_worker_destroy (&worker);
//         return 0;
//     }
// ---- end
//
// With `.endpoint = "tcp://127.0.0.1:7920", .pull = "jobs"` the same worker needs no zstationd: it
// fetches the plans of the pull target `jobs` from zpland. The differences:
//
//   * An answer's content is at most 65536 bytes as JSON, nested at most 15 deep; another one is
//     ARGUMENT.
//   * An answer is kept until the station has acknowledged it, also while the station is away; the
//     worker has left only then, or when the job's worker_timeout has expired.
//   * The worker learns within 5 seconds, or the plan's ping_interval if shorter, that a job was
//     cancelled.
//   * zplan_worker_joined: the station answers; the number grows after each outage.
//   * zplan_job_lost is never true: the station knows its jobs after a restart.
//
// A job may come twice: when its answer was lost, or when the station dropped the worker, as it
// does after 10 seconds without a message (zstationd --worker-timeout). Two deliveries of one run
// differ only in exec_id, and `flow retry` makes another plan of the same call: work that must not
// be done twice is identified by idempotency_key.
//
// Threads: any thread may make any call on a worker and on its jobs, also several at once: to run
// the handlers of a worker with credit 4 in four threads, call zplan_worker_run in each. Only
// zplan_worker_destroy must be the last call, with no other in progress. After a fork only the
// parent may use the worker.
//
// A worker needs three threads and about 12 descriptors. It sets no signal handler, its threads
// receive no signals, and it does not affect other workers and clients of the process. Calls return
// an enum zplan_error (zplan_error.h) unless they say otherwise. When memory is exhausted they
// return an error; libzmq, which they use, then ends the process.
#ifndef ZPLAN_WORKER_H
#define ZPLAN_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zplan_error.h"
#include "zplan_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ZPLAN_CREDIT_MAX = 64,   // concurrent jobs
    ZPLAN_PROGRESS_MAX = 256 // bytes of a progress text; longer ones are cut
};

struct zplan_worker;

struct zplan_worker_options {
    // Workers' port of a target station: tcp://HOST:PORT or ipc://PATH. May be a list as in
    // zplan_client_new (zplan_client.h): of several workers' ports the next one is tried when one
    // has not answered for three seconds
    const char *endpoint;
    const char *name;                // 1 to 64 of A-Z a-z 0-9 _ . -
    const struct zplan_curve *curve; // server_key: the target station's. NULL = not encrypted
    int credit;                      // concurrent jobs, 1 to ZPLAN_CREDIT_MAX; 0 = 1
    // The pull target whose plans are fetched: `endpoint` is then the request socket of the plan
    // station, or the list of those of several on one database, and `server_key` its key. Answers
    // wait for the station that takes over. NULL = `endpoint` is a workers' port
    const char *pull;
    // Comma-separated names, each of 1..256 bytes, at most 4096 in all: the worker takes only jobs
    // of these commands. Not with `pull`. A target station of an earlier version ignores it: then
    // jobs of other commands come as well. NULL = all
    const char *commands;
};

// A job in progress. It and everything it points to belong to the worker, until it is answered or
// the worker is destroyed. It is read-only. A frame that the job does not have is NULL. Do not use
// it after it was answered: its memory may then hold another job.
struct zplan_job {
    uint64_t plan_id;    // id of the plan; 0 = an ordinary call, without a plan
    uint64_t exec_id;    // id of this run, new each time the plan is sent; 0 = none
    int64_t plan_time_s; // nominal time of the run, Unix seconds; -1 = not given
    int64_t deadline_s;  // Unix seconds at which the run would be sent again if it reported RUNING
                         // and nothing more; heartbeats extend it. 0 = not given
    const char *title;   // the plan's description, UTF-8; "" = none
    const struct zplan_frame *command;  // COMMAND
    const struct zplan_frame *argument; // the first ARG; without one the first CONTENT
    const struct zplan_frame *context;  // CONTEXT
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // all frames, in their order on the wire
    const char *traceparent;        // W3C trace context of this run; "" = the plan has none
    const struct zplan_frame *json; // the first JSON; in a flow, the `json` of the step
    // The same in all deliveries of work that must be done once: RUN/STEP.ITEM:GENERATION of a call
    // of a flow, followed by `:undo` for an undo call; else plan_id and plan_time_s. "" = an
    // ordinary call
    const char *idempotency_key;
    const char *run;  // id of the flow run that makes the call, in hex; "" = none
    const char *step; // name of the flow step
    int64_t item;     // index of the item of a `for_each` step, from 0; -1 = none
    int64_t generation;
    bool undo;
};

// The final answer to a job. The data it points to are borrowed for the call.
struct zplan_answer {
    uint8_t status;       // ZERO_STATUS_OK_ID; from ZERO_STATUS_ERROR_FLAG on it is a failure
    const char *reason;   // UTF-8, sent as the STATUS frame; NULL = no such frame
    uint8_t content_type; // ZERO_FRAME_CONTENT (text), _BIN, _JSON, _XML; 0 = no content
    const void *content;
    size_t content_size; // bytes, at most 1 MiB
    // Called with the content after it was copied: `free`, or NULL = nothing.
    void (*release) (void *content);
};

// ---- a worker

// A worker that joins when its station is there, and joins again after a restart of the station or
// a new connection. The station uses the name in its log and in answers. Two workers may have the
// same name: for a vote station the second is the voter NAME#2, and each gets one job at a time.
// The options are copied. NULL: errno is EINVAL for an invalid endpoint, name, credit, key or list
// of commands, else ENOMEM, EMFILE or EAGAIN: out of memory, descriptors or threads. Destroy it
// with zplan_worker_destroy.
struct zplan_worker *zplan_worker_new (const struct zplan_worker_options *options);

// Notifies the station that the worker leaves, and destroys it; NULL is allowed. The pointer
// becomes NULL first: a signal handler of this thread may call zplan_worker_leave with it at any
// time. Jobs that are still in progress are lost: the station answers those that were taken as
// failed, the others as not started. Waits up to one second until the last messages are sent. No
// other call may be in progress.
void zplan_worker_destroy (struct zplan_worker **worker);

// Request no more jobs. Those in progress may be answered; then the worker has left, and
// zplan_worker_run and zplan_worker_take return. Cannot be undone. May be called in a signal
// handler. NULL is allowed.
void zplan_worker_leave (struct zplan_worker *worker);

// Whether the worker has left: it was asked to leave, and no job is in progress any more.
bool zplan_worker_left (struct zplan_worker *worker);

// Whether the station asked the worker to leave (zplan drain); zplan_worker_leave was then called
// automatically. The program should end when the worker has left.
bool zplan_worker_drained (struct zplan_worker *worker);

// How many times the station has accepted the worker; 0 = not yet, or no longer. The number grows
// after a restart of the station or a new connection.
unsigned zplan_worker_joined (struct zplan_worker *worker);

// Write the reason why the station rejected the last request to join, with a NUL and cut to `size`
// bytes; "" if it did not. The worker retries each second.
int zplan_worker_refusal (struct zplan_worker *worker, char *out, size_t size);

// ---- jobs by handlers

// Returned by a handler that has answered the job itself, or that leaves it to be answered later.
// Until then the job stays in progress: a forgotten job stays so for ever.
enum { ZPLAN_JOB_KEPT = 0 };

// Do a job: fill `answer`, except the status, and return the status. The answer is copied when the
// handler has returned: the data it points to are part of the job, or static, or content with a
// `release`, which is always called. A job whose answer is invalid is answered as failed. A handler
// may make any call except zplan_worker_destroy.
typedef int zplan_handler_fn (struct zplan_job *job, struct zplan_answer *answer, void *context);

// Set the handler of jobs with this COMMAND, replacing the previous one. NULL as command: of all
// jobs without a handler of their own; NULL as handler: no handler. Jobs without a handler are
// answered with NOT_SUPPORT. `context` is passed to the handler and must stay valid as long.
// Errors: ARGUMENT, MEMORY.
int zplan_worker_handle (struct zplan_worker *worker, const char *command,
                         zplan_handler_fn *handler, void *context);

// Call handlers for jobs as they arrive, for at most `timeout_ms` milliseconds (a running handler
// is not interrupted); a negative value: until the worker has left. ZPLAN_OK: it has left.
// ZPLAN_ERROR_NO_ANSWER: the time has expired. Signals do not end it: see zplan_worker_leave.
int zplan_worker_run (struct zplan_worker *worker, int64_t timeout_ms);

// The descriptor for your own event loop: readable while zplan_worker_process has something to do,
// and permanently once the worker has left; also when zplan_worker_joined, zplan_worker_refusal or
// zplan_job_cancelled may have changed, until one of zplan_worker_process, zplan_worker_take and
// zplan_worker_joined is called. Only for waiting. Negative: ZPLAN_ERROR_ARGUMENT.
int zplan_worker_fd (struct zplan_worker *worker);

// Call handlers for the jobs that have arrived, at most ZPLAN_CREDIT_MAX, without waiting. Returns
// their number, or a negative enum zplan_error.
int zplan_worker_process (struct zplan_worker *worker);

// ---- jobs by hand

// Take a job, waiting at most `timeout_ms` milliseconds; 0 does not wait, a negative value waits
// without limit. NULL: none came, or the worker has left. At most `credit` jobs may be in progress.
struct zplan_job *zplan_worker_take (struct zplan_worker *worker, int64_t timeout_ms);

// Answer a job. ZPLAN_OK: the answer will be sent, its content was released, and the job is gone.
// Else the job is still in progress, and the content belongs to the caller: ARGUMENT (the status is
// not final, the content has no type or is too large, or the job is not in progress), MEMORY.
int zplan_job_answer (struct zplan_job *job, const struct zplan_answer *answer);

// Answer a job with FAILED and this text (UTF-8; NULL = none). Needs no memory. ZPLAN_OK, or
// ARGUMENT: the job is not in progress.
int zplan_job_fail (struct zplan_job *job, const char *words);

// Report the progress of a job: `percent` 0 to 100, or -1 when unknown, and a text, UTF-8, NULL =
// none. It is shown as the `progress` of the run (zplan show). Sent at once, but at most four times
// a second: the last text counts. Errors: ARGUMENT.
int zplan_job_progress (struct zplan_job *job, int percent, const char *words);

// ---- jobs that are cancelled

// The run was cancelled, or its timeout has expired: its answer no longer counts. The job still
// stays in progress until it is answered, which frees its slot for another one: so stop, clean up
// and answer it as failed (zplan_job_fail). A job that is cancelled before it was taken is answered
// by the worker. A program that never checks keeps working, and its answer has no effect.

// Whether the job is cancelled. Also false for one that is not in progress.
bool zplan_job_cancelled (struct zplan_job *job);

// Write the reason of the cancellation, with a NUL and cut to `size` bytes; "" if the job is not
// cancelled, or without a reason. ARGUMENT: the job is not in progress.
int zplan_job_cancel_words (struct zplan_job *job, char *out, size_t size);

// Called once for each job that is cancelled while it is in progress, on the worker's own thread:
// wake the code that does the job, and return at once, since no messages are sent to the station
// meanwhile. It may make any call except zplan_worker_destroy. Another thread may answer the job
// while it runs: `job` and `words` are valid until it returns, but data that your program keeps for
// the job must be locked.
typedef void zplan_cancel_fn (struct zplan_job *job, const char *words, void *context);

// Set the callback for cancelled jobs, replacing the previous one; NULL: none. Best before the
// first job is taken: earlier cancellations are only visible through zplan_job_cancelled. Errors:
// ARGUMENT.
int zplan_worker_on_cancel (struct zplan_worker *worker, zplan_cancel_fn *fn, void *context);

// Whether the station has dropped the job, because it was restarted or the connection was lost.
// Then the answer has no effect, and the job will most likely come again.
bool zplan_job_lost (struct zplan_job *job);

#ifdef __cplusplus
}
#endif

#endif
