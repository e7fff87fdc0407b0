// What runs wrote: packed for end.lua, and bounded in all.
#include <inttypes.h>
#include <msgpack.h>
#include <stdlib.h>

#include "decimal.h"
#include "memory.h"
#include "store_private.h"

char *store_outputs (const struct span *outputs, size_t count, size_t *ret_size)
{
    msgpack_sbuffer buffer;
    msgpack_packer out;
    msgpack_sbuffer_init (&buffer);
    msgpack_packer_init (&out, &buffer, msgpack_sbuffer_write);
    int failed = msgpack_pack_array (&out, 2 * count);
    for (size_t i = 0; i < count; i++) {
        failed |= msgpack_pack_str_with_body (&out, "o", 1);
        failed |= msgpack_pack_str_with_body (&out, outputs[i].data, outputs[i].size);
    }
    if (failed) // only memory can lack
        abort ();
    *ret_size = buffer.size;
    return msgpack_sbuffer_release (&buffer);
}

static void on_trimmed (void *owner, const redisReply *reply)
{
    (void)owner;
    (void)reply; // what went wrong is tried again with the next sweep
}

void store_outputs_trim (struct store *self)
{
    char bytes[DECIMAL_SIZE], age[DECIMAL_SIZE];
    decimal_text (self->bounds.output_bytes, bytes);
    decimal_text (self->bounds.output_age_s, age);
    const struct span args[] = {span_text (KEY_OUTPUT), span_text (bytes), span_text (age)};
    self->output_written = 0;
    link_call (self->link, &(struct link_call){.script = SCRIPT_OUTPUTS,
                                               .repeat = LINK_ONCE,
                                               .keys = 1,
                                               .args = args,
                                               .count = sizeof args / sizeof *args,
                                               .reply = on_trimmed,
                                               .owner = self});
}

// Redis counts what they take; to ask it for each would cost more than to write them.
void store_outputs_written (struct store *self, size_t size)
{
    enum { SHARE = 8 };
    self->output_written += (int64_t)size;
    if (self->output_written > self->bounds.output_bytes / SHARE)
        store_outputs_trim (self);
}
