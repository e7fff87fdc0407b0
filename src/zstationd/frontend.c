#include "frontend.h"

#include "answer.h"
#include "codes.h"
#include "packet.h"

static void reject_request (struct target_server *station, const struct target_request *request,
                            uint8_t status, const struct reason *reason)
{
    if (status == ZERO_STATUS_FRAME_INVALID_ID)
        station->counts[COUNT_INVALID]++;
    log_event (LEVEL_DEBUG, "refused", "peer=%s status=%02x reason=\"%s\"",
               quoted (request->identity), status, reason->text);
    answer_request (station, request, status, reason->text);
}

static void dispatch_request (struct target_server *station, const struct target_request *request)
{
    struct reason reason;
    uint8_t code = request->message.desc.code;
    if (code >= ZERO_STATUS_ERROR_FLAG) {
        // A status is never answered: two stations could answer each other forever.
        station->counts[COUNT_STATUS_DROPPED]++;
        log_event (LEVEL_DEBUG, "status.dropped", "peer=%s status=%02x", quoted (request->identity),
                   code);
        return;
    }
    if (code == ZERO_BYTE_COMMAND_NONE && station->kind->jobs_max &&
        frontend_handle_admin_command (station, request))
        return;
    switch (code) {
    case ZERO_BYTE_COMMAND_NONE:
    case ZERO_BYTE_COMMAND_PROXY:
        station->kind->start (station, request);
        return;
    case ZERO_BYTE_COMMAND_PING:
        answer_request (station, request, ZERO_STATUS_OK_ID, NULL);
        return;
    case ZERO_BYTE_COMMAND_CLOSE_REQUEST:
        station->kind->cancel (station, request);
        return;
    case 0:
        reason_set (&reason, "description: has no command");
        reject_request (station, request, ZERO_STATUS_FRAME_INVALID_ID, &reason);
        return;
    }
    reason_set (&reason, "command %02x is not known here", code);
    reject_request (station, request, ZERO_STATUS_NOT_SUPPORT_ID, &reason);
}

bool frontend_recv (struct target_server *station)
{
    struct packet packet;
    if (!packet_recv (&packet, station->request, &packet_of_dispatches))
        return false;
    struct target_request request = {0};
    struct reason reason;
    if (packet.count == 0) { // not even an identity to answer to
        station->counts[COUNT_INVALID]++;
        return true;
    }
    request.identity = packet.frames[0];
    int rc = message_read (packet.frames + 1, packet.count - 1, &request.message, &reason);
    if (packet.fault) {
        request.message.desc = (struct desc){0};
        reason_set (&reason, "message: too many frames or bytes");
        rc = ZPLAN_EFRAME;
    }
    if (rc)
        reject_request (station, &request, ZERO_STATUS_FRAME_INVALID_ID, &reason);
    else
        dispatch_request (station, &request);
    packet_clear (&packet);
    return true;
}

void frontend_drop_late_run (struct target_server *station, struct job *job)
{
    station->counts[COUNT_LATE_RUNS]++;
    log_event (LEVEL_WARN, "run.late", "mailbox=%s", quoted (job->mailbox));
    job_destroy (&job);
}

struct job *frontend_make_job (struct target_server *station, const struct target_request *request)
{
    bool found;
    message_frame (&request->message, ZERO_FRAME_COMMAND, &found);
    if (!found) {
        station->counts[COUNT_INVALID]++;
        answer_request (station, request, ZERO_STATUS_FRAME_INVALID_ID, "COMMAND: is missing");
        return NULL;
    }
    struct job *job = job_new (request->identity, &request->message);
    if (deadline_past (job->deadline_s)) {
        frontend_drop_late_run (station, job);
        return NULL;
    }
    if (station->stopping)
        answer_failed (station, &job, ZERO_STATUS_NOT_WORKER_ID, "the station is stopped");
    return job;
}
