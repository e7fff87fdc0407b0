// The text of an answer: the `reason` of the history, and the `error_info` of a plan.
#pragma once

#include "message.h"
#include "span.h"

enum { ANSWER_TEXT_MAX = 512 };

// At most ANSWER_TEXT_MAX bytes of the answer's frames, no character cut in two: its STATUS frame;
// of an error whose STATUS says nothing beyond the status itself its CONTENT, if that is text.
// Empty: it has none. `status` is in our numbers.
struct span answer_text (uint8_t status, const struct desc *desc, const struct span *frames);

// Values that were padded with NULs on the way are what stands before them.
struct span answer_trimmed (struct span text);

// The number in hex of the last frame of this type.
bool answer_number (const struct message *message, uint8_t type, uint64_t *ret);

// The plan that an answer names itself: by its mailbox, or by the plan's id.
bool answer_plan (const struct message *message, uint64_t *ret_id);
