// A list of Redis commands, each a list of words.
#pragma once

#include <stddef.h>

#include "span.h"

// The words of a command, for two parameters: the list and its length.
#define WORDS(...)                                                                                 \
    (const struct span[]){__VA_ARGS__},                                                            \
        sizeof ((const struct span[]){__VA_ARGS__}) / sizeof (struct span)
#define TEXT(text) span_text (text)

struct commands {
    struct span *words;             // the words of all commands, one after the other
    size_t count, room;             // of `words`
    size_t *sizes;                  // how many words each command has
    size_t commands, commands_room; // number of commands, and the room of `sizes`
    void **blocks;                  // texts freed with the commands
    size_t block_count, block_room;
};

// Add a command. Its words are borrowed until commands_clear.
void commands_add (struct commands *self, const struct span *words, size_t count);

#define ADD(commands, ...) commands_add (commands, WORDS (__VA_ARGS__))

// Add a command word by word: begin an empty one, then append words, borrowed until commands_clear.
void commands_begin (struct commands *self);
void commands_add_word (struct commands *self, struct span word);

// Add all commands of `from`, whose words are borrowed.
void commands_add_all (struct commands *self, const struct commands *from);

// A copy of the text that is freed with the commands.
struct span commands_copy (struct commands *self, struct span text);

// The number as a text that is freed with the commands.
struct span commands_number (struct commands *self, int64_t value);

// Free this block from malloc with the commands.
void commands_free_later (struct commands *self, void *block);

// Remove all commands, but keep the memory of the lists.
void commands_clear (struct commands *self);
void commands_free (struct commands *self);

// Format a command as Redis reads it (RESP, an array of bulk strings), in one allocation. hiredis
// uses a printf for each argument, which showed in profiles of calls with thousands of them. The
// words of `head` come first, then those of `rest`. The block `former`, which may be NULL, is
// reallocated for the result. Free the result.
char *resp_command (char *former, const struct span *head, size_t head_count,
                    const struct span *rest, size_t rest_count, size_t *ret_size);
