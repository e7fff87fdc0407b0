// The plan as JSON: the stored message, and the public form that is sent out. Source:
// proto/redis.md 3.
#pragma once

#include "json.h"
#include "json_text.h"
#include "plan.h"

// The stored text: all fields. The first ones are the head, at fixed offsets, so that the start of
// a run is written over them (SETRANGE):
//   {"exec_id":E,"exec_time":T,"plan_state":S,"revision":R,"caller":C,"plan_id":...
// E is padded with spaces to PLAN_EXEC_ID_WIDTH bytes, T to PLAN_EXEC_TIME_WIDTH; S is one digit;
// there is no other space. A NUL follows the text; free it.
char *plan_stored_text (const struct plan *self, size_t *ret_size);

// Append the stored text to `text`, without the NUL.
void plan_write_stored (const struct plan *self, struct json_text *text);

enum { PLAN_EXEC_ID_WIDTH = 16, PLAN_EXEC_TIME_WIDTH = 10 };

// The public text: all fields but `messages`, in the order of enum field_name. Subscribers get it
// with the members that plan_broadcast_json adds. Free it.
char *plan_public_text (const struct plan *self);

// The public text for one run: `traceparent` is the run's, not the submission's. Free it.
char *plan_run_text (const struct plan *self, uint64_t exec_id, int64_t nominal);

// The traceparent of one of its runs. False: the plan was submitted without one.
bool plan_trace (const struct plan *self, uint64_t exec_id, int64_t nominal, char ret[TRACE_SIZE]);

// Append the PLAN frame of a dispatch: the public text for the plan's present run, and `deadline`,
// the end of the lease in Unix seconds.
void plan_write_dispatch (const struct plan *self, int64_t deadline, struct json_text *text);

// Read a stored message, which an operator may have edited: types and bounds are checked, a missing
// counter is 0. `id` is the one in its Redis key. NULL with a reason.
struct plan *plan_from_stored_json (uint64_t id, struct span text, struct reason *reason);

// The fast parser of plan_from_stored_json, public for tests: it reads little more than what the
// station itself writes. NULL: the text is unusual or wrong, and plan_parse_stored must decide.
struct plan *plan_scan_stored (uint64_t id, struct span text);

// Whether plan_record has a row with this name: a field that is not of the policy, or "", the row
// of the policy.
bool plan_has_field (const char *name);

// The complete parser of plan_from_stored_json, public for tests: it reads any text.
struct plan *plan_parse_stored (uint64_t id, struct span text, struct reason *reason);
