// The two messages a plan becomes on the wire: the dispatch of a run, and the broadcast of a
// result. Source: proto 7.2 and 8.
#pragma once

#include "decimal.h"
#include "json_text.h"
#include "plan.h"

// Result frames that a broadcast can carry after the plan's id and JSON.
enum { BROADCAST_FRAMES_MAX = DESC_FRAMES_MAX - 2 };

// How a target receives a run (proto 7.2).
struct dispatch_way {
    // The target takes the connection's identity as the caller: the mailbox is sent in frames, and
    // some frames must not be empty.
    bool by_identity;
    const char *key; // SERVICE_KEY, the last frame; empty = none
};

// Whether a plan with these submitted frames can be dispatched in one message: PLAN and STATION_ID
// are omitted, the frames that the way adds are counted.
bool plan_dispatch_fits (const struct desc *submitted, const struct dispatch_way *way);

// Texts that the frames of a message borrow; keep it as long as the message. Initially all zero;
// may be reused for the next message.
struct plan_texts {
    char mailbox[MAILBOX_SIZE];
    char plan_time[DECIMAL_SIZE];
    char exec_id[17];
    struct json_text plan_json; // its room is reused: free () the bytes at the end
};

// Make the dispatch of the plan's present run: [*plan_id][desc PROXY][frames], by identity without
// *plan_id. `deadline` is the end of the lease in Unix seconds. The caller has checked the stored
// description (engine_due, plan_dispatch_fits). `ret` borrows from the plan, the way and `texts`.
void plan_dispatch_message (const struct plan *self, const struct dispatch_way *way,
                            int64_t deadline, struct plan_texts *texts, struct message *ret);

// Add `seq` and `epoch` (hex) to a public text (plan_public_text). The result replaces the content
// of `text`, and is borrowed from it.
const char *plan_broadcast_json (const char *public_text, int64_t seq, const char *epoch,
                                 struct json_text *text);

// The content of a plan's COMMAND frame; empty: it has none.
struct span plan_command (const struct plan *plan);

// The first frame of this type that the plan was submitted with; empty: there is none.
struct span plan_sent_frame (const struct plan *plan, uint8_t type);
