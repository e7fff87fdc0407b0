// Invariant: a job that was taken is answered exactly once, whatever becomes of its worker. While a
// worker is ready no job waits, so a new job never overtakes an old one.
#include "api.h"

#include "answer.h"
#include "codes.h"
#include "front.h"
#include "packet.h"

enum { QUEUE_BYTES_MAX = 256 << 20, WORKERS_MAX = 10000 };

// -- jobs

static void drop_late (struct station *station, struct job *job)
{
    station->counts[COUNT_LATE_RUNS]++;
    log_event (LEVEL_WARN, "late_run", "mailbox=%s", quoted (job->mailbox));
    job_destroy (&job);
}

// The job's last answer.
static void fail (struct station *station, struct job *job, uint8_t status, const char *reason)
{
    log_event (LEVEL_INFO, "job_failed", "mailbox=%s reason=\"%s\"", quoted (job->mailbox), reason);
    station->counts[COUNT_ANSWERS]++;
    answer_job (station, job, status, reason);
    job_destroy (&job);
}

// Nobody would take what waits, and nothing would ever end the wait.
static void fail_queue (struct station *station, const char *reason)
{
    for (struct job *job; (job = job_queue_pop (&station->queue));)
        fail (station, job, ZERO_STATUS_NOT_WORKER_ID, reason);
}

// Forget a worker; `what` became of it is what the requester of its job is told.
static void lose (struct station *station, struct worker *worker, const char *what)
{
    struct job *job = workers_take (station->workers, worker);
    struct reason reason;
    reason_set (&reason, "worker %s %s", worker->name, what);
    log_event (LEVEL_INFO, "worker_lost", "worker=%s what=\"%s\"", worker->name, what);
    workers_remove (station->workers, worker);
    if (job)
        fail (station, job, ZERO_STATUS_FAILED_ID, reason.text);
    if (workers_count (station->workers) == 0)
        fail_queue (station, "the last worker is gone");
}

// Hand the job to the worker whose turn it is; one that cannot be reached is gone, and the next is
// tried. False: no worker is ready, the job is still the caller's.
static bool hand_out (struct station *station, struct job *job)
{
    struct span frames[PACKET_FRAMES_MAX];
    station_notice (station->port);
    for (struct worker *worker; (worker = workers_next (station->workers));) {
        frames[0] = span_of (worker->identity, worker->identity_size);
        size_t count = 1 + job_layout (job, frames + 1);
        if (packet_send (station->port, frames, count)) {
            workers_give (station->workers, worker, job);
            station->counts[COUNT_JOBS]++;
            log_event (LEVEL_DEBUG, "job", "worker=%s mailbox=%s", worker->name,
                       quoted (job->mailbox));
            return true;
        }
        station->counts[COUNT_WORKERS_GONE]++;
        lose (station, worker, "is gone");
    }
    return false;
}

// Give what waits to who is ready. A job stays in the queue until a worker has it; when the last
// worker turns out to be gone, the queue is empty afterwards.
static void serve_queue (struct station *station)
{
    while (station->queue.head && workers_next (station->workers)) {
        struct job *job = station->queue.head;
        if (deadline_past (job->deadline_s))
            drop_late (station, job_queue_pop (&station->queue));
        else if (hand_out (station, job))
            job_queue_pop (&station->queue);
    }
}

// Why the job cannot even wait, or NULL.
static const char *cannot_wait (const struct station *station, const struct job *job)
{
    if (workers_count (station->workers) == 0)
        return "no worker has joined";
    if (station->queue.count >= (size_t)station->options.queue ||
        station->queue.bytes + job->size > QUEUE_BYTES_MAX)
        return "all workers are busy";
    return NULL;
}

