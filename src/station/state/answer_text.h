// The text of an answer: the `reason` of the history, and the `error_info` of a plan.
#pragma once

#include "message.h"
#include "span.h"

enum { ANSWER_TEXT_MAX = 512 };

// The answer's text, cut to ANSWER_TEXT_MAX bytes at a character boundary: its STATUS frame, or,
// for an error whose STATUS only repeats the status word, its CONTENT if that is text. Empty: no
// text. `status` is in the station's own numbers.
struct span answer_text (uint8_t status, const struct desc *desc, const struct span *frames);

// The value without the trailing NULs that some senders pad it with.
struct span answer_trimmed (struct span text);

// Read the hex number in the last frame of this type.
bool answer_number (const struct message *message, uint8_t type, uint64_t *ret);

// Read the plan that the answer itself names, by its mailbox or by the plan's id.
bool answer_plan (const struct message *message, uint64_t *ret_id);
