// The workers' port: reads what workers send, and gives them jobs.
//
// Invariant: an answer reaches the station's type only from the worker that has its job, and once:
// whatever else a worker sends is counted and dropped.
#include "backend.h"

#include "answer.h"
#include "codes.h"
#include "packet.h"
#include "settings.h"
#include "station_name.h"

// Answer a worker: never with a mailbox, which would look like a job.
static void answer_worker (struct target_server *station, const struct target_request *request,
                           uint8_t status, const char *reason)
{
    char text[STATUS_TEXT_MAX];
    struct message message;
    answer_start (&message, status, reason, text);
    if (request->message.envelope == ENVELOPE_REQ)
        message.envelope = ENVELOPE_REQ;
    packet_send_message (station->backend, request->identity, &message);
}

// -- giving jobs, losing workers

void backend_lose_worker (struct target_server *station, struct worker *worker, const char *what)
{
    struct job *jobs[WORKER_JOBS_MAX];
    size_t count = worker->job_count;
    memcpy (jobs, worker->jobs, count * sizeof *jobs);
    log_event (LEVEL_INFO, "worker.lost", "worker=%s what=\"%s\"", worker->name, what);
    workers_remove (&station->workers, worker);
    worker->job_count = 0;
    station->kind->lost (station, worker, jobs, count, what);
    worker_destroy (&worker);
}

static void remove_gone_worker (struct target_server *station, struct worker *worker)
{
    station->counts[COUNT_WORKERS_GONE]++;
    backend_lose_worker (station, worker, "is gone");
}

bool backend_give_job (struct target_server *station, struct worker *worker, struct job *job)
{
    struct span frames[PACKET_FRAMES_MAX];
    size_t count = job->received->count;
    memcpy (frames, job->received->at, count * sizeof *frames);
    frames[0] = span_of (worker->identity, worker->identity_size);
    station_process_disconnects (station->backend);
    if (!packet_send (station->backend, frames, count)) {
        remove_gone_worker (station, worker);
        return false;
    }
    workers_assign_job (&station->workers, worker, job);
    station->counts[COUNT_JOBS]++;
    log_event (LEVEL_DEBUG, "job", "worker=%s mailbox=%s", worker->name, quoted (job->mailbox));
    return true;
}

void backend_tick (struct target_server *station)
{
    for (struct worker *worker; (worker = workers_unresponsive (&station->workers));)
        remove_gone_worker (station, worker);
}

void backend_stop (struct target_server *station)
{
    for (struct worker *worker; (worker = workers_any (&station->workers));)
        backend_lose_worker (station, worker, "is gone: the station is stopped");
}

void backend_drain_worker (struct target_server *station, struct worker *worker)
{
    char text[STATUS_TEXT_MAX];
    struct message message;
    if (worker->draining)
        return;
    workers_drain (&station->workers, worker);
    log_event (LEVEL_INFO, "worker.drains", "worker=%s jobs=%zu", worker->name, worker->job_count);
    answer_start (&message, ZERO_STATUS_BYE_ID, "no more jobs: finish those you have, then leave",
                  text);
    station_process_disconnects (station->backend);
    if (packet_send_message (station->backend, span_of (worker->identity, worker->identity_size),
                             &message))
        station->kind->drained (station, worker);
    else
        remove_gone_worker (station, worker);
}

// -- the commands

// Find the ARG with this number, counted from 1. False: there is none.
static bool find_argument (const struct message *message, size_t number, struct span *ret)
{
    for (size_t i = 0; i < message->desc.count; i++) {
        if (message->desc.types[i] != ZERO_FRAME_ARG || --number > 0)
            continue;
        *ret = message->frames[i];
        return true;
    }
    return false;
}

// Read the number after the name; if there is none `ret` is unchanged. False: not a number within
// bounds.
static bool read_join_number (const struct message *message, int64_t min, int64_t max, int64_t *ret)
{
    char digits[8];
    struct span text;
    if (!find_argument (message, 2, &text))
        return true;
    if (text.size == 0 || text.size >= sizeof digits || memchr (text.data, 0, text.size))
        return false;
    memcpy (digits, text.data, text.size);
    digits[text.size] = '\0';
    return number_parse (digits, ret) && *ret >= min && *ret <= max;
}

