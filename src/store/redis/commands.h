// A list of Redis commands, each a list of words.
#pragma once

#include <stddef.h>

#include "span.h"

struct commands {
    struct span *words; // of all commands, one after the other
    size_t count, room;
    size_t *sizes; // how many words each command has
    size_t commands, commands_room;
    void **blocks; // texts freed with the commands
    size_t block_count, block_room;
};

// The words are borrowed until commands_clear.
void commands_add (struct commands *self, const struct span *words, size_t count);
void commands_begin (struct commands *self);
void commands_word (struct commands *self, struct span word);

// A copy of the text, freed with the commands.
struct span commands_copy (struct commands *self, struct span text);
void commands_own (struct commands *self, void *block);

void commands_clear (struct commands *self);
void commands_free (struct commands *self);

// A command as Redis reads it (RESP, an array of bulk strings), in one allocation. hiredis uses a
// printf for each argument, which showed in profiles of calls with thousands of them. The words of
// `head` come first, then those of `rest`. The memory of `former`, which may be NULL, is reused;
// free the result.
char *resp_command (char *former, const struct span *head, size_t head_count,
                    const struct span *rest, size_t rest_count, size_t *ret_size);
