// Members of a plan's stored message, found in its text without parsing it: it may be large, and
// mostly one number is needed. Quotes inside strings are escaped, so no client text is mistaken for
// a member. Spaces come from manual edits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

// Find the next member of this name, from the offset `from` on, which is 0 at first and is moved
// past the name. Returns where the value begins; NULL: there is no further member.
const uint8_t *message_value (struct span message, const char *name, size_t *from);

// The first value of this name that is a number, not negative; 0: there is none.
int64_t message_number (struct span message, const char *name);

// The message's exec_id; 0: it has none.
uint64_t message_exec_id (struct span message);

// Whether a member of this name has this value; the values are compared as text.
bool message_has (struct span message, const char *name, struct span value);

// Whether the message has this member, given as a station writes it: `"name":value`. Spaces around
// the message's colon and value do not matter.
bool message_has_member (struct span message, struct span member);

// A copy of the message that shows this run as in progress, which the stored one may not do yet:
// exec_id, exec_time and plan_state are replaced. exec_id 0: no run is in progress. A NUL follows
// the copy; free it.
uint8_t *message_as_running (struct span message, uint64_t exec_id, size_t *ret_size);