// Read the options after the name and the number: whether the worker understands CLOSE_REQUEST (one
// that does not may take it for a job), and which commands it takes. Unknown options are ignored:
// later versions may have more. Returns why they are rejected, or NULL.
static const char *read_join_options (struct target_server *station, struct worker *worker,
                                      const struct message *message)
{
    static const char start[] = "commands=";
    size_t skip = sizeof start - 1;
    struct span word;
    for (size_t i = 3; find_argument (message, i, &word); i++) {
        if (span_is (word, "cancel"))
            worker->takes_cancel = true;
        if (word.size < skip || memcmp (word.data, start, skip) != 0)
            continue;
        if (!station->kind->by_command)
            return "ARG: commands= is for workers of an api target";
        if (worker->commands ||
            !workers_set_commands (&station->workers, worker,
                                   span_of (word.data + skip, word.size - skip)))
            return "ARG: want commands=NAME,NAME once, names of 1..256 bytes, at most 4096 in all";
    }
    return NULL;
}

static void handle_join (struct target_server *station, const struct target_request *request)
{
    int64_t jobs_max = 1;
    struct span name = message_frame (&request->message, ZERO_FRAME_ARG, NULL);
    if (!read_join_number (&request->message, 1, WORKER_JOBS_MAX, &jobs_max)) {
        answer_worker (station, request, ZERO_STATUS_MANAGE_ARG_ERROR_ID,
                       "ARG: want 1..64 jobs at once after the name");
        return;
    }
    if (jobs_max > (int64_t)station->kind->jobs_max)
        jobs_max = (int64_t)station->kind->jobs_max;
    if (!station_name_valid (name) || request->identity.size > WORKER_IDENTITY_MAX) {
        answer_worker (station, request, ZERO_STATUS_MANAGE_ARG_ERROR_ID,
                       "ARG: want the worker's name, 1..64 of A-Z a-z 0-9 _ . -");
        return;
    }
    struct worker *known = workers_find (&station->workers, request->identity);
    if (!known && station->workers.count >= WORKERS_MAX) {
        answer_worker (station, request, ZERO_STATUS_BUSY_ID, "too many workers");
        return;
    }
    struct worker *worker =
        workers_join (&station->workers, request->identity, name, (size_t)jobs_max);
    const char *wrong = read_join_options (station, worker, &request->message);
    if (wrong) { // a previous entry of this worker remains unchanged
        workers_remove (&station->workers, worker);
        worker_destroy (&worker);
        answer_worker (station, request, ZERO_STATUS_MANAGE_ARG_ERROR_ID, wrong);
        return;
    }
    struct span commands = span_text (worker->commands ? worker->commands : "");
    log_event (LEVEL_INFO, "worker.joined", "worker=%.*s%s%s", (int)name.size,
               (const char *)name.data, commands.size ? " commands=" : "",
               commands.size ? quoted (commands) : "");
    // A worker that joins again has lost its jobs. The new entry hides the old one from
    // workers_find. Since it exists already, the removal of the old one does not look like that of
    // the last worker.
    if (known)
        backend_lose_worker (station, known, "has joined again");
    answer_worker (station, request, ZERO_STATUS_OK_ID, NULL);
}

static void handle_ready (struct target_server *station, const struct target_request *request)
{
    struct worker *worker = workers_find (&station->workers, request->identity);
    if (!worker) {
        answer_worker (station, request, ZERO_STATUS_NOT_FIND_ID, "join first");
        return;
    }
    int64_t credits = 1;
    if (!read_join_number (&request->message, 0, 1, &credits)) {
        answer_worker (station, request, ZERO_STATUS_MANAGE_ARG_ERROR_ID,
                       "ARG: want 1, a job, or 0, no more jobs, after the name");
    } else if (credits == 0) {
        workers_clear_credit (&station->workers, worker);
    } else {
        workers_credit (&station->workers, worker);
        station->kind->ready (station, worker);
    }
}

