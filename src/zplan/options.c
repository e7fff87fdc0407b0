#include "options.h"

#include <inttypes.h>
#include <stdio.h>

#include "settings.h"

// -- one option

// The row that this argument names, or NULL; its joined value, or NULL.
static const struct option *find_row (const struct option_group *group, const char *argument,
                                      const char **ret_joined)
{
    const char *equals = strncmp (argument, "--", 2) == 0 ? strchr (argument, '=') : NULL;
    struct span name =
        equals ? span_of (argument, (size_t)(equals - argument)) : span_text (argument);
    for (size_t i = 0; i < group->count; i++) {
        if (span_is (name, group->rows[i].name)) {
            *ret_joined = equals ? equals + 1 : NULL;
            return &group->rows[i];
        }
    }
    return NULL;
}

static int set_number (const struct option *row, int64_t *field, const char *text,
                       struct reason *reason)
{
    int64_t number;
    if (number_parse (text, &number) && number >= row->min && number <= row->max) {
        *field = number;
        return 0;
    }
    reason_set (reason, "%s: want a number %" PRId64 "..%" PRId64 ", got %s", row->name, row->min,
                row->max, quoted (span_text (text)));
    return -1;
}

static int add_text (const struct option *row, struct option_texts *field, const char *text,
                     struct reason *reason)
{
    if (field->count < OPTION_TEXTS_MAX) {
        field->texts[field->count++] = text;
        return 0;
    }
    reason_set (reason, "%s: at most %d times", row->name, OPTION_TEXTS_MAX);
    return -1;
}

static int set_value (const struct option *row, void *values, const char *text,
                      struct reason *reason)
{
    void *field = (uint8_t *)values + row->offset;
    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)field = text;
        return 0;
    case OPTION_TEXTS:
        return add_text (row, field, text, reason);
    case OPTION_NUMBER:
        return set_number (row, field, text, reason);
    }
    return -1;
}

// Set the field of argv[0]'s row. Returns how many arguments that took, -1 with a reason.
static int take_option (const struct option *row, void *values, const char *joined, char **argv,
                        struct reason *reason)
{
    if (row->type == OPTION_FLAG) {
        if (!joined)
            return set_value (row, values, NULL, reason) ? -1 : 1;
        reason_set (reason, "%s: takes no value", row->name);
        return -1;
    }
    if (joined)
        return set_value (row, values, joined, reason) ? -1 : 1;
    if (argv[1] && strncmp (argv[1], "--", 2) != 0)
        return set_value (row, values, argv[1], reason) ? -1 : 2;
    reason_set (reason, "%s: wants a value, %s%s", row->name, row->metavar,
                argv[1] ? "; one that starts with -- is joined by =" : "");
    return -1;
}

// -- the command line

int options_take (const struct option_group *group, int argc, char **argv, struct reason *reason)
{
    int kept = 1;
    int at = 1;
    while (at < argc && strcmp (argv[at], "--") != 0) {
        const char *joined;
        const struct option *row = find_row (group, argv[at], &joined);
        int taken = row ? take_option (row, group->values, joined, argv + at, reason) : 1;
        if (taken < 0)
            return -1;
        if (!row)
            argv[kept++] = argv[at];
        at += taken;
    }
    while (at < argc)
        argv[kept++] = argv[at++];
    argv[kept] = NULL; // kept <= argc, and argv[argc] is NULL
    return kept;
}

// After every group took its own: what is left are words, and options that nobody knows.
static int check_words (const struct usage *usage, int argc, char **argv, struct reason *reason)
{
    int words = 0;
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        if (!ended && strcmp (argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            reason_set (reason, "unknown option %s", quoted (span_text (argv[i])));
            return -1;
        } else {
            argv[1 + words++] = argv[i];
        }
    }
    if (words >= usage->words_min && words <= usage->words_max)
        return words;
    if (words > usage->words_max && usage->words_max == 0)
        reason_set (reason, "unexpected argument %s", quoted (span_text (argv[1])));
    else
        reason_set (reason, "want %s, got %d", usage->words, words);
    return -1;
}

static bool wants_help (int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp (argv[i], "--") != 0; i++)
        if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0)
            return true;
    return false;
}

static int print_help (const struct usage *usage)
{
    printf ("Usage: %s\n\n%s", usage->synopsis, usage->about);
    for (size_t i = 0; i < usage->group_count; i++)
        options_help (&usage->groups[i]);
    printf ("\nOptions of every verb (--connect, --publish, --key, --server-key,\n"
            "--timeout, --json): zplan --help\n");
    return EXIT_DONE;
}

bool options_read (const struct usage *usage, const struct cli *cli, int *ret_words, int *ret_exit)
{
    if (wants_help (cli->argc, cli->argv)) {
        *ret_exit = print_help (usage);
        return false;
    }
    struct reason reason;
    int argc = cli->argc;
    for (size_t i = 0; i < usage->group_count && argc > 0; i++)
        argc = options_take (&usage->groups[i], argc, cli->argv, &reason);
    int words = argc > 0 ? check_words (usage, argc, cli->argv, &reason) : -1;
    if (words < 0) {
        *ret_exit = usage_error (cli->argv[0], &reason);
        return false;
    }
    *ret_words = words;
    return true;
}

static bool is_given (const struct option *row, const void *values)
{
    const void *field = (const uint8_t *)values + row->offset;
    switch (row->type) {
    case OPTION_FLAG:
        return *(const bool *)field;
    case OPTION_TEXT:
        return *(const char *const *)field != NULL;
    case OPTION_TEXTS:
        return ((const struct option_texts *)field)->count > 0;
    case OPTION_NUMBER:
        return *(const int64_t *)field != 0;
    }
    return false;
}

const char *options_given (const struct option_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (is_given (&group->rows[i], group->values))
            return group->rows[i].name;
    return NULL;
}

void options_help (const struct option_group *group)
{
    printf ("\n%s:\n", group->heading);
    for (size_t i = 0; i < group->count; i++) {
        const struct option *row = &group->rows[i];
        char left[64];
        snprintf (left, sizeof left, "%s %s", row->name, row->metavar ? row->metavar : "");
        printf ("  %-24s %s\n", left, row->help);
    }
}

int usage_error (const char *verb, const struct reason *reason)
{
    fprintf (stderr, "zplan %s: %s\nTry: zplan %s --help\n", verb, reason->text, verb);
    return EXIT_USAGE;
}
