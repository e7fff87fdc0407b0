// A worker's dialog with the workers' port of a target station: JOIN until it is answered, then
// READY for each free slot, and each second PITPAT, and WAITING for every job in progress.
//
// The connection is replaced when the station has left PITPAT or JOIN unanswered for three beats:
// messages still queued would otherwise reach a restarted station late; with several addresses, the
// next one is tried. If the thread itself was delayed, the station gets three more beats. A station
// that was restarted does not know the worker, answers NOT_FIND, and the worker joins again. Either
// way the station has lost the jobs in progress: taken jobs are marked as lost, the others are
// dropped, and nothing more is sent about them.
#include <stdio.h>

#include "clock.h"
#include "codes.h"
#include "socket.h"
#include "worker_private.h"

enum {
    BEAT_US = 1000000,
    UNRESPONSIVE_US = 3 * BEAT_US,
    HEARTBEAT_US = 1000000, // between two heartbeats of a job
    PROGRESS_US = 250000,   // between two reports of a job's progress
    LAST_LINGER_MS = 1000,
    LAST_ANSWER_US = 1000000, // for the answer to the last heartbeat of a worker that leaves
    MESSAGES_A_TURN = 64
};

static const char *const no_arguments[] = {NULL}, *const no_more_jobs[] = {"0", NULL};

// -- the connection

// Forget the jobs, as the station no longer knows that this worker has them: mark those that the
// user has taken as lost, drop the others.
static void lose_jobs (struct zplan_worker *self)
{
    self->unseen_change = self->unseen_change || self->joined;
    self->joined = self->taking = false;
    self->asked = self->beats = self->last_beats = 0;
    for (size_t i = 0; i < self->job_count; i++) {
        struct client_job *job = &self->jobs[i];
        if (job->state == JOB_TAKEN)
            job->lost = true;
        else if (job->state != JOB_FREE)
            job_clear (job);
    }
}

static int connect_port (struct zplan_worker *self)
{
    self->unanswered_us = 0;
    self->beat_us = clock_mono_us ();
    self->socket = wire_socket_in (self->context, ZMQ_DEALER);
    if (!self->socket)
        return -1;
    keys_set_socket (&self->keys, self->socket, self->address);
    wire_heartbeat (self->socket);
    if (zmq_connect (self->socket, self->endpoints.rows[self->address]) == 0)
        return 0;
    int error = errno;
    zmq_close (self->socket);
    self->socket = NULL;
    errno = error;
    return -1;
}

static bool send_message (struct zplan_worker *self, const struct message *message)
{
    return self->socket && packet_send_message (self->socket, (struct span){0}, message);
}

// Send a command with the worker's name and these arguments, up to a NULL.
static bool send_worker_command (struct zplan_worker *self, uint8_t command,
                                 const char *const *arguments)
{
    struct message message;
    message_start (&message, command);
    message_add (&message, ZERO_FRAME_ARG, span_text (self->name));
    for (; *arguments; arguments++)
        message_add (&message, ZERO_FRAME_ARG, span_text (*arguments));
    return send_message (self, &message);
}

// Send JOIN: the name, the number of concurrent jobs, "cancel" (the worker understands
// CLOSE_REQUEST), and the list of commands.
static void send_join (struct zplan_worker *self)
{
    char digits[24];
    snprintf (digits, sizeof digits, "%zu", self->credit);
    const char *arguments[] = {digits, "cancel", self->commands, NULL};
    self->beats += send_worker_command (self, ZERO_BYTE_COMMAND_HEART_JOIN, arguments);
}

// Send the heartbeat of this second if it is due, on a new connection if the old one is
// unresponsive.
static void send_heartbeat (struct zplan_worker *self, int64_t now_us)
{
    if (now_us < self->beat_us)
        return;
    // After a delay of this thread the answer may have arrived, but not yet been delivered by
    // libzmq.
    if (now_us - self->beat_us >= BEAT_US)
        self->unanswered_us = 0;
    if (!self->socket || (self->unanswered_us && now_us - self->unanswered_us >= UNRESPONSIVE_US)) {
        if (self->socket)
            zmq_close (self->socket);
        lose_jobs (self);
        self->address = (self->address + 1) % self->endpoints.count;
        connect_port (self);
    }
    if (self->joined)
        self->beats += send_worker_command (self, ZERO_BYTE_COMMAND_HEART_PITPAT, no_arguments);
    else
        send_join (self);
    self->beat_us = now_us + BEAT_US;
    if (!self->unanswered_us)
        self->unanswered_us = now_us;
}