static void take (struct station *station, const struct request *request, enum job_kind kind)
{
    bool found;
    message_frame (&request->message, ZERO_FRAME_COMMAND, &found);
    if (!found) {
        station->counts[COUNT_INVALID]++;
        answer_request (station, request, ZERO_STATUS_FRAME_INVALID_ID, "COMMAND: is missing");
        return;
    }
    struct job *job = job_new (request->identity, &request->message, kind);
    if (deadline_past (job->deadline_s)) {
        drop_late (station, job);
        return;
    }
    if (!hand_out (station, job)) {
        const char *reason = cannot_wait (station, job);
        if (reason) {
            fail (station, job, ZERO_STATUS_NOT_WORKER_ID, reason);
            return;
        }
        job_queue_push (&station->queue, job);
    }
    // The worker's answer is read in a later turn of the loop, so RUNING leaves first.
    if (kind == JOB_RUN)
        answer_job (station, job, ZERO_STATUS_RUNING_ID, NULL);
}

static void call (struct station *station, const struct request *request)
{
    take (station, request, JOB_CALL);
}

static void run (struct station *station, const struct request *request)
{
    take (station, request, JOB_RUN);
}

static const struct command rows[] = {
    {ZERO_BYTE_COMMAND_NONE, call},
    {ZERO_BYTE_COMMAND_PROXY, run},
    {ZERO_BYTE_COMMAND_PING, front_ping},
};

const struct command_table api_commands = {rows, sizeof rows / sizeof *rows};

// -- the workers' port

// Answer a worker: never behind a mailbox, which would look like a job.
static void tell (struct station *station, const struct request *request, uint8_t status,
                  const char *reason)
{
    char text[STATUS_TEXT_MAX];
    struct message message;
    answer_start (&message, status, reason, text);
    if (request->message.envelope == ENVELOPE_REQ)
        message.envelope = ENVELOPE_REQ;
    packet_send_message (station->port, request->identity, &message);
}

static void join (struct station *station, const struct request *request)
{
    struct span name = message_frame (&request->message, ZERO_FRAME_ARG, NULL);
    if (!name_valid (name) || request->identity.size > WORKER_IDENTITY_MAX) {
        tell (station, request, ZERO_STATUS_MANAGE_ARG_ERROR_ID,
              "ARG: want the worker's name, 1..64 of A-Z a-z 0-9 _ . -");
        return;
    }
    struct worker *known = workers_find (station->workers, request->identity);
    if (!known && workers_count (station->workers) >= WORKERS_MAX) {
        tell (station, request, ZERO_STATUS_BUSY_ID, "too many workers");
        return;
    }
    workers_join (station->workers, request->identity, name);
    log_event (LEVEL_INFO, "worker_joined", "worker=%.*s", (int)name.size, (const char *)name.data);
    // Who joins anew has forgotten what it was doing. The new entry hides the old one from
    // workers_find, and as it exists already, losing the old one does not empty the queue.
    if (known)
        lose (station, known, "has joined anew");
    tell (station, request, ZERO_STATUS_OK_ID, NULL);
}

static void ready (struct station *station, const struct request *request)
{
    struct worker *worker = workers_find (station->workers, request->identity);
    if (!worker) {
        tell (station, request, ZERO_STATUS_NOT_FIND_ID, "join first");
        return;
    }
    workers_credit (station->workers, worker);
    serve_queue (station);
}

static void pitpat (struct station *station, const struct request *request)
{
    if (workers_find (station->workers, request->identity))
        tell (station, request, ZERO_STATUS_OK_ID, NULL);
    else
        tell (station, request, ZERO_STATUS_NOT_FIND_ID, "join first");
}

static void left (struct station *station, const struct request *request)
{
    struct worker *worker = workers_find (station->workers, request->identity);
    if (worker)
        lose (station, worker, "has left");
    tell (station, request, ZERO_STATUS_BYE_ID, NULL);
}

static void port_ping (struct station *station, const struct request *request)
{
    tell (station, request, ZERO_STATUS_OK_ID, NULL);
}

static const struct command port_rows[] = {
    {ZERO_BYTE_COMMAND_HEART_JOIN, join},     {ZERO_BYTE_COMMAND_HEART_READY, ready},
    {ZERO_BYTE_COMMAND_HEART_PITPAT, pitpat}, {ZERO_BYTE_COMMAND_HEART_LEFT, left},
    {ZERO_BYTE_COMMAND_PING, port_ping},
};

static const struct command_table port_commands = {port_rows, sizeof port_rows / sizeof *port_rows};

