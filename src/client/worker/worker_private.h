// Declarations shared by the two halves of a worker: the calls of its users (worker.c,
// worker_run.c, worker_job.c) and its thread (worker_thread.c), which has one of two dialogs: with
// the workers' port of a target station (worker_port.c), or with a station whose pull target's
// plans it fetches (worker_fetch.c). One lock protects what both halves use.
#pragma once

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "ident.h"
#include "keys.h"
#include "packet.h"
#include "zplan_client.h"
#include "zplan_worker.h"

enum {
    WORKER_NAME_MAX = 64,
    IDEMPOTENCY_KEY_SIZE = 128,
    RESULT_MAX = 65536 // bytes of JSON in the report of a fetched job
};

// The states of a job, in order; a job that has ended is JOB_FREE again.
enum job_state {
    JOB_FREE,    // no job; one free entry holds the message being received
    JOB_WAITING, // the user has not taken it yet
    JOB_TAKEN,   // the user of the library works on it
    JOB_ANSWERED // answered; the answer is not sent yet
};

// State of a job that was fetched from a pull target.
struct fetch_state {
    char plan[IDENT_SIZE], exec[IDENT_SIZE];
    uint8_t *bytes;      // the decoded frames; owned
    int64_t timeout_us;  // without a heartbeat for this long the station takes the job back
    int64_t accepted_us; // monotonic; when the station accepted the last message
    int64_t due_us;      // monotonic; when the next message is due
    bool in_flight;      // a message about this job is in flight
    bool over;           // the station needs no further message about it
    bool replaced;       // the first report was rejected and replaced
    char *report;        // the report as JSON, once the job is answered; owned
};

// A job and the space for its answer. All jobs are allocated with the worker, so taking and
// answering a job allocates only the content of the answer.
struct client_job {
    struct zplan_job shown; // what the user sees; must be the first member
    // Set once and never cleared: it is read without the lock, also through a pointer to a job that
    // has ended.
    struct zplan_worker *worker;
    enum job_state state; // this and all members below are cleared when the job ends
    uint64_t turn;        // order of arrival, in which jobs are taken
    bool lost;            // the station no longer knows that this worker has it
    bool cancelled;       // the requester no longer waits for it
    struct reason cancel_words;
    struct packet packet;
    struct message message; // the parsed job; borrows from `packet`
    json_t *plan;           // its PLAN frame; the texts of `shown` borrow from it
    char idempotency_key[IDEMPOTENCY_KEY_SIZE];

    struct fetch_state fetch;

    int64_t last_heartbeat_us; // monotonic; time of its last heartbeat, or of its arrival
    int64_t reported_us;       // when its progress was last reported
    bool progress_new;         // `progress` is not reported yet
    char progress[ZPLAN_PROGRESS_MAX + 1];

    uint8_t status; // the answer
    char reason[REASON_MAX + 32];
    uint8_t content_type;
    void *content; // owned
    size_t content_size;
};

struct handler {
    char *command; // NULL = for commands without a handler of their own
    zplan_handler_fn *call;
    void *context;
};

// The steps of one of the two dialogs, called by the thread with the lock held unless noted.
struct dialog {
    int (*open) (struct zplan_worker *self); // before the thread runs; 0, or -1 with errno
    void (*turn) (struct zplan_worker *self);
    int64_t (*due_us) (const struct zplan_worker *self); // when the next turn is due, monotonic
    // Store the descriptor or socket to wait for in `item`. False: there is none. Without the lock.
    bool (*poll_item) (const struct zplan_worker *self, zmq_pollitem_t *item);
    void (*end) (struct zplan_worker *self); // send the last messages, and close
};
extern const struct dialog dialog_port, dialog_fetch;

