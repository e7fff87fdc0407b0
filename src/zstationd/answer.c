#include "answer.h"

#include <stdio.h>

#include "codes.h"
#include "packet.h"

// Most important first: an answer of a worker may leave no room for all.
static const uint8_t echoed[] = {ZERO_FRAME_LOCAL_ID, ZERO_FRAME_GLOBAL_ID, ZERO_FRAME_REQUEST_ID,
                                 ZERO_FRAME_REQUESTER};

void answer_echo (struct message *answer, const struct message *request)
{
    for (size_t i = 0; i < sizeof echoed; i++) {
        bool given, there;
        // The plan proxy station appends its ids: the last one is its own.
        struct span bytes = message_last_frame (request, echoed[i], &given);
        message_frame (answer, echoed[i], &there);
        if (given && !there && answer->desc.count < DESC_FRAMES_MAX)
            message_add (answer, echoed[i], bytes);
    }
}

// A plan's mailbox goes before the answer, a REQ client wants its empty frame back, and any other
// gets the bare answer.
static void address (struct message *answer, const struct message *request)
{
    answer->envelope = ENVELOPE_PLAIN;
    if (request->envelope == ENVELOPE_REQ || request->envelope == ENVELOPE_MAILBOX) {
        answer->envelope = request->envelope;
        answer->sender = request->sender;
    }
}

static void send_answer (struct station *station, struct span identity,
                         const struct message *answer)
{
    station_notice (station->request);
    if (packet_send_message (station->request, identity, answer))
        return;
    if (answer->envelope == ENVELOPE_MAILBOX && station->plan &&
        packet_send_message (station->plan, (struct span){0}, answer)) {
        log_event (LEVEL_INFO, "answer_rerouted", "mailbox=%s", quoted (answer->sender));
        return;
    }
    station->counts[COUNT_LOST_ANSWERS]++;
    log_event (LEVEL_WARN, "answer_lost", "peer=%s mailbox=%s status=%02x", quoted (identity),
               quoted (answer->sender), answer->desc.code);
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

void answer_request (struct station *station, const struct request *request, uint8_t status,
                     const char *reason)
{
    char text[STATUS_TEXT_MAX];
    struct message answer;
    answer_start (&answer, status, reason, text);
    answer_echo (&answer, &request->message);
    address (&answer, &request->message);
    send_answer (station, request->identity, &answer);
}

void answer_job (struct station *station, const struct job *job, uint8_t status, const char *reason)
{
    char text[STATUS_TEXT_MAX];
    struct message answer;
    answer_start (&answer, status, reason, text);
    answer_pass (station, job, &answer);
}

void answer_pass (struct station *station, const struct job *job, struct message *answer)
{
    answer_echo (answer, &job->message);
    address (answer, &job->message);
    send_answer (station, job->identity, answer);
}
