#include "cancel.h"

#include "codes.h"
#include "packet.h"

// -- matching jobs

// Whether the request and the job have the same frame of this type. Also true if the request has
// none.
static bool frame_matches (const struct target_request *request, const struct job *job,
                           uint8_t type)
{
    bool given;
    struct span wanted = message_last_frame (&request->message, type, &given);
    return !given || span_equal (wanted, message_last_frame (&job->message, type, NULL));
}

// Whether the request names this run by its LOCAL_ID. Also true if the request has none. A run that
// is sent by identity has its id in GLOBAL_ID (proto/ 7.2).
static bool run_id_matches (const struct target_request *request, const struct job *job)
{
    bool given, numbered;
    struct span wanted = message_last_frame (&request->message, ZERO_FRAME_LOCAL_ID, &given);
    struct span number = message_last_frame (&job->message, ZERO_FRAME_LOCAL_ID, &numbered);
    if (job->renewed)
        number = job->local_id;
    if (!numbered && job->is_run)
        number = message_last_frame (&job->message, ZERO_FRAME_GLOBAL_ID, NULL);
    return !given || span_equal (wanted, number);
}

bool cancel_matches (const struct target_request *request, const struct job *job)
{
    bool has_mailbox = request->message.envelope == ENVELOPE_MAILBOX;
    if (has_mailbox != (job->message.envelope == ENVELOPE_MAILBOX) ||
        !run_id_matches (request, job))
        return false;
    if (has_mailbox)
        return span_equal (request->message.sender, job->mailbox);
    return span_equal (request->identity, job->identity) &&
           frame_matches (request, job, ZERO_FRAME_REQUEST_ID) &&
           frame_matches (request, job, ZERO_FRAME_REQUESTER);
}

struct job *cancel_find_in_progress (const struct target_server *station,
                                     const struct target_request *request,
                                     struct worker **ret_worker)
{
    struct job *oldest = NULL;
    for (size_t i = 0; i < station->workers.count; i++) {
        struct worker *worker = workers_at (&station->workers, i);
        for (size_t k = 0; k < worker->job_count; k++) {
            struct job *job = worker->jobs[k];
            if ((oldest && oldest->number < job->number) || !cancel_matches (request, job))
                continue;
            oldest = job;
            *ret_worker = worker;
        }
    }
    return oldest;
}

// -- cancelling

bool cancel_begin (struct target_server *station, const struct target_request *request,
                   struct job *job)
{
    if (job->cancelled) {
        cancel_drop_stray (station, request);
        return false;
    }
    job->cancelled = true;
    station->counts[COUNT_CANCELS]++;
    log_event (LEVEL_INFO, "job.cancelled", "mailbox=%s reason=%s", quoted (job->mailbox),
               quoted (message_frame (&request->message, ZERO_FRAME_STATUS, NULL)));
    return true;
}

// The worker receives the frames that identify the job, and of the request only its STATUS.
void cancel_notify_worker (struct target_server *station, const struct target_request *request,
                           const struct worker *worker, const struct job *job)
{
    static const uint8_t of_job[] = {ZERO_FRAME_LOCAL_ID, ZERO_FRAME_GLOBAL_ID};
    struct message message;
    bool given;
    if (!worker->takes_cancel)
        return;
    message_start (&message, ZERO_BYTE_COMMAND_CLOSE_REQUEST);
    struct span words = message_frame (&request->message, ZERO_FRAME_STATUS, &given);
    if (given)
        message_add (&message, ZERO_FRAME_STATUS, words);
    for (size_t i = 0; i < sizeof of_job; i++) {
        struct span bytes = message_last_frame (&job->message, of_job[i], &given);
        if (given)
            message_add (&message, of_job[i], bytes);
    }
    message.envelope = ENVELOPE_MAILBOX; // also for a call, whose mailbox starts with "+"
    message.sender = job->mailbox;
    // A worker that cannot be reached is lost at its timeout.
    packet_send_message (station->backend, span_of (worker->identity, worker->identity_size),
                         &message);
}

void cancel_drop_stray (struct target_server *station, const struct target_request *request)
{
    station->counts[COUNT_STRAY_CANCELS]++;
    log_event (LEVEL_DEBUG, "cancel.stray", "peer=%s mailbox=%s", quoted (request->identity),
               quoted (request->message.sender));
}
