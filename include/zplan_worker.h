// libzplan, the half for workers: take jobs, do them, answer them. The jobs come from a target
// station (zstationd), or are the plans of a pull target of zpland itself (option `pull`).
//
// A worker has a thread of its own that talks to the station: it joins, asks for jobs, answers, and
// reports of every job in hand that it is worked on. So a job may take as long as it likes, and
// what the caller does holds up nothing. There are three ways to get at the jobs:
//
//   handlers   zplan_worker_handle, then zplan_worker_run: it calls them;
//   one's loop zplan_worker_fd and zplan_worker_process: the same beside other things;
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
// The same by hand:
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
// And beside other things, in a loop of one's own:
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
// fetches the plans of the pull target `jobs` from zpland. What differs:
//
//   * An answer's content is at most 65536 bytes as JSON; a larger one is ARGUMENT.
//   * An answer is kept until the station has acknowledged it, also while it is away; the worker
//     has left only then, or when the job's worker_timeout is over.
//   * That a job is cancelled is heard within 5 seconds, or the plan's ping_interval if shorter.
//   * zplan_worker_joined: the station answers; it counts how often it did after an outage.
//   * zplan_job_lost is never true: the station knows of a job though it was restarted.
//
// A job may come twice: when its answer was lost, or the station gave the worker up, as it does
// with one that it has not heard for 10 seconds (zstationd --worker-timeout). Two deliveries of one
// run differ in nothing but exec_id, so work that must not be done twice is keyed by plan_id and
// plan_time_s.
//
// Threads: any thread may make any call on a worker and on its jobs, also several at once: so run
// the handlers of a worker with credit 4 in four threads by calling zplan_worker_run in each. Only
// zplan_worker_destroy must be the last call, with no other under way. After a fork only the parent
// may use the worker.
//
// A worker needs three threads and about 12 descriptors. It sets no signal handler, its threads
// take no signals, and it has no part in what other workers and clients of the process do. Calls
// return an enum zplan_error (zplan_error.h) unless they say otherwise. When memory is exhausted
// they say so; libzmq, below them, ends the process then.
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
    ZPLAN_CREDIT_MAX = 64,   // jobs in hand at once
    ZPLAN_PROGRESS_MAX = 256 // bytes of what is said of a job's progress; the rest is cut off
};

struct zplan_worker;

struct zplan_worker_options {
    const char *endpoint; // of a target station's workers' port: tcp://HOST:PORT or ipc://PATH
    const char *name;     // 1 to 64 of A-Z a-z 0-9 _ . -
    const struct zplan_curve *curve; // server_key: the target station's. NULL = in the clear
    int credit;                      // jobs in hand at once, 1 to ZPLAN_CREDIT_MAX; 0 = 1
    // Of the pull target whose plans are fetched: `endpoint` is the request socket of the plan
    // station then, and `server_key` its key. NULL = `endpoint` is a workers' port
    const char *pull;
};

// A job in hand. It belongs to the worker, and with it everything it points to, until it is
// answered or the worker destroyed. It is only read. A frame that the job does not have is NULL. Do
// not use it any more once it was answered: another job may be in its place by then.
struct zplan_job {
    uint64_t plan_id;    // of the plan that fires; 0 = an ordinary call
    uint64_t exec_id;    // of this run, another one each time the plan is sent; 0 = none was given
    int64_t plan_time_s; // nominal time of the run, Unix seconds; -1 = none was given
    int64_t deadline_s;  // Unix seconds at which the run was to be sent again, as it was when the
                         // run was sent; it moves on while the job is in hand. 0 = none was given
    const char *title;   // the plan's description, UTF-8; "" = none
    const struct zplan_frame *command;  // COMMAND
    const struct zplan_frame *argument; // the first ARG; without one the first CONTENT
    const struct zplan_frame *context;  // CONTEXT
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // all of them, in the order of the wire
};

// The final answer to a job. What it points to is borrowed for the call.
struct zplan_answer {
    uint8_t status;       // ZERO_STATUS_OK_ID; from ZERO_STATUS_ERROR_FLAG on it is a failure
    const char *reason;   // UTF-8, why, goes into a STATUS frame; NULL = no such frame
    uint8_t content_type; // ZERO_FRAME_CONTENT (text), _BIN, _JSON, _XML; 0 = no content
    const void *content;
    size_t content_size; // bytes, at most 1 MiB
    // What to do with the content when it was copied: `free`, or NULL = nothing.
    void (*release) (void *content);
};

// ---- a worker

// A worker that joins when its station is there, and again when the station or the connection is
// made anew. The name is what the station calls it in its log and in answers; two may have the
// same: to a vote station the second is the voter NAME#2, and it hands every worker one job at a
// time. The options are copied. NULL: errno is EINVAL for a wrong endpoint, name, credit or key,
// else ENOMEM, EMFILE or EAGAIN: there is no memory, descriptor or thread. Give it back with
// zplan_worker_destroy.
struct zplan_worker *zplan_worker_new (const struct zplan_worker_options *options);

// Tells the station that the worker leaves and takes it away; NULL is fine. The pointer becomes
// NULL first: a signal handler of this thread may call zplan_worker_leave with it all the while.
// Jobs that are in hand still are gone with it: the station answers those that were taken as
// failed, the others as not begun. Waits up to one second for the last messages to leave. No other
// call may be under way.
void zplan_worker_destroy (struct zplan_worker **worker);

// Ask for no further job. Those in hand may be answered; then the worker has left, and
// zplan_worker_run and zplan_worker_take return. Cannot be undone. May be called in a signal
// handler. NULL is fine.
void zplan_worker_leave (struct zplan_worker *worker);