struct zplan_worker {
    // set once
    const struct dialog *dialog;
    char *endpoint; // as it was given
    struct endpoints endpoints;
    char *pull; // the target whose plans are fetched; NULL = the endpoint is a workers' port
    char name[WORKER_NAME_MAX + 1];
    struct keys keys;
    char *commands; // "commands=A,B", NULL = all
    size_t credit;
    void *context; // ZeroMQ context, not shared; with a workers' port only
    int wake_fd;   // eventfd: the thread has something to do
    int show_fd;   // eventfd: the user has something to do
    pthread_t thread;
    atomic_bool leave; // leaving was requested; the thread reads it
    atomic_bool stop;

    // used by the thread only, with a workers' port
    void *socket;          // NULL when none could be created
    size_t address;        // index of the endpoint of the socket
    size_t asked;          // jobs that were requested and have not arrived
    int64_t beat_us;       // monotonic; when the next JOIN or PITPAT is due
    int64_t unanswered_us; // when the oldest unanswered JOIN or PITPAT was sent; 0 = none
    size_t beats;          // number of unanswered JOIN and PITPAT
    size_t last_beats;     // those of `beats` sent before the worker began to leave

    // used by the thread only, with a pull target
    struct zplan_client *client;
    int64_t take_us; // monotonic; when the next take is due

    // used by the thread only, in both dialogs
    int64_t leave_us; // monotonic; when the wait for jobs in flight ends; 0 = not waiting

    // under the lock
    pthread_mutex_t lock;
    pthread_cond_t changed; // a job came, or the worker has left
    bool joined;            // the station has accepted the worker
    unsigned joins;         // how many times the station has accepted the worker
    bool leaving;
    bool taking;        // jobs may be in flight: a take, or the last heartbeat, has no answer yet
    bool drained;       // the station asked the worker to leave
    bool unseen_change; // `joined` or `refusal` changed, or a job was cancelled, since the user
                        // last checked
    bool shown;         // show_fd is readable
    struct reason refusal;
    uint64_t turn;
    struct handler *handlers;
    size_t handler_count;
    zplan_cancel_fn *on_cancel; // NULL = none
    void *cancel_context;
    size_t job_count; // one more than the credit
    struct client_job jobs[];
};

// ---- the thread's half

// The thread's main function; returns when `stop` is set.
void *worker_serve (void *worker);

// Start leaving if zplan_worker_leave was called. True: this call started it. False: not called, or
// already leaving.
bool worker_start_leaving (struct zplan_worker *self);

// Store the reason why the station rejected the worker, cut to the size of `refusal`.
void worker_store_refusal (struct zplan_worker *self, struct span words);

// Mark a job as cancelled, and notify its user; the lock is released during the callback.
void worker_cancel (struct zplan_worker *self, struct client_job *job, struct span words);

// Wake the thread. May be called by any thread, and in a signal handler.
void worker_wake (struct zplan_worker *self);

// ---- jobs, under the lock

// The oldest job in this state, or NULL.
struct client_job *worker_first (struct zplan_worker *self, enum job_state state);

// The number of jobs in progress: waiting, taken, or answered and not sent yet.
size_t worker_used_jobs (const struct zplan_worker *self);

// Whether the worker has left: it is leaving, and no job is in progress or in flight.
bool worker_has_left (const struct zplan_worker *self);

// Make show_fd readable if the user has something to do, else not readable.
void worker_update_fd (struct zplan_worker *self);

// Whether this content, as JSON, fits in the report of a fetched job: size and depth.
bool fetch_result_fits (uint8_t type, struct span content);

// Fill what the user sees from `message`, which was read from `packet`.
void job_read (struct client_job *self);

// Fill what the user sees from `plan`, which may be NULL; plan_id and plan_time_s must be set
// before.
void job_read_plan (struct client_job *self);

// Set the final answer, and make the job JOB_ANSWERED. The reason is the status word and `words`;
// NULL: no reason.
void job_set_answer (struct client_job *self, uint8_t status, const char *words);

// Build the message that answers the job; it borrows from the job.
void job_build_answer (const struct client_job *self, struct message *ret);

// Build the heartbeat of the job, with the text of its progress.
void job_build_heartbeat (const struct client_job *self, struct message *ret);

// The job has ended: free its data, and make it JOB_FREE.
void job_clear (struct client_job *self);
