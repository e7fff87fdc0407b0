// What the two halves of a worker share: the calls of its users (worker.c, worker_run.c,
// worker_job.c) and its thread (worker_thread.c), which has one of two dialogs: with the workers'
// port of a target station (worker_port.c), or with a station whose pull target's plans it
// fetches (worker_fetch.c). They meet under one lock.
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
    RESULT_MAX = 65536 // bytes of JSON that a report of a fetched job takes
};

// Where a job is. It goes down this list and back to the top.
enum job_place {
    JOB_FREE,    // no job; one of them holds what is being received
    JOB_WAITING, // nobody has taken it yet
    JOB_TAKEN,   // the user of the library works on it
    JOB_ANSWERED // its answer is not sent yet
};

// Of a job that was fetched.
struct fetched {
    char plan[IDENT_SIZE], exec[IDENT_SIZE];
    uint8_t *bytes;      // of the job's frames; owned
    int64_t timeout_us;  // without a heartbeat for so long the station gives the job away
    int64_t accepted_us; // monotonic; when the station accepted the last message
    int64_t due_us;      // monotonic; when the next message is due
    bool asking;         // a message about this job is in flight
    bool over;           // the station wants no report
    bool replaced;       // the station rejects the first report
    char *report;        // as JSON, once it is answered; owned
};

// A job and the room for its answer. A worker makes as many as it may need when it is made itself:
// so taking a job and answering it cannot fail for want of memory, the content of the answer apart.
struct client_job {
    struct zplan_job shown; // what the user has; the first member
    // Set once and never cleared: it is read without the lock, also by way of a job that is over.
    struct zplan_worker *worker;
    enum job_place place; // from here on all is cleared when the job is over
    uint64_t turn;        // of its coming: who came first is taken first
    bool lost;            // the station does not know any more that we have it
    bool cancelled;       // its requester waits no more
    char cancel_words[REASON_MAX];
    struct packet packet;
    struct message message; // the job's, read; borrows from `packet`
    json_t *plan;           // its PLAN frame; the texts of `shown` borrow from it
    char idempotency_key[IDEMPOTENCY_KEY_SIZE];

    struct fetched fetched;

    int64_t sign_us;     // monotonic; when it was last said to be worked on, or came
    int64_t reported_us; // when its progress was last reported
    bool progress_new;   // it was not reported yet
    char progress[ZPLAN_PROGRESS_MAX + 1];

    uint8_t status; // the answer
    char reason[REASON_MAX + 32];
    uint8_t content_type;
    void *content; // owned
    size_t content_size;
};

struct handler {
    char *command; // NULL = every other
    zplan_handler_fn *call;
    void *context;
};

// What the thread does, with the lock held unless noted.
struct dialog {
    int (*open) (struct zplan_worker *self); // before the thread runs; 0, or -1 with errno
    void (*turn) (struct zplan_worker *self);
    int64_t (*due_us) (const struct zplan_worker *self); // of the next turn, monotonic
    // What to wait for, in `item`, besides that. False: nothing. Without the lock.
    bool (*poll_item) (const struct zplan_worker *self, zmq_pollitem_t *item);
    void (*end) (struct zplan_worker *self); // say the last words, and close
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
    void *context; // of this worker alone
    int wake_fd;   // eventfd: there is something for the thread
    int show_fd;   // eventfd: there is something for the user
    pthread_t thread;
    atomic_bool leave; // asked for; the thread takes note of it
    atomic_bool stop;

    // the thread's alone, of a workers' port
    void *socket;      // NULL when none could be created
    size_t address;    // of the endpoints, that the socket is for
    size_t asked;      // jobs that were asked for and have not come
    int64_t beat_us;   // monotonic; when the next JOIN or PITPAT is due
    int64_t quiet_us;  // when the oldest of them without an answer was sent; 0 = none
    size_t beats;      // how many of them have no answer
    size_t last_beats; // of those that were sent until it left

    // the thread's alone, of a pull target
    struct zplan_client *client;
    int64_t take_us; // monotonic; when the next take is due

    // the thread's alone, of both
    int64_t leave_us; // monotonic; when no more jobs are waited for; 0 = not known yet

    // under the lock
    pthread_mutex_t lock;
    pthread_cond_t changed; // a job came, or the worker has left
    bool joined;            // the station said OK to JOIN
    unsigned joins;         // number of those answers
    bool leaving;
    bool taking;  // jobs may be on their way: a take, or the last heartbeat, has no answer yet
    bool drained; // the station asked for it
    bool news;    // `joined` or `refusal` changed, or a job was cancelled, since the user looked
    bool shown;   // show_fd is readable
    char refusal[REASON_MAX];
    uint64_t turn;
    struct handler *handlers;
    size_t handler_count;
    zplan_cancel_fn *on_cancel; // NULL = none
    void *cancel_context;
    size_t job_count; // one more than the credit
    struct client_job jobs[];
};

// ---- the thread's half

// The thread, until `stop` is set.
void *worker_serve (void *worker);

// Take note of zplan_worker_leave. True: it is the first time.
bool worker_take_leave (struct zplan_worker *self);

// The station's last words of why it does not take the worker, cut to what is kept.
void worker_refused (struct zplan_worker *self, struct span words);

// A job in progress was cancelled: notify its user, without the lock meanwhile.
void worker_cancel (struct zplan_worker *self, struct client_job *job, struct span words);

// Let the thread look what there is to do. For any thread, and a signal handler.
void worker_wake (struct zplan_worker *self);

// ---- jobs, under the lock

// The first job of this place, or NULL.
struct client_job *worker_first (struct zplan_worker *self, enum job_place place);

// How many jobs are in progress: neither free nor over.
size_t worker_in_hand (const struct zplan_worker *self);

// Whether the worker has left.
bool worker_has_left (const struct zplan_worker *self);

// Make show_fd readable or not, as things are.
void worker_show_news (struct zplan_worker *self);

// Whether a report of a fetched job takes this content.
bool fetch_takes_result (uint8_t type, struct span content);

// Fill what the user sees from the message, which was read from the packet.
void job_read (struct client_job *self);

// The same of its `plan`, which may be NULL; plan_id and plan_time_s are read before.
void job_read_plan (struct client_job *self);

// Give the job its last answer, `words` with the status's word before them, or NULL.
void job_close (struct client_job *self, uint8_t status, const char *words);

// The message that answers it, to be sent with what the job holds.
void job_answer (const struct client_job *self, struct message *ret);

// The sign that it is worked on, with the words of its progress.
void job_sign (const struct client_job *self, struct message *ret);

// It is over: free again.
void job_clear (struct client_job *self);
