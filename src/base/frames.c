#include "frames.h"

#include "memory.h"

struct frames *frames_copy (const struct span *frames, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += frames[i].size;
    struct frames *self = memory_new (sizeof *self + count * sizeof *self->at + bytes);
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
