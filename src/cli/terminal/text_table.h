// A table whose rows are added one by one; an array of `struct column` defines its columns. The
// first hundred rows determine the widths. On a terminal cells are cut so that a line fits;
// elsewhere nothing is cut, and each column has at least its `width`.
#pragma once

#include <jansson.h>

#include "print.h"

struct column {
    const char *heading;
    int width; // minimum width without a terminal
    enum {
        COLUMN_WHOLE, // never cut
        COLUMN_SHORT, // cut if the line would not fit otherwise
        COLUMN_SPARE, // cut like COLUMN_SHORT, but before it
        COLUMN_REST   // the last column: takes the rest of the line
    } rule;
    int least;         // minimum width on a terminal, also of COLUMN_REST; 0 = default of the rule
    bool may_omit;     // omitted, from the left, if the line would not fit otherwise
    bool is_number;    // right-aligned on a terminal
    const char *field; // member of the row, the argument of the next three; NULL: the row itself
    // At most one of the two is set. If neither is, the cell is the value, a string, or empty.
    void (*write) (FILE *out, const json_t *value);
    const char *(*text) (const json_t *value);   // ASCII
    enum colour (*colour) (const json_t *value); // NULL: plain
};

// Initializer of a struct column: heading and width, and then further members.
#define COLUMN(text, columns, ...)                                                                 \
    {                                                                                              \
        .heading = text, .width = columns, __VA_ARGS__                                             \
    }

// Writers for a number, Unix seconds, Unix milliseconds, and whether a target is connected; "-" if
// there is no value. That of a frame is write_frame.
void column_number (FILE *out, const json_t *value);
void column_time (FILE *out, const json_t *value);
void column_time_ms (FILE *out, const json_t *value);
void column_connected (FILE *out, const json_t *value);
// The colour of column_connected.
enum colour connected_colour (const json_t *value);

struct text_table;

// Make a table. The columns and the file, stdout or a buffer that is shown there, are borrowed.
struct text_table *table_new (const struct column *columns, size_t count, FILE *out);

// Add a row; it may be printed later.
void table_add_row (struct text_table *self, const json_t *row);

// Print the buffered rows, or only the heading if there were none, and free the table.
void table_end (struct text_table **self);

// Print a complete table of a list of rows; with --json an object of this kind for each.
void table_print (const struct cli *cli, enum json_kind kind, const struct column *columns,
                  size_t count, const json_t *list);

// As table_end, but print nothing, not even the heading, if there are no rows, as after an error.
void table_end_if_rows (struct text_table **self);
