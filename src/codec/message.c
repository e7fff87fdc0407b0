#include "message.h"

#include <assert.h>

#include "codes.h"
#include "ident.h"

// The envelope of a message whose first frame is not a description.
static enum envelope envelope_of (struct span first)
{
    if (first.size == 0)
        return ENVELOPE_REQ;
    return first.data[0] == '*' ? ENVELOPE_MAILBOX : ENVELOPE_CALLER;
}

// Set the code and the frames from a description that is invalid or does not match the frames. Only
// frames with a type are set.
static void salvage_frames (const struct span *frames, size_t count, struct message *ret)
{
    struct span desc = frames[0];
    ret->desc = (struct desc){.code = desc.data[1]};
    for (size_t i = 0; i + 1 < count && i + 2 < desc.size && i < desc.data[0]; i++) {
        desc_add (&ret->desc, desc.data[i + 2]);
        ret->frames[i] = frames[i + 1];
    }
}

void message_read_cut (const struct span *frames, size_t count, struct message *ret)
{
    *ret = (struct message){.envelope = ENVELOPE_PLAIN};
    for (size_t at = 0; at < 2 && at < count; at++) {
        struct span desc = frames[at];
        // A description counts at least the frames that are left, and has the types of all of them.
        if (desc.size < 2 || desc.data[0] > DESC_FRAMES_MAX || desc.data[0] < count - at - 1 ||
            desc.size < (size_t)desc.data[0] + 2)
            continue;
        if (at == 1) {
            ret->envelope = envelope_of (frames[0]);
            ret->sender = frames[0];
        }
        salvage_frames (frames + at, count - at, ret);
        return;
    }
    if (count)
        ret->envelope = envelope_of (frames[0]);
}

int message_read (const struct span *frames, size_t count, struct message *ret,
                  struct reason *reason)
{
    *ret = (struct message){.envelope = ENVELOPE_PLAIN};
    if (count == 0)
        return reason_error (reason, ZPLAN_EFRAME, "message: has no description");
    // How the four envelopes are distinguished, in this order: the first frame is the description
    // if it fits; else empty = REQ, '*' = mailbox, anything else = caller, and the second frame
    // must fit.
    if (!desc_fits (frames[0], count - 1))
        ret->envelope = envelope_of (frames[0]);
    size_t at = ret->envelope == ENVELOPE_PLAIN ? 0 : 1;
    if (at == 1)
        ret->sender = frames[0];
    if (at >= count)
        return reason_error (reason, ZPLAN_EFRAME,
                             "description: does not match the %zu frames after it", count - 1);
    size_t following = count - at - 1;
    if (desc_parse (frames[at], following, &ret->desc, reason)) {
        ret->desc = (struct desc){0};
        if (desc_fits (frames[at], following))
            salvage_frames (frames + at, count - at, ret);
        return ZPLAN_EFRAME;
    }
    ret->desc_bytes = frames[at];
    for (size_t i = 0; i < following; i++)
        ret->frames[i] = frames[at + 1 + i];
    return 0;
}

// The frame at this index; `count`: there is none.
static struct span frame_at (const struct message *self, size_t at, bool *ret_found)
{
    if (ret_found)
        *ret_found = at < self->desc.count;
    return at < self->desc.count ? self->frames[at] : (struct span){0};
}

struct span message_frame (const struct message *self, uint8_t type, bool *found)
{
    return frame_at (self, desc_find (&self->desc, type), found);
}

struct span message_last_frame (const struct message *self, uint8_t type, bool *found)
{
    size_t after = self->desc.count;
    while (after > 0 && self->desc.types[after - 1] != type)
        after--;
    return frame_at (self, after > 0 ? after - 1 : self->desc.count, found);
}

size_t message_size (const struct message *self)
{
    size_t size = 0;
    for (size_t i = 0; i < self->desc.count; i++)
        size += self->frames[i].size;
    return size;
}

void message_drop (struct message *self, uint8_t type, uint8_t desc_out[DESC_SIZE_MAX])
{
    struct desc kept = {.code = self->desc.code};
    for (size_t i = 0; i < self->desc.count; i++) {
        if (self->desc.types[i] == type)
            continue;
        self->frames[kept.count] = self->frames[i];
        desc_add (&kept, self->desc.types[i]);
    }
    if (kept.count == self->desc.count)
        return;
    self->desc = kept;
    self->desc_bytes = span_of (desc_out, desc_write (&kept, desc_out));
}

void message_start (struct message *self, uint8_t code)
{
    *self = (struct message){.envelope = ENVELOPE_PLAIN, .desc.code = code};
}

void message_add (struct message *self, uint8_t type, struct span bytes)
{
    desc_add (&self->desc, type);
    self->frames[self->desc.count - 1] = bytes;
}

size_t message_layout (const struct message *self, uint8_t desc_out[DESC_SIZE_MAX],
                       struct span out[MESSAGE_FRAMES_MAX])
{
    size_t count = 0;
    if (self->envelope != ENVELOPE_PLAIN)
        out[count++] = self->sender;
    out[count++] = span_of (desc_out, desc_write (&self->desc, desc_out));
    for (size_t i = 0; i < self->desc.count; i++)
        out[count++] = self->frames[i];
    assert (count <= MESSAGE_FRAMES_MAX);
    return count;
}

bool mailbox_parse (struct span sender, uint64_t *ret_id)
{
    return sender.size > 1 && sender.data[0] == '*' &&
           ident_parse (span_of (sender.data + 1, sender.size - 1), ret_id);
}

const char *mailbox_text (uint64_t plan_id, char out[MAILBOX_SIZE])
{
    out[0] = '*';
    ident_text (plan_id, out + 1);
    return out;
}
