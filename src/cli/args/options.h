// Options as tables: one row defines an option completely - its name, the name and range of its
// value, the field it sets, its help. A value follows its option (--name VALUE) or is joined to it
// (--name=VALUE); one that starts with "--" must be joined. "--" ends the options.
#pragma once

#include <stddef.h>

#include "reason.h"
#include "verbs.h"

enum { OPTION_TEXTS_MAX = 16 };

// The values of an option that may be given several times, in the order of the command line.
struct option_texts {
    const char *texts[OPTION_TEXTS_MAX];
    size_t count;
};

enum option_type {
    OPTION_FLAG,   // bool; takes no value
    OPTION_FORM,   // const char *: the value joined to the option, else the first of `values`
    OPTION_TEXT,   // const char *, borrowed from the command line
    OPTION_TEXTS,  // struct option_texts
    OPTION_NUMBER, // int64_t within min..max
};

struct option {
    const char *name;    // "--target"
    const char *aliases; // further names, separated by spaces; not in the help; NULL: none
    const char *metavar; // what the help calls the value; NULL for a flag
    enum option_type type;
    size_t offset;          // offset of the field in the group's struct `values`
    const char *help;       // may have several lines
    int64_t min, max;       // range of an OPTION_NUMBER
    int64_t unit_ms;        // unit of a time: 1 or 1000; a duration such as 5m is accepted, too
    const char *values;     // allowed words of an OPTION_TEXT, separated by spaces; NULL: any text
    const char *old_values; // further words that are accepted, but not in the help; or NULL
    bool utf8;              // the texts must be UTF-8
    bool once;              // a second OPTION_TEXT is an error; else the last one counts
    enum {
        VALUES_ALL,      // one of `values`, or any text if `values` is NULL
        VALUES_SOME,     // `values` are suggestions, others are allowed
        VALUES_STATIONS, // names of targets; only the completion uses this and the next two
        VALUES_FILES,
        VALUES_FOLDERS
    } offered;
};

// Rows of a table: the struct and its field, the option, the metavar, the bounds of a number, the
// help, and then any further members of struct option.
#define OPTION_ROW(kind, struct_type, field, option, value_name, ...)                              \
    {                                                                                              \
        .name = option, .metavar = value_name, .type = kind,                                       \
        .offset = offsetof (struct_type, field), .help = __VA_ARGS__                               \
    }
#define FLAG_OPTION(struct_type, field, option, ...)                                               \
    OPTION_ROW (OPTION_FLAG, struct_type, field, option, NULL, __VA_ARGS__)
#define TEXT_OPTION(struct_type, field, option, value_name, ...)                                   \
    OPTION_ROW (OPTION_TEXT, struct_type, field, option, value_name, __VA_ARGS__)
#define TEXTS_OPTION(struct_type, field, option, value_name, ...)                                  \
    OPTION_ROW (OPTION_TEXTS, struct_type, field, option, value_name, __VA_ARGS__)
#define NUMBER_OPTION(struct_type, field, option, value_name, least, most, ...)                    \
    OPTION_ROW (OPTION_NUMBER, struct_type, field, option, value_name, __VA_ARGS__, .min = least,  \
                .max = most)
#define TARGET_OPTION(struct_type, field, ...)                                                     \
    TEXT_OPTION (struct_type, field, "--target", "NAME", __VA_ARGS__, .aliases = "--station",      \
                 .offered = VALUES_STATIONS, .utf8 = true)

// Rows that fill one struct.
struct option_group {
    const char *heading; // in the help: "Time", ...
    const struct option *rows;
    size_t count;
    void *values;
};

// A group of all rows of a table.
#define OPTION_GROUP(heading, rows, values)                                                        \
    {                                                                                              \
        heading, rows, sizeof (rows) / sizeof *(rows), values                                      \
    }

enum { USAGE_GROUPS_MAX = 12 };

// Everything that a verb takes, and its help.
struct usage {
    const char *synopsis;                             // "zplan add --target NAME ... [TIME]"
    const char *about;                                // what it does, and examples
    struct option_group groups[USAGE_GROUPS_MAX + 1]; // the last one has no rows
    int words_min, words_max;                         // number of arguments that are not options
    const char *words; // what the usage error calls them: "one plan id"
};

// Set this in the struct cli to learn what a verb takes, instead of running it.
struct describe {
    void (*take) (void *owner, const struct usage *usage); // called once, by options_read
    void *owner;
};

// Read the verb's options into its groups. True: the other arguments, `ret_words` of them, are left
// in cli->argv from [1] on. False: the verb ends with `ret_exit`, because --help was printed or a
// usage error was reported on stderr.
bool options_read (const struct usage *usage, const struct cli *cli, int *ret_words, int *ret_exit);

// Remove the options of this group from argv, from [1] on up to "--"; all others stay in order.
// Returns the new argc; -1 with a reason.
int options_extract (const struct option_group *group, int argc, char **argv,
                     struct reason *reason);

// Set the row's field in the group's `values`; a flag ignores `text`. 0, or -1 with a reason that
// names the option as it was typed: `name`.
int option_set (const struct option *row, const char *name, void *values, const char *text,
                struct reason *reason);

// Find the option with this name or alias; NULL: there is none.
const struct option *option_named (const struct option_group *group, struct span name);

// Whether `words`, separated by spaces, contain this one; NULL contains none.
bool words_include (const char *words, struct span word);

// The first option of these groups that was given a value; NULL: none. An OPTION_NUMBER counts as
// given when it is not 0.
const char *options_given (const struct option_group *groups, size_t count);

// The first OPTION_TEXT of the group whose value is empty; NULL: none.
const char *options_empty (const struct option_group *group);

// Print the lines of the group's help to stdout.
void options_help (const struct option_group *group);

// Report a usage error on stderr. Returns EXIT_USAGE.
int usage_error (const char *verb, const struct reason *reason);

// A subcommand: the second word of verbs such as `zplan limit set`.
struct subcommand {
    const char *name;
    int min, max;     // number of arguments after it
    const char *rule; // the error for any other number of arguments
};

// Find the subcommand that the verb's first argument names, and check the number of arguments after
// it. Returns its index, 0 without arguments; -1 with a reason.
int subcommand_read (const struct subcommand *words, size_t count, const struct cli *cli,
                     int arguments, struct reason *reason);