// Request one job for each free slot.
static void request_jobs (struct zplan_worker *self)
{
    while (self->joined && !self->leaving && self->asked + worker_used_jobs (self) < self->credit &&
           send_worker_command (self, ZERO_BYTE_COMMAND_HEART_READY, no_arguments))
        self->asked++;
}

// Return the unused credit of a worker that leaves. Jobs in flight arrive before the answer to the
// PITPAT sent here, and are returned; the worker has not left before that answer.
static void return_unused_credit (struct zplan_worker *self, int64_t now_us)
{
    if (!worker_start_leaving (self) || !self->joined) {
        self->taking = self->taking && now_us < self->leave_us;
        return;
    }
    send_worker_command (self, ZERO_BYTE_COMMAND_HEART_READY, no_more_jobs);
    self->beats += send_worker_command (self, ZERO_BYTE_COMMAND_HEART_PITPAT, no_arguments);
    self->last_beats = self->beats;
    self->taking = self->asked > 0;
    self->leave_us = now_us + LAST_ANSWER_US;
}

// -- messages of the station

static void process_status (struct zplan_worker *self, const struct message *message)
{
    uint8_t status = message->desc.code;
    if (status != ZERO_STATUS_BYE_ID) { // answers come in order
        self->beats -= self->beats > 0;
        self->last_beats -= self->last_beats > 0;
        self->taking = self->taking && self->last_beats > 0;
    }
    if (status == ZERO_STATUS_NOT_FIND_ID && self->joined) {
        lose_jobs (self);
        self->beat_us = clock_mono_us (); // join at once
    } else if (status == ZERO_STATUS_OK_ID && !self->joined) {
        self->joined = self->unseen_change = true;
        self->joins++;
        self->refusal.text[0] = '\0';
    } else if (status == ZERO_STATUS_BYE_ID &&
               self->joined) { // not as the answer to LEFT, which is the last message
        self->drained = self->unseen_change = true;
        atomic_store (&self->leave, true);
    } else if (status >= ZERO_STATUS_ERROR_FLAG && status != ZERO_STATUS_NOT_FIND_ID &&
               !self->joined) { // NOT_FIND answers a message sent before JOIN
        worker_store_refusal (self, message_frame (message, ZERO_FRAME_STATUS, NULL));
    }
}

static void accept_job (struct zplan_worker *self, struct client_job *job, bool readable)
{
    self->asked--;
    job->turn = ++self->turn;
    job->last_heartbeat_us = clock_mono_us ();
    job->state = JOB_WAITING;
    if (!readable)
        job_set_answer (job, ZERO_STATUS_FAILED_ID, "the worker cannot read the job");
    else if (atomic_load (&self->leave)) // `leaving` is set in this turn or the next
        job_set_answer (job, ZERO_STATUS_NOT_WORKER_ID, "the worker leaves");
    else
        job_read (job);
}

// -- cancellation

// The job in progress that a cancellation is about: of the jobs with its mailbox, the one with its
// LOCAL_ID, or the oldest if the message has no LOCAL_ID.
static struct client_job *find_cancelled_job (struct zplan_worker *self,
                                              const struct message *message)
{
    bool given;
    struct client_job *oldest = NULL;
    struct span number = message_last_frame (message, ZERO_FRAME_LOCAL_ID, &given);
    for (size_t i = 0; i < self->job_count; i++) {
        struct client_job *job = &self->jobs[i];
        bool in_progress = job->state == JOB_WAITING || job->state == JOB_TAKEN;
        if (!in_progress || job->lost || !span_equal (job->message.sender, message->sender))
            continue;
        struct span own = message_last_frame (&job->message, ZERO_FRAME_LOCAL_ID, NULL);
        if ((!given || span_equal (own, number)) && (!oldest || job->turn < oldest->turn))
            oldest = job;
    }
    return oldest;
}

// End a cancelled job that the user has not taken; the user of a taken job decides when to answer
// it.
static void cancel_received_job (struct zplan_worker *self, const struct message *message)
{
    struct reason words;
    struct client_job *job = find_cancelled_job (self, message);
    if (!job || job->cancelled)
        return;
    bool taken = job->state == JOB_TAKEN;
    worker_cancel (self, job, message_frame (message, ZERO_FRAME_STATUS, NULL));
    if (taken)
        return;
    reason_set (&words, "cancelled%s%s", *job->cancel_words.text ? ": " : "",
                job->cancel_words.text);
    job_set_answer (job, ZERO_STATUS_FAILED_ID, words.text);
}