static void handle_pitpat (struct target_server *station, const struct target_request *request)
{
    bool joined = workers_find (&station->workers, request->identity);
    answer_worker (station, request, joined ? ZERO_STATUS_OK_ID : ZERO_STATUS_NOT_FIND_ID,
                   joined ? NULL : "join first");
}

static void handle_left (struct target_server *station, const struct target_request *request)
{
    struct worker *worker = workers_find (&station->workers, request->identity);
    if (worker)
        backend_lose_worker (station, worker, "has left");
    answer_worker (station, request, ZERO_STATUS_BYE_ID, NULL);
}

static void handle_command (struct target_server *station, const struct target_request *request)
{
    switch (request->message.desc.code) {
    case ZERO_BYTE_COMMAND_HEART_JOIN:
        handle_join (station, request);
        return;
    case ZERO_BYTE_COMMAND_HEART_READY:
        handle_ready (station, request);
        return;
    case ZERO_BYTE_COMMAND_HEART_PITPAT:
        handle_pitpat (station, request);
        return;
    case ZERO_BYTE_COMMAND_HEART_LEFT:
        handle_left (station, request);
        return;
    case ZERO_BYTE_COMMAND_PING:
        answer_worker (station, request, ZERO_STATUS_OK_ID, NULL);
        return;
    }
    answer_worker (station, request, ZERO_STATUS_NOT_SUPPORT_ID,
                   "want JOIN, READY, PITPAT or LEFT");
}

// -- answers

bool is_heartbeat (uint8_t status)
{
    return status == ZERO_STATUS_WAITING_ID || status == ZERO_STATUS_VOTE_START_ID ||
           status == ZERO_STATUS_RUNING_ID;
}

static void forward_answer (struct target_server *station, struct worker *worker,
                            struct message *answer)
{
    struct job *job = worker ? worker_job_of (worker, answer) : NULL;
    if (job) {
        station->kind->answer (station, worker, job, answer);
        return;
    }
    station->counts[COUNT_STRAY_ANSWERS]++;
    log_event (LEVEL_WARN, "answer.stray", "worker=%s mailbox=%s", worker ? worker->name : "",
               quoted (answer->sender));
}

// Handle a malformed message. If it was the answer to a job in progress, no other will come.
static void handle_malformed (struct target_server *station, struct worker *worker,
                              const struct target_request *request, const struct reason *reason)
{
    station->counts[COUNT_INVALID]++;
    log_event (LEVEL_WARN, "port.invalid", "worker=%s reason=\"%s\"", worker ? worker->name : "",
               reason->text);
    struct job *job = worker ? worker_job_of (worker, &request->message) : NULL;
    if (job)
        station->kind->broken (station, worker, job);
    answer_worker (station, request, ZERO_STATUS_FRAME_INVALID_ID, reason->text);
}

static void handle_port_message (struct target_server *station, struct target_request *request,
                                 const struct packet *packet)
{
    struct reason reason;
    struct message *message = &request->message;
    struct worker *worker = workers_find (&station->workers, request->identity);
    if (worker)
        workers_restart_timeout (&station->workers, worker);
    bool broken = message_read (packet->frames + 1, packet->count - 1, message, &reason) != 0;
    if (!broken && (packet->fault || message->desc.code == 0)) {
        reason_set (&reason, packet->fault ? "message: too many frames or bytes"
                                           : "description: has no code");
        broken = true;
    }
    if (broken)
        handle_malformed (station, worker, request, &reason);
    else if (message->envelope == ENVELOPE_MAILBOX || message->envelope == ENVELOPE_CALLER)
        forward_answer (station, worker, message);
    else if (message->desc.code >= ZERO_STATUS_ERROR_FLAG)
        station->counts[COUNT_STATUS_DROPPED]++;
    else
        handle_command (station, request);
}

bool backend_recv (struct target_server *station)
{
    struct packet packet;
    if (!packet_recv (&packet, station->backend, &packet_of_peers))
        return false;
    if (packet.count == 0) {
        station->counts[COUNT_INVALID]++;
        return true;
    }
    struct target_request request = {.identity = packet.frames[0]};
    handle_port_message (station, &request, &packet);
    packet_clear (&packet);
    return true;
}