// Statuses after which the worker is still at it. 23, VOTE_START, is WAITING for all but votes.
static bool is_sign_of_life (uint8_t status)
{
    return status == ZERO_STATUS_WAITING_ID || status == ZERO_STATUS_VOTE_START_ID ||
           status == ZERO_STATUS_RUNING_ID;
}

// A worker's answer to a job: it counts only for the job in that worker's hands.
static void take_answer (struct station *station, struct worker *worker, struct message *answer)
{
    if (!worker || !worker->job || !span_equal (worker->job->mailbox, answer->sender)) {
        station->counts[COUNT_STRAY_ANSWERS]++;
        log_event (LEVEL_WARN, "stray_answer", "worker=%s mailbox=%s", worker ? worker->name : "",
                   quoted (answer->sender));
        return;
    }
    if (is_sign_of_life (answer->desc.code)) {
        if (worker->job->message.envelope == ENVELOPE_MAILBOX)
            answer_pass (station, worker->job, answer);
        return;
    }
    struct job *job = workers_take (station->workers, worker);
    station->counts[COUNT_ANSWERS]++;
    log_event (LEVEL_DEBUG, "job_done", "worker=%s mailbox=%s status=%02x", worker->name,
               quoted (job->mailbox), answer->desc.code);
    answer_pass (station, job, answer);
    job_destroy (&job);
    serve_queue (station);
}

// A message that cannot be read. If it was to be the answer to the job in hand, no other will come.
static void take_broken (struct station *station, struct worker *worker,
                         const struct request *request, const struct reason *reason)
{
    station->counts[COUNT_INVALID]++;
    log_event (LEVEL_WARN, "port_invalid", "worker=%s reason=\"%s\"", worker ? worker->name : "",
               reason->text);
    if (worker && worker->job && span_equal (worker->job->mailbox, request->message.sender)) {
        struct job *job = workers_take (station->workers, worker);
        struct reason why;
        reason_set (&why, "worker %s sent a broken answer", worker->name);
        fail (station, job, ZERO_STATUS_FAILED_ID, why.text);
        serve_queue (station);
    }
    tell (station, request, ZERO_STATUS_FRAME_INVALID_ID, reason->text);
}

static void port_message (struct station *station, struct request *request,
                          const struct packet *packet)
{
    struct reason reason;
    struct message *message = &request->message;
    struct worker *worker = workers_find (station->workers, request->identity);
    if (worker)
        workers_alive (station->workers, worker);
    bool broken = message_read (packet->frames + 1, packet->count - 1, message, &reason) != 0;
    if (!broken && (packet->fault || message->desc.code == 0)) {
        reason_set (&reason, packet->fault ? "message: too many frames or bytes"
                                           : "description: has no code");
        broken = true;
    }
    const struct command *command = command_find (&port_commands, message->desc.code);
    if (broken)
        take_broken (station, worker, request, &reason);
    else if (message->envelope == ENVELOPE_MAILBOX || message->envelope == ENVELOPE_CALLER)
        take_answer (station, worker, message);
    else if (message->desc.code >= ZERO_STATUS_ERROR_FLAG)
        station->counts[COUNT_STATUS_DROPPED]++;
    else if (command)
        command->handle (station, request);
    else
        tell (station, request, ZERO_STATUS_NOT_SUPPORT_ID, "want JOIN, READY, PITPAT or LEFT");
}

bool api_port_recv (struct station *station)
{
    struct packet packet;
    if (!packet_recv (&packet, station->port, &packet_of_peers))
        return false;
    if (packet.count == 0) {
        station->counts[COUNT_INVALID]++;
        return true;
    }
    struct request request = {.identity = packet.frames[0]};
    port_message (station, &request, &packet);
    packet_clear (&packet);
    return true;
}

void api_tick (struct station *station)
{
    for (struct worker *worker; (worker = workers_silent (station->workers));) {
        station->counts[COUNT_WORKERS_GONE]++;
        lose (station, worker, "is gone");
    }
}

void api_stop (struct station *station)
{
    fail_queue (station, "the station is stopped");
    for (struct worker *worker; (worker = workers_any (station->workers));)
        lose (station, worker, "is gone: the station is stopped");
}
