#include "table.h"

#include <stdlib.h>

#include "memory.h"
#include "span.h"
#include "width.h"

enum { COLUMNS_MAX = 12, SAMPLE = 100, SHORT_MIN = 6, SPARE_MIN = 4, REST_MIN = 12 };

static const char ellipsis[] = "\xe2\x80\xa6"; // one column wide

struct line {
    char *text;               // of all cells
    size_t ends[COLUMNS_MAX]; // of each cell; it starts where the one before ends
    enum colour colours[COLUMNS_MAX];
};

struct table {
    const struct column *columns;
    size_t count;
    FILE *out;
    int widths[COLUMNS_MAX];
    bool settled;             // the widths, and the heading is printed
    struct line held[SAMPLE]; // rows before that
    size_t held_count;
};

static struct span cell_text (const struct line *line, size_t i)
{
    size_t start = i ? line->ends[i - 1] : 0;
    return span_of (line->text + start, line->ends[i] - start);
}

// -- writing a line

// Write a cell that may be cut to so many columns, 0 = it may not. Returns how many it takes.
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

// A cell that is wider than its column moves the next ones, until there is a gap to make up for it.
static void write_line (const struct table *self, const struct span *cells,
                        const enum colour *colours)
{
    int at = 0, start = 0, columns = look_now ()->columns;
    for (size_t i = 0; i < self->count; i++) {
        const struct column *column = &self->columns[i];
        int gap = i == 0 ? 0 : start > at ? start - at : 1, left = columns - at - gap;
        if (columns > 0 && left < 1)
            break; // a terminal that is too narrow for the table
        fprintf (self->out, "%*s", gap, "");
        at += gap;
        bool narrow = column->rule == COLUMN_SHORT || column->rule == COLUMN_SPARE;
        int room = columns == 0 ? 0 : narrow && self->widths[i] < left ? self->widths[i] : left;
        int blanks = columns > 0 && column->is_number ? self->widths[i] - text_width (cells[i]) : 0;
        blanks = blanks > 0 && blanks < left ? blanks : 0;
        fprintf (self->out, "%*s", blanks, "");
        at += blanks + write_cell (self->out, cells[i], room, colours[i]);
        start += self->widths[i] + 1;
    }
    fputc ('\n', self->out);
}

static void write_row (const struct table *self, const struct line *line)
{
    struct span cells[COLUMNS_MAX];
    for (size_t i = 0; i < self->count; i++)
        cells[i] = cell_text (line, i);
    write_line (self, cells, line->colours);
}

static void write_heading (const struct table *self)
{
    struct span cells[COLUMNS_MAX];
    enum colour colours[COLUMNS_MAX];
    for (size_t i = 0; i < self->count; i++) {
        cells[i] = span_text (self->columns[i].heading);
        colours[i] = BOLD;
    }
    write_line (self, cells, colours);
}

// -- the widths

// What the heading and the rows so far need.
static int natural_width (const struct table *self, size_t i)
{
    int width = text_width (span_text (self->columns[i].heading));
    for (size_t row = 0; row < self->held_count; row++) {
        int cell = text_width (cell_text (&self->held[row], i));
        width = cell > width ? cell : width;
    }
    return width;
}

// Take so many columns from those of a rule, down to their least width. Returns how many lack.
static int take_from (struct table *self, int rule, int least, int lacking)
{
    for (size_t i = 0; i < self->count && lacking > 0; i++) {
        int spare = self->widths[i] - least;
        if ((int)self->columns[i].rule != rule || spare <= 0)
            continue;
        int taken = spare < lacking ? spare : lacking;
        self->widths[i] -= taken;
        lacking -= taken;
    }
    return lacking;
}

// Take from the columns that may be short until there is room for the last one.
static void fit (struct table *self, int columns)
{
    int used = (int)self->count - 1;
    for (size_t i = 0; i < self->count; i++)
        used += self->columns[i].rule == COLUMN_REST ? REST_MIN : self->widths[i];
    int lacking = take_from (self, COLUMN_SPARE, SPARE_MIN, used - columns);
    take_from (self, COLUMN_SHORT, SHORT_MIN, lacking);
}

static void settle (struct table *self)
{
    for (size_t i = 0; i < self->count; i++) {
        int least = look_now ()->columns ? 0 : self->columns[i].width;
        int natural = natural_width (self, i);
        self->widths[i] = natural > least ? natural : least;
    }
    if (look_now ()->columns)
        fit (self, look_now ()->columns);
    self->settled = true;
    write_heading (self);
    for (size_t i = 0; i < self->held_count; i++) {
        write_row (self, &self->held[i]);
        free (self->held[i].text);
    }
    self->held_count = 0;
}

// -- the rows

static void lay_out (const struct table *self, const json_t *row, struct line *ret)
{
    size_t size;
    ret->text = NULL;
    FILE *out = open_memstream (&ret->text, &size);
    if (!out)
        abort ();
    for (size_t i = 0; i < self->count; i++) {
        self->columns[i].write (out, row);
        fflush (out);
        ret->ends[i] = size;
        ret->colours[i] = self->columns[i].colour ? self->columns[i].colour (row) : PLAIN;
    }
    fclose (out);
}

struct table *table_new (const struct column *columns, size_t count, FILE *out)
{
    struct table *self = memory_new (sizeof *self);
    self->columns = columns;
    self->out = out;
    self->count = count < COLUMNS_MAX ? count : COLUMNS_MAX;
    return self;
}

void table_row (struct table *self, const json_t *row)
{
    if (!self->settled && self->held_count == SAMPLE)
        settle (self);
    if (!self->settled) {
        lay_out (self, row, &self->held[self->held_count++]);
        return;
    }
    struct line line;
    lay_out (self, row, &line);
    write_row (self, &line);
    free (line.text);
}

void table_break (struct table **table)
{
    if (*table && !(*table)->settled && (*table)->held_count == 0) {
        free (*table);
        *table = NULL;
    }
    table_end (table);
}

void table_end (struct table **table)
{
    struct table *self = *table;
    if (!self)
        return;
    if (!self->settled)
        settle (self);
    free (self);
    *table = NULL;
}
