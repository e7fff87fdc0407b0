// Members of a plan's stored message, found in its text: it may be large, and mostly one number of
// it is wanted. Quotes inside of strings are escaped, so no text of a client is taken for a member.
// Spaces are those of edits by hand.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

// Where the value of the next member of this name begins, or NULL; `from` is moved after the name,
// and is 0 at first.
const uint8_t *message_value (struct span message, const char *name, size_t *from);

// The first number that follows this name; 0: there is none.
int64_t message_number (struct span message, const char *name);

// The same of exec_id.
uint64_t message_exec_id (struct span message);

// Whether a member of this name has this value, as it is written.
bool message_has (struct span message, const char *name, struct span value);

// The same of a member as a station writes it: `"name":value`.
bool message_has_member (struct span message, struct span member);

// The message while this run is in progress, which it may not say itself: exec_id, exec_time and
// plan_state are replaced. 0 = none is. A NUL follows it; free it.
uint8_t *message_as_running (struct span message, uint64_t exec_id, size_t *ret_size);
