// An owned copy of a list of frames, in one allocation; free it with free ().
#pragma once

#include "span.h"

struct frames {
    size_t count;
    struct span at[]; // the bytes follow the list
};

// Copy the frames with their bytes.
struct frames *frames_copy (const struct span *frames, size_t count);

// As frames_copy; NULL: there is no memory.
struct frames *frames_try_copy (const struct span *frames, size_t count);
