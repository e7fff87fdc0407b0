// Limits the stored output of all runs.

#include "store_private.h"

static void ignore_trim_reply (void *owner, const redisReply *reply)
{
    (void)owner;
    (void)reply; // after an error, the next sweep trims again
}

void store_outputs_trim (struct store *self)
{
    self->output_written = 0;
    store_run_script (self, SCRIPT_OUTPUTS, 1,
                      WORDS (TEXT (KEY_OUTPUT), NUMBER (self->bounds.output_bytes),
                             NUMBER (self->bounds.output_age_s)),
                      ignore_trim_reply, self);
}

// Only Redis knows how much memory the outputs use, and a check costs more than a write. So it is
// checked after each eighth (TRIM_SHARE) of the limit that is written.
void store_count_output (struct store *self, size_t size)
{
    enum { TRIM_SHARE = 8 };
    self->output_written += (int64_t)size;
    if (self->output_written > self->bounds.output_bytes / TRIM_SHARE)
        store_outputs_trim (self);
}
