// A message of the wire: an envelope, a description, frames. Reading borrows the frames of a
// packet; writing collects borrowed frames. Source: proto 3.
#pragma once

#include "desc.h"

enum {
    // Envelope, description and 32 frames; further frames of a packet are counted and dropped.
    MESSAGE_FRAMES_MAX = DESC_FRAMES_MAX + 2
};

// What precedes the description.
enum envelope {
    ENVELOPE_PLAIN,  // [desc]: a DEALER client
    ENVELOPE_REQ,    // [empty][desc]: a REQ client
    ENVELOPE_CALLER, // [caller][desc]: a station that forwards its client's request
    ENVELOPE_MAILBOX // [*plan_id][desc]: a target's answer to a run
};

struct message {
    enum envelope envelope;
    struct span sender; // the caller or mailbox; empty for the first two envelopes
    struct span desc_bytes;
    struct desc desc;
    struct span frames[DESC_FRAMES_MAX]; // desc.count of them
};

// Read the envelope and the description. `frames` do not include the peer's identity. 0, or
// ZPLAN_EFRAME with the reason. On error, `ret` has what a rejection needs: the envelope as far as
// it is known; code and frames only if the description fits (desc_fits).
int message_read (const struct span *frames, size_t count, struct message *ret,
                  struct reason *reason);

// Read a message whose later frames were dropped, for its rejection: envelope, code and frames as
// far as they are known.
void message_read_cut (const struct span *frames, size_t count, struct message *ret);

// The first frame of this type, or an empty span. `found` may be NULL.
struct span message_frame (const struct message *self, uint8_t type, bool *found);

// The last frame of this type, or an empty span: a frame that a hop has appended comes after the
// sender's. `found` may be NULL.
struct span message_last_frame (const struct message *self, uint8_t type, bool *found);

// The total size of all frames in bytes.
size_t message_size (const struct message *self);

// Remove every frame of this type. If there is any, the new description is written to `desc_out`,
// and `self` borrows it.
void message_drop (struct message *self, uint8_t type, uint8_t desc_out[DESC_SIZE_MAX]);

// Start a message to write.
void message_start (struct message *self, uint8_t code);

// Append a frame; the bytes are borrowed until the message is sent.
void message_add (struct message *self, uint8_t type, struct span bytes);

// Lay the message out as packet frames: envelope, description, frames. `desc_out` holds the
// description's bytes. Returns the number of frames written to `out`.
size_t message_layout (const struct message *self, uint8_t desc_out[DESC_SIZE_MAX],
                       struct span out[MESSAGE_FRAMES_MAX]);

// Parse a mailbox, `*ID`, to its plan id. False: invalid.
bool mailbox_parse (struct span sender, uint64_t *ret_id);

enum { MAILBOX_SIZE = 18 }; // '*', 16 hex digits, NUL

// Write the mailbox of a plan. Returns `out`.
const char *mailbox_text (uint64_t plan_id, char out[MAILBOX_SIZE]);
