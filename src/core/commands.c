#include "commands.h"

#include <stdlib.h>

#include "decimal.h"
#include "memory.h"

enum { AROUND = 1 + DECIMAL_SIZE + 2 + 2 }; // bytes around an argument, at most

void commands_begin (struct commands *self)
{
    self->sizes =
        memory_grow (self->sizes, self->commands, &self->commands_room, sizeof *self->sizes);
    self->sizes[self->commands++] = 0;
}

void commands_add_word (struct commands *self, struct span word)
{
    self->words = memory_grow (self->words, self->count, &self->room, sizeof *self->words);
    self->words[self->count++] = word;
    self->sizes[self->commands - 1]++;
}

void commands_add (struct commands *self, const struct span *words, size_t count)
{
    commands_begin (self);
    for (size_t i = 0; i < count; i++)
        commands_add_word (self, words[i]);
}

void commands_add_all (struct commands *self, const struct commands *from)
{
    const struct span *word = from->words;
    for (size_t i = 0; i < from->commands; word += from->sizes[i++])
        commands_add (self, word, from->sizes[i]);
}

void commands_free_later (struct commands *self, void *block)
{
    self->blocks =
        memory_grow (self->blocks, self->block_count, &self->block_room, sizeof *self->blocks);
    self->blocks[self->block_count++] = block;
}

struct span commands_copy (struct commands *self, struct span text)
{
    uint8_t *copy = memory_copy (text.data, text.size);
    commands_free_later (self, copy);
    return span_of (copy, text.size);
}

struct span commands_number (struct commands *self, int64_t value)
{
    char digits[DECIMAL_SIZE];
    return commands_copy (self, span_of (digits, decimal_text (value, digits)));
}

void commands_clear (struct commands *self)
{
    for (size_t i = 0; i < self->block_count; i++)
        free (self->blocks[i]);
    self->count = self->commands = self->block_count = 0;
}

void commands_free (struct commands *self)
{
    commands_clear (self);
    free (self->words);
    free (self->sizes);
    free (self->blocks);
    *self = (struct commands){0};
}

// -- RESP encoding

static char *write_resp_number (char *at, char mark, size_t number)
{
    *at++ = mark;
    if (number >= 10)
        at += decimal_text ((int64_t)number, at);
    else
        *at++ = (char)('0' + number);
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

char *resp_command (char *former, const struct span *head, size_t head_count,
                    const struct span *rest, size_t rest_count, size_t *ret_size)
{
    const size_t count = head_count + rest_count;
    size_t room = AROUND * (1 + count);
    for (size_t i = 0; i < count; i++)
        room += i < head_count ? head[i].size : rest[i - head_count].size;
    char *text = memory_resize (former, room);
    char *at = write_resp_number (text, '*', count);
    for (size_t i = 0; i < count; i++) {
        struct span argument = i < head_count ? head[i] : rest[i - head_count];
        at = write_resp_number (at, '$', argument.size);
        if (argument.size)
            memcpy (at, argument.data, argument.size);
        at += argument.size;
        *at++ = '\r';
        *at++ = '\n';
    }
    *ret_size = (size_t)(at - text);
    return text;
}
