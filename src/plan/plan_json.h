// The plan as JSON: the stored message, and the public form that travels. Source: proto/redis.md 3.
#pragma once

#include "json.h"
#include "json_text.h"
#include "plan.h"

// What the store keeps: all fields. Its first ones are the head, each at its place, so that the
// start of a run is written over them (SETRANGE):
//   {"exec_id":E,"exec_time":T,"plan_state":S,"revision":R,"caller":C,"plan_id":...
// E has spaces after it up to PLAN_EXEC_ID_WIDTH bytes, T up to PLAN_EXEC_TIME_WIDTH; S is one
// digit; there is no other space. A NUL follows the text; free it.
char *plan_stored_text (const struct plan *self, size_t *ret_size);

// The same after what was written before, without the NUL.
void plan_write_stored (const struct plan *self, struct json_text *text);

enum { PLAN_EXEC_ID_WIDTH = 16, PLAN_EXEC_TIME_WIDTH = 10 };

// All fields but `messages`, in the order of plan_id, frames, numbers: what subscribers and lists
// get, to be completed by plan_broadcast_json. Free it.
char *plan_public_text (const struct plan *self);

// The same, as it is shown of a run: `traceparent` is the run's.
char *plan_run_text (const struct plan *self, uint64_t exec_id, int64_t nominal);

// The traceparent of a run of it. False: it has none.
bool plan_trace (const struct plan *self, uint64_t exec_id, int64_t nominal, char ret[TRACE_SIZE]);

// The same and the end of the lease, Unix seconds: what targets get. Behind what was written
// before.
void plan_write_dispatch (const struct plan *self, int64_t deadline, struct json_text *text);

// A stored message for people, which is changed by it: without `messages`, the fields in the order
// of the public text and then those that were added by hand. The object is left open.
void plan_write_public (json_t *stored, struct json_text *text);

// The COMMAND among the frames of a stored message, as JSON has frames, borrowed. NULL: there is
// none, or its description is none.
const json_t *plan_stored_command (const json_t *stored);

// What not everybody may read of a stored plan: of the URLs of its callback all but the host, and
// its PLAN frame, which has them too.
void plan_mask_stored (json_t *stored);

// The same of a plan that is a callback itself: its first argument is the URL.
void plan_mask_callback (json_t *stored);

// Read a stored message, which an operator may have edited: types and bounds are checked, a missing
// counter is 0. `id` is the key's. NULL with a reason.
struct plan *plan_from_stored_json (uint64_t id, struct span text, struct reason *reason);

// Its two ways, apart for tests. The first takes what the station itself writes and little more,
// and takes it as the second would; NULL: it does not know. The second judges every text.
struct plan *plan_scan_stored (uint64_t id, struct span text);
struct plan *plan_parse_stored (uint64_t id, struct span text, struct reason *reason);
