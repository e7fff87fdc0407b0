// A table of rows that come one by one: its columns are rows of a table of their own. The widths
// are those of the first hundred rows. On a terminal what does not fit is cut so that a line fits;
// elsewhere nothing is cut, and no column is narrower than it always is.
#pragma once

#include <jansson.h>

#include "print.h"

struct column {
    const char *heading;
    int width; // filled up to this, at least, where there is no terminal
    enum {
        COLUMN_WHOLE, // never cut
        COLUMN_SHORT, // cut when the line would not fit otherwise
        COLUMN_SPARE, // the same, and before those
        COLUMN_REST   // the last one: takes what is left of the line
    } rule;
    int least;      // on a terminal it is not cut below this; the last one gets this much; 0 = few
    bool may_go;    // left out, the first such first, where the line would not fit otherwise
    bool is_number; // to the right, on a terminal
    const char *field; // of the row: what the next two get; NULL: the row itself
    void (*write) (FILE *out, const json_t *value); // NULL: a text, which may be absent
    enum colour (*colour) (const json_t *value);    // NULL: plain
};

// A row of a table of columns: its heading and width, and after them further members.
#define COLUMN(text, columns, ...)                                                                 \
    {                                                                                              \
        .heading = text, .width = columns, __VA_ARGS__                                             \
    }

// Writers of a number, of Unix seconds and milliseconds, of a frame, and of whether a target is
// connected, which has a colour; "-" where there is none.
void column_number (FILE *out, const json_t *value);
void column_time (FILE *out, const json_t *value);
void column_time_ms (FILE *out, const json_t *value);
void column_frame (FILE *out, const json_t *value);
void column_connected (FILE *out, const json_t *value);
enum colour connected_colour (const json_t *value);

struct text_table;

// The columns and the file, stdout or one that is shown on it, are borrowed.
struct text_table *table_new (const struct column *columns, size_t count, FILE *out);

// Add a row; it may be printed later.
void table_row (struct text_table *self, const json_t *row);

// Print the rest, or a heading alone where there was no row.
void table_end (struct text_table **self);

// All of it, of a list of rows; with --json an object of this kind for each.
void table_print (const struct cli *cli, enum json_kind kind, const struct column *columns,
                  size_t count, const json_t *list);

// The same of rows that ended in trouble: where there was none nothing is printed.
void table_break (struct text_table **self);
