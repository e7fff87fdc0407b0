// Settings as a table: one row defines all of a setting - its name in the file, its option on the
// command line, its type, default, bounds and help. Pure: no files.
#pragma once

#include <stdint.h>

#include "reason.h"

enum { SETTING_TEXT_MAX = 512 };

enum setting_type {
    SETTING_TEXT,   // char [SETTING_TEXT_MAX]
    SETTING_NUMBER, // int64_t, within min..max
    SETTING_FLAG,   // bool; the option takes no value, in the file 0 or 1
    SETTING_OWN,    // parsed by the row's `add` function
    SETTING_LIST    // the same, called once per value; in the file under NAME/ITEM
};

struct setting {
    const char *name;     // in the file and for --set
    const char *option;   // "--request", or NULL
    const char *metavar;  // what --help calls the value
    const char *fallback; // the default, as text; NULL for lists
    enum setting_type type;
    size_t offset; // of the field in the values struct
    int64_t min, max;
    int (*add) (void *values, const char *text, struct reason *reason); // OWN and LIST
    const char *help;
    int64_t unit_ms; // of a NUMBER that is a time: 1 or 1000; the text may be a duration such as 5m
    bool fixed;      // read at start only: a reload keeps it
};

// The title of a group of consecutive rows.
struct setting_topic {
    const char *first; // name of the first row
    const char *title;
};

struct setting_table {
    const struct setting *rows;
    size_t count;
    const struct setting_topic *topics; // NULL: the rows are not grouped
    size_t topic_count;
};

// Give every field its default.
void settings_reset (const struct setting_table *table, void *values);

// The row with this name or option, or NULL.
const struct setting *settings_named (const struct setting_table *table, const char *name);
const struct setting *settings_option (const struct setting_table *table, const char *option);

// The topic that begins with this row, or NULL.
const char *settings_topic (const struct setting_table *table, const struct setting *row);

// Set one field from text. 0, or -1 with a reason that names the setting and the rule.
int setting_set (const struct setting *row, void *values, const char *text, struct reason *reason);

// Whether two value structs agree in this setting; and copy it from one to the other. Not for LIST
// and OWN.
bool setting_same (const struct setting *row, const void *a, const void *b);
void setting_copy (const struct setting *row, void *to, const void *from);

// Parse a text that is a decimal number as a whole, with no sign but '-'. False: not a number, or
// it does not fit.
bool number_parse (const char *text, int64_t *ret);
