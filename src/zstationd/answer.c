#include "answer.h"

#include <stdio.h>

#include "codes.h"
#include "packet.h"

// Most important first: a worker's answer may not have enough free frames for all of them.
static const uint8_t echoed[] = {ZERO_FRAME_LOCAL_ID, ZERO_FRAME_GLOBAL_ID, ZERO_FRAME_REQUEST_ID,
                                 ZERO_FRAME_REQUESTER};

// Append the ids that the request has and the answer lacks, while the answer has fewer than `most`
// frames.
static void echo_ids (struct message *answer, const struct message *request, size_t most)
{
    for (size_t i = 0; i < sizeof echoed; i++) {
        bool given, present;
        // zpland appends its ids: the last one is its own.
        struct span bytes = message_last_frame (request, echoed[i], &given);
        message_frame (answer, echoed[i], &present);
        if (given && !present && answer->desc.count < most)
            message_add (answer, echoed[i], bytes);
    }
}

// Set the envelope of an answer: the mailbox for a plan, an empty frame for a REQ client, nothing
// for others.
static void set_envelope (struct message *answer, const struct message *request)
{
    answer->envelope = ENVELOPE_PLAIN;
    if (request->envelope == ENVELOPE_REQ || request->envelope == ENVELOPE_MAILBOX) {
        answer->envelope = request->envelope;
        answer->sender = request->sender;
    }
}

// Send an answer. `*rerouted`: an earlier answer to the same request had to be sent to zpland's
// request socket; set when this one is. False: the answer was lost.
static bool send_answer (struct target_server *station, struct span identity,
                         const struct message *answer, bool *rerouted)
{
    station_process_disconnects (station->request);
    if (!*rerouted && packet_send_message (station->request, identity, answer))
        return true;
    if (answer->envelope == ENVELOPE_MAILBOX && station->plan.endpoints.count &&
        plan_link_send (&station->plan, answer)) {
        log_event (LEVEL_INFO, "answer.rerouted", "mailbox=%s", quoted (answer->sender));
        *rerouted = true;
        return true;
    }
    station->counts[COUNT_LOST_ANSWERS]++;
    log_event (LEVEL_WARN, "answer.lost", "peer=%s mailbox=%s status=%02x", quoted (identity),
               quoted (answer->sender), answer->desc.code);
    return false;
}

void answer_start (struct message *answer, uint8_t status, const char *reason,
                   char text[STATUS_TEXT_MAX])
{
    message_start (answer, status);
    if (!reason)
        return;
    snprintf (text, STATUS_TEXT_MAX, "%s: %s", status_word (status), reason);
    message_add (answer, ZERO_FRAME_STATUS, span_text (text));
}

void answer_request_with (struct target_server *station, const struct target_request *request,
                          struct message *answer)
{
    echo_ids (answer, &request->message, DESC_FRAMES_MAX);
    set_envelope (answer, &request->message);
    send_answer (station, request->identity, answer, &(bool){false});
}

void answer_request (struct target_server *station, const struct target_request *request,
                     uint8_t status, const char *reason)
{
    char text[STATUS_TEXT_MAX];
    struct message answer;
    answer_start (&answer, status, reason, text);
    answer_request_with (station, request, &answer);
}

// Set the LOCAL_ID of the answer to a resent run: that of the latest delivery, not the one that the
// worker knows.
static void set_latest_run_id (struct message *answer, const struct job *job)
{
    bool named = false;
    if (!job->renewed)
        return;
    for (size_t i = 0; i < answer->desc.count; i++) {
        if (answer->desc.types[i] != ZERO_FRAME_LOCAL_ID)
            continue;
        answer->frames[i] = job->local_id;
        named = true;
    }
    if (!named && answer->desc.count < DESC_FRAMES_MAX)
        message_add (answer, ZERO_FRAME_LOCAL_ID, job->local_id);
}

bool answer_pass (struct target_server *station, struct job *job, struct message *answer,
                  const char *voter)
{
    uint8_t desc[DESC_SIZE_MAX];
    if (voter)
        message_drop (answer, ZERO_FRAME_RESPONSER, desc);
    set_latest_run_id (answer, job);
    echo_ids (answer, &job->message, DESC_FRAMES_MAX - (voter != NULL));
    if (voter)
        message_add (answer, ZERO_FRAME_RESPONSER, span_text (voter));
    set_envelope (answer, &job->message);
    return send_answer (station, job->identity, answer, &job->rerouted);
}

bool answer_job (struct target_server *station, struct job *job, uint8_t status, const char *reason)
{
    char text[STATUS_TEXT_MAX];
    struct message answer;
    answer_start (&answer, status, reason, text);
    return answer_pass (station, job, &answer, NULL);
}

void answer_failed (struct target_server *station, struct job **job, uint8_t status,
                    const char *reason)
{
    log_event (LEVEL_INFO, "job.failed", "mailbox=%s reason=%s", quoted ((*job)->mailbox),
               quoted (span_text (reason)));
    station->counts[COUNT_ANSWERS]++;
    answer_job (station, *job, status, reason);
    job_destroy (job);
}
