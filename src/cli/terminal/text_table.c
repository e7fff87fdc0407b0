#include "text_table.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "width.h"

enum { COLUMNS_MAX = 12, SAMPLE = 100, SHORT_MIN = 6, SPARE_MIN = 4, REST_MIN = 12, MAY_OMIT = -1 };

static const char ellipsis[] = "\xe2\x80\xa6"; // one column wide

struct table_line {
    char *text;               // all cells, one after the other
    size_t ends[COLUMNS_MAX]; // where each cell ends; it starts at the end of the previous one
    enum colour colours[COLUMNS_MAX];
};

struct text_table {
    const struct column *columns;
    size_t count;
    FILE *out;
    int widths[COLUMNS_MAX];
    bool omitted[COLUMNS_MAX];
    bool settled;                       // the widths are chosen, and the heading was printed
    struct table_line buffered[SAMPLE]; // rows that wait until the widths are chosen
    size_t buffered_count;
};

// The text of a cell; `line` NULL: of the heading.
static struct span cell_text (const struct text_table *self, const struct table_line *line,
                              size_t i)
{
    if (!line)
        return span_text (self->columns[i].heading);
    size_t start = i ? line->ends[i - 1] : 0;
    return span_of (line->text + start, line->ends[i] - start);
}

// -- the widths

static int least_width (const struct column *column)
{
    static const int least[] = {
        [COLUMN_SHORT] = SHORT_MIN, [COLUMN_SPARE] = SPARE_MIN, [COLUMN_REST] = REST_MIN};
    return column->least ? column->least : least[column->rule];
}

// How many terminal columns a line of these widths lacks, if the last column has its minimum width;
// negative if it fits.
static int missing_columns (const struct text_table *self, const int *widths)
{
    int used = -1;
    for (size_t i = 0; i < self->count; i++)
        if (!self->omitted[i])
            used += 1 + (self->columns[i].rule == COLUMN_REST ? least_width (&self->columns[i])
                                                              : widths[i]);
    return used - display_get ()->columns;
}

// Shrink the columns of a rule as far as necessary, down to their minimum widths. MAY_OMIT instead
// of a rule: the columns that may be omitted, down to one terminal column.
static void shrink_rule (const struct text_table *self, int rule, int *widths)
{
    int lacks = missing_columns (self, widths);
    for (size_t i = 0; i < self->count && lacks > 0; i++) {
        int spare = widths[i] - (rule == MAY_OMIT ? 1 : least_width (&self->columns[i]));
        bool matches =
            rule == MAY_OMIT ? self->columns[i].may_omit : (int)self->columns[i].rule == rule;
        if (!matches || self->omitted[i] || spare <= 0)
            continue;
        int taken = spare < lacks ? spare : lacks;
        widths[i] -= taken;
        lacks -= taken;
    }
}

// Shrink the columns that may be cut until the last one fits.
static void shrink_columns (const struct text_table *self, int *widths)
{
    shrink_rule (self, COLUMN_SPARE, widths);
    shrink_rule (self, COLUMN_SHORT, widths);
}

// Shrink columns, and omit those that may be omitted, until a line fits on a narrow terminal.
static void fit_columns (struct text_table *self, const int *natural)
{
    shrink_columns (self, self->widths);
    for (size_t i = 0; i < self->count && missing_columns (self, self->widths) > 0; i++) {
        if (!self->columns[i].may_omit)
            continue;
        self->omitted[i] = true;
        memcpy (self->widths, natural, sizeof self->widths);
        shrink_columns (self, self->widths);
    }
}

// Compute the widths for one line: cells that are never cut may be wider than their columns.
static void line_widths (const struct text_table *self, const struct table_line *line, int *ret)
{
    memcpy (ret, self->widths, sizeof self->widths);
    for (size_t i = 0; i < self->count; i++) {
        bool whole = self->columns[i].rule == COLUMN_WHOLE;
        int cell = whole ? text_width (cell_text (self, line, i)) : 0;
        ret[i] = cell > ret[i] ? cell : ret[i];
    }
    shrink_columns (self, ret);
    shrink_rule (self, MAY_OMIT, ret);
}

// -- writing a line

// Write a cell, cut to `room` columns, 0 = not cut. Returns its width.
static int write_cell (FILE *out, struct span text, int room, enum colour colour)
{
    int used = text_width (text);
    bool cut = room > 0 && used > room;
    if (cut)
        text.size = text_fit (text, room - 1);
    colour_on (out, colour);
    fwrite (text.data, 1, text.size, out);
    fputs (cut ? ellipsis : "", out);
    colour_off (out, colour);
    return cut ? text_width (text) + 1 : used;
}

