// Rows that failed in Redis: the keys that block them are replaced, and the rows are written by the
// next batch.

#include "link.h"
#include "memory.h"
#include "writer_private.h"

static const struct span *command_at (const struct commands *commands, size_t index)
{
    const struct span *word = commands->words;
    for (size_t i = 0; i < index; i++)
        word += commands->sizes[i];
    return word;
}

void writer_note_failure (struct writer *self, size_t command, const redisReply *reply)
{
    const struct span *words = command_at (&self->rows, command);
    struct failed_row failure = {command, DROP};
    if (link_is_wrong_type (reply) && !span_is (words[0], "SETRANGE"))
        failure.cure = REPLACE_KEY;
    else if (span_is (words[0], "HINCRBY"))
        failure.cure = REPLACE_FIELD;
    else if (span_is (words[0], "XADD"))
        failure.cure = REPLACE_HISTORY;
    self->failures = memory_grow (self->failures, self->failure_count, &self->failure_room,
                                  sizeof *self->failures);
    self->failures[self->failure_count++] = failure;
}

// Add the command that removes the key or field that blocked a failed row.
static void add_key_removal (struct writer *self, struct commands *to,
                             const struct failed_row *failure)
{
    const struct span *words = command_at (&self->rows, failure->command);
    struct span key = commands_copy (to, words[1]);
    if (failure->cure == REPLACE_KEY)
        ADD (to, TEXT ("DEL"), key);
    else if (failure->cure == REPLACE_FIELD)
        ADD (to, TEXT ("HDEL"), key, commands_copy (to, words[2]));
    else if (failure->cure == REPLACE_HISTORY) // XADD fails as the stored ids are higher: they
                                               // belong to data that were replaced
        ADD (to, TEXT ("DEL"), TEXT (KEY_HISTORY), TEXT (KEY_OUTPUT));
    if (failure->cure == REPLACE_KEY || failure->cure == REPLACE_HISTORY)
        self->io.wrong_key (self->io.owner, key);
}

bool writer_repair (struct writer *self)
{
    struct commands resent = {0};
    for (size_t i = 0; i < self->failure_count; i++) {
        const struct failed_row *failure = &self->failures[i];
        if (failure->cure == DROP)
            continue;
        add_key_removal (self, &resent, failure);
        const struct span *words = command_at (&self->rows, failure->command);
        commands_begin (&resent);
        for (size_t k = 0; k < self->rows.sizes[failure->command]; k++)
            commands_add_word (&resent, commands_copy (&resent, words[k]));
    }
    self->failure_count = 0;
    commands_free (&self->rows);
    self->rows = resent;
    return resent.commands > 0;
}