static void process_message (struct zplan_worker *self, struct client_job *job)
{
    struct reason reason;
    struct packet *packet = &job->packet;
    self->unanswered_us = 0;
    int rc = message_read (packet->frames, packet->count, &job->message, &reason);
    enum envelope envelope = job->message.envelope;
    bool has_mailbox = envelope == ENVELOPE_MAILBOX || envelope == ENVELOPE_CALLER;
    bool cancels =
        rc == 0 && has_mailbox && job->message.desc.code == ZERO_BYTE_COMMAND_CLOSE_REQUEST;
    if (has_mailbox && !cancels && self->asked > 0) {
        accept_job (self, job, rc == 0 && !packet->fault);
        return;
    }
    if (cancels)
        cancel_received_job (self, &job->message);
    else if (rc == 0 && !has_mailbox)
        process_status (self, &job->message);
    job_clear (job);
}

// Receive and process messages. A free job to receive into always exists: there is one more than
// can be in progress.
static void receive_messages (struct zplan_worker *self)
{
    for (int i = 0; i < MESSAGES_A_TURN && self->socket; i++) {
        struct client_job *job = worker_first (self, JOB_FREE);
        if (!packet_recv (&job->packet, self->socket, &packet_of_dispatches))
            return;
        process_message (self, job);
    }
}

// -- messages about jobs

static void send_answers (struct zplan_worker *self)
{
    for (struct client_job *job; (job = worker_first (self, JOB_ANSWERED));) {
        struct message message;
        job_build_answer (job, &message);
        if (!job->lost && !send_message (self, &message))
            return; // the next turn retries, and the heartbeat may replace the connection
        job_clear (job);
    }
}

static int64_t heartbeat_due_us (const struct client_job *job)
{
    int64_t due_us = job->last_heartbeat_us + HEARTBEAT_US,
            progress_us = job->reported_us + PROGRESS_US;
    return job->progress_new && progress_us < due_us ? progress_us : due_us;
}

static bool needs_heartbeats (const struct client_job *job)
{
    return !job->lost && (job->state == JOB_WAITING || job->state == JOB_TAKEN);
}

static void send_job_heartbeats (struct zplan_worker *self, int64_t now_us)
{
    for (size_t i = 0; i < self->job_count; i++) {
        struct client_job *job = &self->jobs[i];
        struct message message;
        if (!needs_heartbeats (job) || now_us < heartbeat_due_us (job))
            continue;
        job_build_heartbeat (job, &message);
        send_message (self, &message);
        job->last_heartbeat_us = now_us;
        if (job->progress_new)
            job->reported_us = now_us;
        job->progress_new = false;
    }
}

// -- the dialog

static void port_turn (struct zplan_worker *self)
{
    receive_messages (self);
    return_unused_credit (self, clock_mono_us ());
    send_heartbeat (self, clock_mono_us ());
    send_answers (self);
    send_job_heartbeats (self, clock_mono_us ());
    request_jobs (self);
}

static int64_t port_due_us (const struct zplan_worker *self)
{
    int64_t due_us = self->beat_us;
    if (self->taking && self->leave_us < due_us)
        due_us = self->leave_us;
    for (size_t i = 0; i < self->job_count; i++) {
        const struct client_job *job = &self->jobs[i];
        if (needs_heartbeats (job) && heartbeat_due_us (job) < due_us)
            due_us = heartbeat_due_us (job);
    }
    return due_us;
}

static bool port_poll_item (const struct zplan_worker *self, zmq_pollitem_t *item)
{
    *item = (zmq_pollitem_t){self->socket, 0, ZMQ_POLLIN, 0};
    return self->socket != NULL;
}

// Send the last messages: jobs that were not taken are returned as not begun.
static void port_end (struct zplan_worker *self)
{
    receive_messages (self);
    for (struct client_job *job; (job = worker_first (self, JOB_WAITING));)
        job_set_answer (job, ZERO_STATUS_NOT_WORKER_ID, "the worker has left");
    send_answers (self);
    if (!self->socket)
        return;
    // The station expects LEFT only from a worker that has joined.
    if (self->joined && send_worker_command (self, ZERO_BYTE_COMMAND_HEART_LEFT, no_arguments))
        wire_set (self->socket, ZMQ_LINGER, LAST_LINGER_MS);
    zmq_close (self->socket);
    self->socket = NULL;
}

static int port_open (struct zplan_worker *self)
{
    self->context = wire_context_new ();
    return self->context ? connect_port (self) : -1;
}

const struct dialog dialog_port = {port_open, port_turn, port_due_us, port_poll_item, port_end};
