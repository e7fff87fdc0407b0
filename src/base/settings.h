// Settings as a table: one row defines the name of a setting in the file, its option on the
// command line, its type, default, bounds and help. Pure: no files.
#pragma once

#include <stdint.h>

#include "reason.h"

enum { SETTING_TEXT_MAX = 512 };

enum setting_type {
    SETTING_TEXT,   // char [SETTING_TEXT_MAX]
    SETTING_NUMBER, // int64_t, within min..max
    SETTING_FLAG,   // bool; the option takes no value, in the file 0 or 1
    SETTING_OWN,    // any field; parsed by the row's `add` function
    SETTING_LIST    // several values: `add` is called for each; in the file under NAME/ITEM
};

struct setting {
    const char *name;     // in the file and for --set
    const char *option;   // "--request", or NULL
    const char *metavar;  // what --help calls the value
    const char *fallback; // the default, as text; NULL for lists
    enum setting_type type;
    size_t offset;    // offset of the field in the struct of values
    int64_t min, max; // bounds of a NUMBER
    int (*add) (void *values, const char *text, struct reason *reason); // OWN and LIST
    const char *help;
    int64_t unit_ms; // the unit of a NUMBER that is a duration, in milliseconds: 1 or 1000; its
                     // text may also be like 5m; 0 = not a duration
    bool fixed;      // read at start only: a reload does not change it
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

// The row with this name, or NULL.
const struct setting *settings_named (const struct setting_table *table, const char *name);

// The row with this option, such as "--request", or NULL.
const struct setting *settings_option (const struct setting_table *table, const char *option);

// The title of the topic that begins with this row, or NULL.
const char *settings_topic (const struct setting_table *table, const struct setting *row);

// Set one field from text. 0, or -1 with a reason that names the setting and the rule.
int setting_set (const struct setting *row, void *values, const char *text, struct reason *reason);

// Whether two structs of values have the same value of this setting. Not for LIST and OWN.
bool setting_same (const struct setting *row, const void *a, const void *b);

// Copy this setting from one struct of values to another. Not for LIST and OWN.
void setting_copy (const struct setting *row, void *to, const void *from);

// Parse a text that consists of decimal digits, or '-' and digits. False: it does not, or the
// number is too large.
bool number_parse (const char *text, int64_t *ret);
