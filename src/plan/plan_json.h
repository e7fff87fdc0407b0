// The plan as JSON: the stored message, and the public form that is sent out. Source:
// proto/redis.md 3.
#pragma once

#include "json.h"
#include "json_text.h"
#include "plan.h"

// The stored text: all fields. The first ones are the head, at fixed places, so that the start of a
// run is written over them (SETRANGE):
//   {"exec_id":E,"exec_time":T,"plan_state":S,"revision":R,"caller":C,"plan_id":...
// E is padded with spaces to PLAN_EXEC_ID_WIDTH bytes, T to PLAN_EXEC_TIME_WIDTH; S is one digit;
// there is no other space. A NUL follows the text; free it.
char *plan_stored_text (const struct plan *self, size_t *ret_size);

// Append the same to `text`, without the NUL.
void plan_write_stored (const struct plan *self, struct json_text *text);

enum { PLAN_EXEC_ID_WIDTH = 16, PLAN_EXEC_TIME_WIDTH = 10 };

// All fields but `messages`, in the order of plan_id, frames, numbers: what subscribers and lists
// get, to be completed by plan_broadcast_json. Free it.
char *plan_public_text (const struct plan *self);

// The same for one run: `traceparent` is the run's.
char *plan_run_text (const struct plan *self, uint64_t exec_id, int64_t nominal);

// The traceparent of one of its runs. False: it has none.
bool plan_trace (const struct plan *self, uint64_t exec_id, int64_t nominal, char ret[TRACE_SIZE]);

// Append what targets get: the public text of the run, and the end of the lease in Unix seconds.
void plan_write_dispatch (const struct plan *self, int64_t deadline, struct json_text *text);

// Read a stored message, which an operator may have edited: types and bounds are checked, a missing
// counter is 0. `id` is the key's. NULL with a reason.
struct plan *plan_from_stored_json (uint64_t id, struct span text, struct reason *reason);

// The two parsers behind it, separate for tests. The first reads little more than what the station
// itself writes, and gives the same result as the second; NULL: it cannot decide. The second reads
// any text.
struct plan *plan_scan_stored (uint64_t id, struct span text);
struct plan *plan_parse_stored (uint64_t id, struct span text, struct reason *reason);
