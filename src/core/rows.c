#include "rows.h"

#include <stdlib.h>

#include "memory.h"
#include "redis_keys.h"

enum { CHUNK_BYTES = 65536 };

struct rows_chunk {
    struct rows_chunk *next;
    size_t used, size;
    uint8_t bytes[];
};

const struct column_form column_forms[COLUMNS] = {
    [COLUMN_SET] = {"MSET", "", 2},
    [COLUMN_DEL] = {"DEL", "", 1},
    [COLUMN_QUEUE] = {"ZADD", KEY_TIME_SET, 2},
    [COLUMN_UNQUEUE] = {"ZREM", KEY_TIME_SET, 1},
    [COLUMN_LIST] = {"ZADD", KEY_INDEX, 2},
    [COLUMN_UNLIST] = {"ZREM", KEY_INDEX, 1},
    [COLUMN_RUN] = {"HSET", KEY_RUNS, 2},
    [COLUMN_UNRUN] = {"HDEL", KEY_RUNS, 1},
    [COLUMN_CLASS] = {"HSET", KEY_CLASS, 2},
    [COLUMN_UNCLASS] = {"HDEL", KEY_CLASS, 1},
};

// -- texts that name a plan

size_t plan_key_make (char out[PLAN_KEY_SIZE], const char *start, struct span target, uint64_t id)
{
    char digits[IDENT_SIZE];
    size_t size = span_put (out, 0, span_text (start));
    size = span_put (out, size, target);
    out[size++] = ':';
    size = span_put (out, size, span_text (ident_text (id, digits)));
    out[size] = '\0';
    return size;
}

void id_write_digits (uint64_t id, char out[IDENT_SIZE])
{
    for (int i = 0; i < IDENT_SIZE - 1; i++, id <<= 4)
        out[i] = "0123456789abcdef"[id >> 60];
    out[IDENT_SIZE - 1] = '\0';
}

size_t index_entry_make (char out[PLAN_KEY_SIZE], struct span target, uint64_t id)
{
    id_write_digits (id, out);
    out[IDENT_SIZE - 1] = ':';
    size_t size = span_put (out, IDENT_SIZE, target);
    out[size] = '\0';
    return size;
}

size_t score_make (char out[SCORE_SIZE], int64_t score_us)
{
    size_t size = decimal_text (score_us / 1000000, out);
    int64_t rest = score_us % 1000000;
    if (rest > 0) {
        out[size++] = '.';
        for (int64_t unit = 100000; unit; unit /= 10)
            out[size++] = (char)('0' + rest / unit % 10);
    }
    out[size] = '\0';
    return size;
}

// -- rows

bool rows_empty (const struct rows *self)
{
    size_t count = self->commands.commands + self->outcome_count;
    for (int i = 0; i < COLUMNS; i++)
        count += self->columns[i].count;
    return count == 0;
}

// -- memory

struct span rows_copy_text (struct rows *self, struct span text)
{
    struct rows_chunk *chunk = self->chunks;
    if (!chunk || chunk->size - chunk->used < text.size) {
        size_t size = text.size > CHUNK_BYTES ? text.size : CHUNK_BYTES;
        chunk = memory_resize (NULL, sizeof *chunk + size);
        *chunk = (struct rows_chunk){.next = self->chunks, .size = size};
        self->chunks = chunk;
    }
    uint8_t *at = chunk->bytes + chunk->used;
    if (text.size)
        memcpy (at, text.data, text.size);
    chunk->used += text.size;
    return span_of (at, text.size);
}

struct span rows_number (struct rows *self, int64_t number)
{
    char digits[DECIMAL_SIZE];
    size_t size = decimal_text (number, digits);
    return rows_copy_text (self, span_of (digits, size));
}

// One chunk of the default size is kept for the next rows.
void rows_clear (struct rows *self)
{
    struct rows_chunk *stays = NULL;
    for (struct rows_chunk *chunk = self->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        if (!stays && chunk->size == CHUNK_BYTES)
            stays = chunk;
        else
            free (chunk);
    }
    if (stays)
        *stays = (struct rows_chunk){.size = stays->size};
    self->chunks = stays;
    commands_clear (&self->commands);
    for (int i = 0; i < COLUMNS; i++)
        self->columns[i].count = 0;
    self->outcome_count = 0;
    self->size = 0;
    self->kinds = 0;
}

void rows_free (struct rows *self)
{
    rows_clear (self);
    for (int i = 0; i < COLUMNS; i++)
        free (self->columns[i].at);
    commands_free (&self->commands);
    free (self->outcomes);
    free (self->chunks);
    *self = (struct rows){0};
}

// -- rows

static void row_list_add (struct rows *self, struct row_list *list, struct span text)
{
    list->at = memory_grow (list->at, list->count, &list->room, sizeof *list->at);
    list->at[list->count++] = text;
    self->size += text.size;
}

void rows_add (struct rows *self, enum row_column column, struct span first, struct span second)
{
    row_list_add (self, &self->columns[column], first);
    if (column_forms[column].width == 2)
        row_list_add (self, &self->columns[column], second);
}

void rows_add_command (struct rows *self, const struct span *words, size_t count)
{
    commands_add (&self->commands, words, count);
    for (size_t i = 0; i < count; i++)
        self->size += words[i].size;
}

// How many leading words this command shares with the last one, if it can be merged into it; else
// 0.
static size_t mergeable_words (const struct rows *self, const struct span *words, size_t count)
{
    enum { WORDS_MAX = 256 }; // most words of a merged command: Redis' Lua takes a few thousand
    static const struct {
        const char *command;
        size_t words;
    } forms[] = {{"HSET", 2}, {"HDEL", 2}, {"RPUSH", 2}, {"DEL", 1}};
    const struct commands *commands = &self->commands;
    size_t size = commands->commands ? commands->sizes[commands->commands - 1] : 0, common = 0;
    for (size_t i = 0; size && i < sizeof forms / sizeof *forms; i++)
        if (span_is (words[0], forms[i].command))
            common = forms[i].words;
    for (size_t i = 0; i < common; i++)
        if (!span_equal (commands->words[commands->count - size + i], words[i]))
            return 0;
    return size + count <= WORDS_MAX ? common : 0;
}

void rows_merge_command (struct rows *self, const struct span *words, size_t count)
{
    size_t common = mergeable_words (self, words, count);
    if (!common)
        commands_begin (&self->commands);
    for (size_t i = common; i < count; i++) {
        commands_add_word (&self->commands, rows_copy_text (self, words[i]));
        self->size += words[i].size;
    }
}

void rows_add_outcome (struct rows *self, const struct outcome_row *outcome)
{
    self->outcomes = memory_grow (self->outcomes, self->outcome_count, &self->outcome_room,
                                  sizeof *self->outcomes);
    self->outcomes[self->outcome_count++] = *outcome;
    self->size += outcome->record.size + outcome->output.size;
}
