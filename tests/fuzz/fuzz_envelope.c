// Whole messages: input is frames. A message that is read is laid out again, with the numbers of
// both dialects.
#include "dialect.h"
#include "fuzz.h"
#include "message.h"
#include "zplan_codes.h"

enum { FRAMES = MESSAGE_FRAMES_MAX + 2 };

static void check_same (const struct message *a, const struct message *b)
{
    HOLDS (a->envelope == b->envelope && span_equal (a->sender, b->sender));
    HOLDS (a->desc.code == b->desc.code && a->desc.count == b->desc.count);
    for (size_t i = 0; i < a->desc.count; i++)
        HOLDS (a->desc.types[i] == b->desc.types[i] && span_equal (a->frames[i], b->frames[i]));
}

static void check_frames (const struct message *message)
{
    size_t size = 0;
    for (size_t i = 0; i < message->desc.count; i++) {
        uint8_t type = message->desc.types[i];
        bool first, last;
        message_frame (message, type, &first);
        message_last_frame (message, type, &last);
        HOLDS (first && last);
        size += message->frames[i].size;
    }
    HOLDS (size == message_size (message));
}

static void check_good (const struct message *message)
{
    uint8_t desc_out[DESC_SIZE_MAX], dropped_out[DESC_SIZE_MAX];
    struct span out[MESSAGE_FRAMES_MAX];
    struct message again, dropped = *message;
    struct reason reason;
    check_frames (message);
    size_t count = message_layout (message, desc_out, out);
    HOLDS (message_read (out, count, &again, &reason) == 0);
    check_same (message, &again);

    uint8_t type = message->desc.count ? message->desc.types[0] : ZERO_FRAME_PLAN;
    message_drop (&dropped, type, dropped_out);
    bool found;
    message_frame (&dropped, type, &found);
    HOLDS (!found && dropped.desc.count <= message->desc.count);
    HOLDS (dropped.desc_bytes.size >= (size_t)dropped.desc.count + 2 &&
           dropped.desc_bytes.data[0] == dropped.desc.count);
}

static void check_mailbox (struct span sender)
{
    uint64_t id, again;
    char text[MAILBOX_SIZE];
    if (!mailbox_parse (sender, &id))
        return;
    HOLDS (id > 0 && id <= INT64_MAX);
    HOLDS (mailbox_parse (span_text (mailbox_text (id, text)), &again) && again == id);
}

static void check_status (uint8_t status)
{
    uint8_t ours = dialect_status_in (DIALECT_MICROZERO, status);
    HOLDS (dialect_status_in (DIALECT_ZERONET, status) == (status ? status : ZERO_STATUS_ERROR_ID));
    // A status that is converted to the dialect must be converted back to the same one.
    uint8_t theirs = dialect_status_out (DIALECT_MICROZERO, ours);
    HOLDS (dialect_status_in (DIALECT_MICROZERO, theirs) == ours);
    HOLDS (ours != 0);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span frames[FRAMES];
    struct message message, cut;
    struct reason reason = {""};
    size_t count = feed_frames (&feed, frames, FRAMES);

    int rc = message_read (frames, count, &message, &reason);
    check_frames (&message);
    check_mailbox (message.sender);
    check_status (message.desc.code);
    if (rc)
        check_reason (&reason);
    else
        check_good (&message);

    size_t kept = count < MESSAGE_FRAMES_MAX ? count : MESSAGE_FRAMES_MAX;
    message_read_cut (frames, kept, &cut);
    check_frames (&cut);
    HOLDS (cut.desc.count < MESSAGE_FRAMES_MAX);
    feed_free (&feed);
    return 0;
}
