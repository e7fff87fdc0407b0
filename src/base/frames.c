#include "frames.h"

#include <stdlib.h>

struct frames *frames_try_copy (const struct span *frames, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += frames[i].size;
    struct frames *self = malloc (sizeof *self + count * sizeof *self->at + bytes);
    if (!self)
        return NULL;
    uint8_t *at = (uint8_t *)(self->at + count);
    self->count = count;
    for (size_t i = 0; i < count; i++) {
        if (frames[i].size)
            memcpy (at, frames[i].data, frames[i].size);
        self->at[i] = span_of (at, frames[i].size);
        at += frames[i].size;
    }
    return self;
}

struct frames *frames_copy (const struct span *frames, size_t count)
{
    struct frames *self = frames_try_copy (frames, count);
    if (!self)
        abort ();
    return self;
}
