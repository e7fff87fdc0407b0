#include "row_commands.h"

#include "decimal.h"
#include "ident.h"
#include "outcome.h"
#include "redis_keys.h"

// -- the rows of plans

// At most this many rows make one command, as the words of a call within a script are limited.
enum { ROWS_MAX = 2000 };

enum { TABLE_WORDS_MIN = 2 * 32 }; // words of 32 runs: with more, HSETs on a listpack are too slow

// Redis keeps a small hash as a listpack, which each HSET scans from its start. Setting a long
// value for a moment converts the listpack into a hash table, which remains one until it is empty.
static void force_hash_table (struct commands *self, const char *key)
{
    static const char blanks[] =
        "                                                                    ";
    ADD (self, TEXT ("HSET"), TEXT (key), TEXT ("table"), TEXT (blanks));
    ADD (self, TEXT ("HDEL"), TEXT (key), TEXT ("table"));
}

// Add the rows of one kind as few commands with many words.
static void add_column_rows (struct commands *self, enum row_column column,
                             const struct row_list *rows)
{
    const struct column_form *form = &column_forms[column];
    if (column == COLUMN_RUN && rows->count >= TABLE_WORDS_MIN)
        force_hash_table (self, form->key);
    for (size_t i = 0; i < rows->count; i++) {
        if (i % (ROWS_MAX * form->width) == 0) {
            commands_begin (self);
            commands_add_word (self, span_text (form->command));
            if (*form->key)
                commands_add_word (self, span_text (form->key));
        }
        commands_add_word (self, rows->at[i]);
    }
}

// -- outcomes: broadcasts with consecutive numbers share an entry of the history, as one entry for
// each would cost Redis half of its time for a run

static struct span copy_entry_id (struct commands *self, int64_t seq, int64_t sub)
{
    char text[2 * DECIMAL_SIZE];
    size_t size = decimal_text (seq, text);
    text[size++] = '-';
    size += decimal_text (sub, text + size);
    return commands_copy (self, span_of (text, size));
}

// Store the outputs of these outcomes, if any, in one entry with the same id as in the history.
static void add_output_entry (struct commands *self, const struct outcome_row *rows, size_t count,
                              struct span entry, struct span ended)
{
    size_t outputs = 0;
    for (size_t i = 0; i < count; i++)
        outputs += rows[i].output.size > 0;
    if (!outputs)
        return;
    ADD (self, TEXT ("XADD"), TEXT (KEY_OUTPUT), entry, TEXT ("t"), ended);
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].output.size)
            continue;
        commands_add_word (self, TEXT ("o"));
        commands_add_word (self, rows[i].output);
    }
}

static void add_outcome_entry (struct commands *self, const struct outcome_row *row)
{
    char id[IDENT_SIZE];
    struct span entry = copy_entry_id (self, row->seq, row->sub);
    struct span ended = commands_number (self, row->ended_ms);
    struct span plan = commands_copy (self, span_text (ident_text (row->plan_id, id)));
    ADD (self, TEXT ("XADD"), TEXT (KEY_HISTORY), entry, TEXT ("p"), plan, TEXT ("s"), row->station,
         TEXT ("t"), ended, TEXT ("r"), row->record);
    add_output_entry (self, row, 1, entry, ended);
}

// Add one entry of the history for several outcomes. It has the id of the last one.
static void add_packed_entry (struct commands *self, const struct outcome_row *rows, size_t count)
{
    const struct outcome_row *last = &rows[count - 1];
    struct span entry = copy_entry_id (self, last->seq, 0),
                ended = commands_number (self, last->ended_ms);
    size_t size;
    char *packed = outcomes_pack (rows, count, &size);
    commands_free_later (self, packed);
    ADD (self, TEXT ("XADD"), TEXT (KEY_HISTORY), entry, TEXT ("t"), ended, TEXT ("n"),
         commands_number (self, (int64_t)count), TEXT ("m"), span_of (packed, size));
    add_output_entry (self, rows, count, entry, ended);
}

// Add the outcomes to the history, and sometimes trim it.
static void add_outcomes (struct commands *self, const struct rows *rows, int64_t outcomes)
{
    enum { TOGETHER_MAX = 1000 /* history.lua */, TRIM_EACH = 64 };
    for (size_t i = 0, length; i < rows->outcome_count; i += length) {
        const struct outcome_row *next = &rows->outcomes[i];
        size_t left = rows->outcome_count - i;
        length = 1; // number of outcomes in this entry
        while (length < left && length < TOGETHER_MAX && !next[length].sub && !next->sub &&
               next[length].seq == next->seq + (int64_t)length)
            length++;
        if (length == 1)
            add_outcome_entry (self, next);
        else
            add_packed_entry (self, next, length);
    }
    // Trim the oldest outcomes: by sequence number, as an entry may hold several outcomes, and by
    // the number of entries, as outcomes that were not broadcast have no sequence number of their
    // own. This is done about every TRIM_EACH outcomes, not in every batch.
    const struct outcome_row *first = &rows->outcomes[0];
    const struct outcome_row *last = &rows->outcomes[rows->outcome_count - 1];
    int64_t oldest = last->seq - outcomes + 1;
    if (!last->sub && first->seq / TRIM_EACH == last->seq / TRIM_EACH && last->seq % TRIM_EACH)
        return;
    ADD (self, TEXT ("XTRIM"), TEXT (KEY_HISTORY), TEXT ("MAXLEN"), TEXT ("~"),
         commands_number (self, outcomes));
    if (oldest > 1)
        ADD (self, TEXT ("XTRIM"), TEXT (KEY_HISTORY), TEXT ("MINID"), TEXT ("~"),
             commands_number (self, oldest));
}

// -- all rows

void commands_of_rows (struct commands *self, const struct rows *rows, int64_t outcomes)
{
    for (int column = 0; column < COLUMNS; column++)
        if (rows->columns[column].count)
            add_column_rows (self, column, &rows->columns[column]);
    commands_add_all (self, &rows->commands);
    if (rows->outcome_count)
        add_outcomes (self, rows, outcomes);
}