// Whether the worker was to leave, and no job is in hand any more.
bool zplan_worker_left (struct zplan_worker *worker);

// Whether the station asked the worker to leave (zplan drain): zplan_worker_leave was called for
// it. Its program should end when it has left.
bool zplan_worker_drained (struct zplan_worker *worker);

// Whether the station has taken the worker in: 0 = not, or not any more; else how many times it has
// so far, which grows when the station or the connection was made anew.
unsigned zplan_worker_joined (struct zplan_worker *worker);

// Write why the station refused the worker when it last asked to join, with a NUL and cut at `size`
// bytes; "" if it did not. It asks again each second.
int zplan_worker_refusal (struct zplan_worker *worker, char *out, size_t size);

// ---- jobs by handlers

// What a handler returns when it has answered the job itself, or somebody will later. Until then
// the job stays in hand: a job that is forgotten stays so for ever.
enum { ZPLAN_JOB_KEPT = 0 };

// Do a job: fill `answer` with what belongs to it, except the status, and return that. The answer
// is copied when the handler has returned: what it points to is part of the job, or static, or
// content with a `release`, which is called whatever becomes of the answer. A job whose answer is
// not valid is answered as failed. A handler may make any call but zplan_worker_destroy.
typedef int zplan_handler_fn (struct zplan_job *job, struct zplan_answer *answer, void *context);

// Have jobs with this COMMAND done by `handler`, in the place of the one before; NULL as command:
// all that have no handler of their own; NULL as handler: by none. Jobs without a handler are
// answered NOT_SUPPORT. `context` is handed to the handler and must last as long. Errors: ARGUMENT,
// MEMORY.
int zplan_worker_handle (struct zplan_worker *worker, const char *command,
                         zplan_handler_fn *handler, void *context);

// Call handlers for jobs as they come, at most `timeout_ms` milliseconds (a handler that is at work
// then is not cut short); below 0 until the worker has left. ZPLAN_OK: it has left.
// ZPLAN_ERROR_NO_ANSWER: the time is over. Signals do not end it: see zplan_worker_leave.
int zplan_worker_run (struct zplan_worker *worker, int64_t timeout_ms);

// The descriptor for a loop of one's own: readable while there is something for
// zplan_worker_process, and for good once the worker has left; also when zplan_worker_joined,
// zplan_worker_refusal or zplan_job_cancelled may tell something new, until one of
// zplan_worker_process, zplan_worker_take and zplan_worker_joined is called. Only to be waited for.
// Below 0: ZPLAN_ERROR_ARGUMENT.
int zplan_worker_fd (struct zplan_worker *worker);

// Call handlers for the jobs that are there, at most ZPLAN_CREDIT_MAX, without waiting. Returns how
// many there were, or below 0 an enum zplan_error.
int zplan_worker_process (struct zplan_worker *worker);

// ---- jobs by hand

// Take a job, waiting for it at most `timeout_ms` milliseconds; 0 does not wait, below 0 waits for
// ever. NULL: none came, or the worker has left. As many as the credit says may be in hand at once.
struct zplan_job *zplan_worker_take (struct zplan_worker *worker, int64_t timeout_ms);

// Answer a job. ZPLAN_OK: the answer is on its way, its content was released, and the job is gone.
// Else the job is still in hand, and the content is the caller's: ARGUMENT (the status is no final
// one, the content has no type or is too large, or the job is not in hand), MEMORY.
int zplan_job_answer (struct zplan_job *job, const struct zplan_answer *answer);

// Answer a job FAILED with these words (UTF-8; NULL = none). Needs no memory. ZPLAN_OK, or
// ARGUMENT: it is no job in hand.
int zplan_job_fail (struct zplan_job *job, const char *words);

// Say how far a job is: `percent` 0 to 100, or -1 when that cannot be told, and words, UTF-8, NULL
// = none. People see it as the run's `progress` (zplan show). Told at once, but at most four times
// a second: the last words count. Errors: ARGUMENT.
int zplan_job_progress (struct zplan_job *job, int percent, const char *words);

// ---- jobs that are cancelled

// Somebody cancelled the run, or its time is over: whatever is answered, it counts for nothing. The
// job is in hand until it is answered all the same, and its place is free for another one then: so
// stop, clean up and answer it as failed (zplan_job_fail). A job that was cancelled before anybody
// has taken it is answered by the worker. Who never asks does what is done for nothing.

// Whether the job is cancelled. Also false for one that is not in hand.
bool zplan_job_cancelled (struct zplan_job *job);

// Write why, in words of whoever cancelled it, with a NUL and cut at `size` bytes; "" if it is not,
// or no words were given. ARGUMENT: it is no job in hand.
int zplan_job_cancel_words (struct zplan_job *job, char *out, size_t size);

// Told once for each job that is cancelled while it is in hand, on the worker's own thread: wake
// what does the job, and return at once, as nothing is said to the station meanwhile. It may make
// any call but zplan_worker_destroy. Another thread may answer the job while it runs: `job` and
// `words` last until it returns, but what one's own program keeps for the job is to be locked.
typedef void zplan_cancel_fn (struct zplan_job *job, const char *words, void *context);

// Have this called, in the place of the one before; NULL: none. Best before the first job is taken:
// what was cancelled before is only told by zplan_job_cancelled. Errors: ARGUMENT.
int zplan_worker_on_cancel (struct zplan_worker *worker, zplan_cancel_fn *fn, void *context);

// Whether the station has given the job up since: it was made anew, or the connection to it. Then
// the answer will go nowhere, and the job most likely come again.
bool zplan_job_lost (struct zplan_job *job);

#ifdef __cplusplus
}
#endif

#endif
