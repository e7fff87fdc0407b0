// Options as tables: one row is the whole truth about an option - its name, what its value is
// called and may be, where it goes, its help. A value follows its option (--name VALUE) or is
// joined to it (--name=VALUE); one that starts with "--" must be joined. "--" ends the options.
#pragma once

#include <stddef.h>

#include "reason.h"
#include "verbs.h"

enum { OPTION_TEXTS_MAX = 16 };

// The values of an option that may be given several times, in order.
struct option_texts {
    const char *texts[OPTION_TEXTS_MAX];
    size_t count;
};

enum option_type {
    OPTION_FLAG,   // bool; takes no value
    OPTION_FORM,   // const char *: the first of `values`, or the one that is joined to the option
    OPTION_TEXT,   // const char *, borrowed from the command line
    OPTION_TEXTS,  // struct option_texts
    OPTION_NUMBER, // int64_t within min..max
};

struct option {
    const char *name;    // "--target"
    const char *aliases; // further names, separated by spaces; not in the help; NULL: none
    const char *metavar; // what the help calls the value; NULL for a flag
    enum option_type type;
    size_t offset;    // of the field in the group's values
    const char *help; // may have several lines
    int64_t min, max; // of OPTION_NUMBER
    int64_t
        unit_ms; // of an OPTION_NUMBER that is a time: 1 or 1000; it may then be a duration as 5m
    const char *values; // of OPTION_TEXT: the words it may be, separated by spaces; NULL: any text
    const char *old_values; // further words that are accepted, but not in the help; or NULL
    bool utf8;              // of OPTION_TEXT and OPTION_TEXTS: it must be UTF-8
    bool once;              // of OPTION_TEXT: a second one is an error; else the last one counts
    enum {
        VALUES_ALL,      // it is one of `values`, or any text where there are none
        VALUES_SOME,     // `values` are offered, others may be
        VALUES_STATIONS, // names of targets; these are offered by the completion only
        VALUES_FILES,
        VALUES_FOLDERS
    } offered;
};

// Rows of a table: the struct and its field, the option, what its value is called, the bounds of a
// number, the help; and after it further members of struct option.
#define OPTION_ROW(kind, of, field, option, says, ...)                                             \
    {                                                                                              \
        .name = option, .metavar = says, .type = kind, .offset = offsetof (of, field),             \
        .help = __VA_ARGS__                                                                        \
    }
#define FLAG_OPTION(of, field, option, ...)                                                        \
    OPTION_ROW (OPTION_FLAG, of, field, option, NULL, __VA_ARGS__)
#define TEXT_OPTION(of, field, option, says, ...)                                                  \
    OPTION_ROW (OPTION_TEXT, of, field, option, says, __VA_ARGS__)
#define TEXTS_OPTION(of, field, option, says, ...)                                                 \
    OPTION_ROW (OPTION_TEXTS, of, field, option, says, __VA_ARGS__)
#define NUMBER_OPTION(of, field, option, says, least, most, ...)                                   \
    OPTION_ROW (OPTION_NUMBER, of, field, option, says, __VA_ARGS__, .min = least, .max = most)
#define TARGET_OPTION(of, field, ...)                                                              \
    TEXT_OPTION (of, field, "--target", "NAME", __VA_ARGS__, .aliases = "--station",               \
                 .offered = VALUES_STATIONS, .utf8 = true)

// Rows that fill one struct.
struct option_group {
    const char *heading; // in the help: "Time", ...
    const struct option *rows;
    size_t count;
    void *values;
};

// One of all rows of a table.
#define OPTION_GROUP(heading, rows, values)                                                        \
    {                                                                                              \
        heading, rows, sizeof (rows) / sizeof *(rows), values                                      \
    }

enum { USAGE_GROUPS_MAX = 12 };

// All that a verb takes, and its help.
struct usage {
    const char *synopsis;                             // "zplan add --target NAME ... [TIME]"
    const char *about;                                // what it does, and examples
    struct option_group groups[USAGE_GROUPS_MAX + 1]; // the last one has no rows
    int words_min, words_max;                         // arguments that are no options
    const char *words; // what the usage error calls them: "one plan id"
};

// Set this in the struct cli to learn what a verb takes, instead of running it.
struct describe {
    void (*take) (void *owner, const struct usage *usage); // called once, by options_read
    void *owner;
};

// Read the verb's options into its groups. True: what is no option is left in cli->argv[1] and
// after, `ret_words` of them. False: the verb ends with `ret_exit`, since --help was asked for and
// printed, or a usage error was reported on stderr.
bool options_read (const struct usage *usage, const struct cli *cli, int *ret_words, int *ret_exit);

// Take the options of this group out of argv[1] and after, up to "--", and leave everything else
// in order. Returns the new argc; -1 with a reason.
int options_take (const struct option_group *group, int argc, char **argv, struct reason *reason);

// Set the field of this row in the group's values; of a flag `text` is not read. 0, or -1 with a
// reason that names the option as it was typed: `name`.
int option_set (const struct option *row, const char *name, void *values, const char *text,
                struct reason *reason);

// Whether this is the option's name, or one of its aliases.
bool option_has_name (const struct option *row, struct span name);

// "a, b or c" of the words "a b c".
const char *words_listed (const char *words, char out[REASON_MAX]);

// Whether `words`, separated by spaces, has this one; NULL has none.
bool words_include (const char *words, struct span word);

// The first option of the group that was given a value; NULL: none. An OPTION_NUMBER counts as
// given when it is not 0.
const char *options_given (const struct option_group *group);

// The first OPTION_TEXT of the group whose value is empty; NULL: none.
const char *options_empty (const struct option_group *group);

// The lines of the group's help, to stdout.
void options_help (const struct option_group *group);

// Report a usage error on stderr. Returns EXIT_USAGE.
int usage_error (const char *verb, const struct reason *reason);

// The second word of a verb that has several, as `zplan limit set`.
struct subcommand {
    const char *name;
    int min, max;     // arguments after it
    const char *rule; // the error when their number is another one
};

// Which of them the first argument of the verb is, and whether those after it may be; without any
// argument the first. -1: not one of them, with the reason.
int subcommand_read (const struct subcommand *words, size_t count, const struct cli *cli,
                     int arguments, struct reason *reason);
