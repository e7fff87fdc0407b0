// The two messages a plan becomes on the wire: the dispatch of a run, and the broadcast of a
// result. Source: proto 7.2 and 8.
#pragma once

#include "decimal.h"
#include "json_text.h"
#include "plan.h"

// Result frames that a broadcast can carry after the plan's id and JSON.
enum { BROADCAST_FRAMES_MAX = DESC_FRAMES_MAX - 2 };

// How a target receives a run. A target by identity sees the connection's identity as the caller,
// so the mailbox is sent in a frame, and some frames must never be empty (proto 7.2).
struct dispatch_way {
    bool by_identity;
    const char *key; // SERVICE_KEY, the last frame; empty = none
};

// Whether the dispatch of a plan with these frames fits into one message, without PLAN and
// STATION_ID but with the frames that the way adds.
bool plan_dispatch_fits (const struct desc *submitted, const struct dispatch_way *way);

// Texts that the frames of a message borrow; keep it as long as the message. Initially all zero;
// may be reused for the next message.
struct plan_texts {
    char mailbox[MAILBOX_SIZE];
    char plan_time[DECIMAL_SIZE];
    char exec_id[17];
    struct json_text plan_json; // its room is reused: free () the bytes at the end
};

// [*plan_id][desc PROXY][frames], without the mailbox by identity. `deadline` is the end of the
// lease in Unix seconds. The plan's stored description was checked (engine_due,
// plan_dispatch_fits).
void plan_dispatch_message (const struct plan *self, const struct dispatch_way *way,
                            int64_t deadline, struct plan_texts *texts, struct message *ret);

// plan_public_text with seq and epoch (hex) added, which replaces the content of `text`. Borrowed
// from `text`.
const char *plan_broadcast_json (const char *public_text, int64_t seq, const char *epoch,
                                 struct json_text *text);

// The COMMAND of a submitted plan; empty: it has none.
struct span plan_command (const struct plan *plan);

// The first frame of this type that it was submitted with; empty: there is none.
struct span plan_sent_frame (const struct plan *plan, uint8_t type);