// Write a line; NULL: the heading. A cell that is wider than its column shifts the next ones until
// their padding makes up for it.
static void write_line (const struct text_table *self, const struct table_line *line)
{
    int at = 0, start = 0, columns = display_get ()->columns;
    int widths[COLUMNS_MAX];
    bool first = true;
    line_widths (self, line, widths);
    for (size_t i = 0; i < self->count; i++) {
        const struct column *column = &self->columns[i];
        if (self->omitted[i])
            continue;
        int gap = first ? 0 : start > at ? start - at : 1, left = columns - at - gap;
        if (columns > 0 && left < 1)
            break; // the terminal is too narrow for the table
        struct span cell = cell_text (self, line, i);
        fprintf (self->out, "%*s", gap, "");
        at += gap;
        first = false;
        bool narrow =
            column->rule == COLUMN_SHORT || column->rule == COLUMN_SPARE || column->may_omit;
        int room = columns == 0 ? 0 : narrow && widths[i] < left ? widths[i] : left;
        int blanks = columns > 0 && column->is_number ? self->widths[i] - text_width (cell) : 0;
        blanks = blanks > 0 && blanks < left ? blanks : 0;
        fprintf (self->out, "%*s", blanks, "");
        at += blanks + write_cell (self->out, cell, room, line ? line->colours[i] : BOLD);
        start += self->widths[i] + 1;
    }
    fputc ('\n', self->out);
}

static void choose_widths (struct text_table *self)
{
    int natural[COLUMNS_MAX] = {0}; // what the heading and the buffered rows need
    for (size_t i = 0; i < self->count; i++) {
        int least = display_get ()->columns ? 0 : self->columns[i].width;
        int width = text_width (cell_text (self, NULL, i));
        for (size_t row = 0; row < self->buffered_count; row++) {
            int cell = text_width (cell_text (self, &self->buffered[row], i));
            width = cell > width ? cell : width;
        }
        natural[i] = width > least ? width : least;
    }
    memcpy (self->widths, natural, sizeof natural);
    if (display_get ()->columns)
        fit_columns (self, natural);
    self->settled = true;
    write_line (self, NULL);
    for (size_t i = 0; i < self->buffered_count; i++) {
        write_line (self, &self->buffered[i]);
        free (self->buffered[i].text);
    }
    self->buffered_count = 0;
}

// -- the rows

void column_number (FILE *out, const json_t *value)
{
    fputs (number_cell_text (value), out);
}

void column_time (FILE *out, const json_t *value)
{
    fputs (time_cell_text (value), out);
}

void column_time_ms (FILE *out, const json_t *value)
{
    int64_t ms = json_integer_value (value);
    json_t *seconds = ms ? json_integer (ms / 1000) : NULL;
    column_time (out, seconds);
    json_decref (seconds);
}

void column_connected (FILE *out, const json_t *value)
{
    fputs (json_is_true (value) ? "connected" : "away", out);
}

enum colour connected_colour (const json_t *value)
{
    return json_is_true (value) ? GREEN : RED;
}

static void format_row (const struct text_table *self, const json_t *row, struct table_line *ret)
{
    size_t size;
    ret->text = NULL;
    FILE *out = text_open (&ret->text, &size);
    for (size_t i = 0; i < self->count; i++) {
        const struct column *column = &self->columns[i];
        const json_t *value = column->field ? json_object_get (row, column->field) : row;
        if (column->write)
            column->write (out, value);
        else if (column->text)
            fputs (column->text (value), out);
        else
            write_bytes (out, text_of (value));
        fflush (out);
        ret->ends[i] = size;
        ret->colours[i] = column->colour ? column->colour (value) : PLAIN;
    }
    fclose (out);
}

struct text_table *table_new (const struct column *columns, size_t count, FILE *out)
{
    struct text_table *self = memory_new (sizeof *self);
    self->columns = columns;
    self->out = out;
    self->count = count < COLUMNS_MAX ? count : COLUMNS_MAX;
    return self;
}

void table_add_row (struct text_table *self, const json_t *row)
{
    if (!self->settled && self->buffered_count == SAMPLE)
        choose_widths (self);
    if (!self->settled) {
        format_row (self, row, &self->buffered[self->buffered_count++]);
        return;
    }
    struct table_line line;
    format_row (self, row, &line);
    write_line (self, &line);
    free (line.text);
}

void table_end_if_rows (struct text_table **table)
{
    if (*table && !(*table)->settled && (*table)->buffered_count == 0) {
        free (*table);
        *table = NULL;
    }
    table_end (table);
}

void table_end (struct text_table **table)
{
    struct text_table *self = *table;
    if (!self)
        return;
    if (!self->settled)
        choose_widths (self);
    free (self);
    *table = NULL;
}

void table_print (const struct cli *cli, enum json_kind kind, const struct column *columns,
                  size_t count, const json_t *list)
{
    size_t i;
    const json_t *row;
    struct text_table *table = cli->json ? NULL : table_new (columns, count, stdout);
    json_array_foreach (list, i, row)
    {
        if (table)
            table_add_row (table, row);
        else
            print_answer (cli, kind, row);
    }
    table_end (&table);
}
