// The text of an answer: the `reason` of the history, and the `error_info` of a plan.
#pragma once

#include "desc.h"
#include "span.h"

enum { ANSWER_TEXT_MAX = 512 };

// At most ANSWER_TEXT_MAX bytes of the answer's frames, no character cut in two: its STATUS frame;
// of an error whose STATUS says nothing beyond the status itself its CONTENT, if that is text.
// Empty: it has none. `status` is in our numbers.
struct span answer_text (uint8_t status, const struct desc *desc, const struct span *frames);
