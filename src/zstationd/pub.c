// A pub station: publishes each request to its subscribers, and answers it.
#include "answer.h"
#include "cancel.h"
#include "codes.h"
#include "frontend.h"
#include "packet.h"

// Publish [title][description][frames], the last two exactly as received. The send never blocks: a
// subscriber that is too slow misses it.
static void send_publication (struct target_server *station, const struct message *message,
                              struct span title)
{
    struct span frames[MESSAGE_FRAMES_MAX];
    size_t count = 0;
    frames[count++] = title;
    frames[count++] = message->desc_bytes;
    for (size_t i = 0; i < message->desc.count; i++)
        frames[count++] = message->frames[i];
    packet_send (station->publish, frames, count);
    station->counts[COUNT_PUBLISHED]++;
}

static void handle_publish (struct target_server *station, const struct target_request *request)
{
    const struct message *message = &request->message;
    bool found;
    struct span title = message_frame (message, ZERO_FRAME_PUB_TITLE, &found);
    if (!found) {
        station->counts[COUNT_INVALID]++;
        answer_request (station, request, ZERO_STATUS_FRAME_INVALID_ID, "PUB_TITLE: is missing");
        return;
    }
    if (message->desc.code == ZERO_BYTE_COMMAND_PROXY && deadline_past (run_deadline_s (message))) {
        station->counts[COUNT_LATE_RUNS]++;
        log_event (LEVEL_WARN, "run.late", "mailbox=%s", quoted (message->sender));
        return;
    }
    send_publication (station, message, title);
    answer_request (station, request, ZERO_STATUS_OK_ID, NULL);
}

const struct station_kind pub_station = {
    .answers_max = 1000,
    .start = handle_publish,
    .cancel = cancel_drop_stray, // nothing is ever in progress
};
