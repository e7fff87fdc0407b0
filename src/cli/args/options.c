#include "options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "duration.h"
#include "nearest.h"
#include "settings.h"
#include "utf8.h"
#include "verb_table.h"

bool words_include (const char *words, struct span word)
{
    while (words && *words) {
        size_t size = strcspn (words, " ");
        if (span_equal (span_of (words, size), word))
            return true;
        words += size + strspn (words + size, " ");
    }
    return false;
}

// -- one option

const struct option *option_named (const struct option_group *group, struct span name)
{
    for (size_t i = 0; i < group->count; i++)
        if (span_is (name, group->rows[i].name) || words_include (group->rows[i].aliases, name))
            return &group->rows[i];
    return NULL;
}

// Find the row that this argument names; NULL: there is none. `ret_joined` is its joined value, or
// NULL.
static const struct option *find_row (const struct option_group *group, const char *argument,
                                      const char **ret_joined)
{
    const char *equals = strncmp (argument, "--", 2) == 0 ? strchr (argument, '=') : NULL;
    *ret_joined = equals ? equals + 1 : NULL;
    return option_named (group, equals ? span_of (argument, (size_t)(equals - argument))
                                       : span_text (argument));
}

static int set_number (const struct option *row, const char *name, int64_t *field, const char *text,
                       struct reason *reason)
{
    int64_t number;
    bool known =
        row->unit_ms ? duration_count (text, row->unit_ms, &number) : number_parse (text, &number);
    if (known && number >= row->min && number <= row->max) {
        *field = number;
        return 0;
    }
    const char *what = !row->unit_ms       ? "a number"
                       : row->unit_ms == 1 ? "milliseconds, or a duration as 5s,"
                                           : "seconds, or a duration as 5m,";
    return reason_set (reason, "%s: want %s %" PRId64 "..%" PRId64 ", got %s", name, what, row->min,
                       row->max, quoted (span_text (text)));
}

// Convert the words "a b c" to "a, b or c".
static const char *list_words (const char *words, char out[REASON_MAX])
{
    size_t size = 0;
    while (*words && size + 1 < REASON_MAX) {
        size_t word = strcspn (words, " ");
        const char *rest = words + word + strspn (words + word, " ");
        bool last = !*rest, before_last = !last && !strchr (rest, ' ');
        size += (size_t)snprintf (out + size, REASON_MAX - size, "%.*s%s", (int)word, words,
                                  last          ? ""
                                  : before_last ? " or "
                                                : ", ");
        words = rest;
    }
    return out;
}

static int set_text (const struct option *row, const char *name, const char **field,
                     const char *text, struct reason *reason)
{
    if (row->once && *field)
        return reason_set (reason, "%s: want only one, got %s as well", name,
                           quoted (span_text (*field)));
    if (!row->values || row->offered != VALUES_ALL ||
        words_include (row->values, span_text (text)) ||
        words_include (row->old_values, span_text (text))) {
        *field = text;
        return 0;
    }
    char words[REASON_MAX];
    struct nearest nearest = nearest_to (text);
    nearest_try_list (&nearest, row->values);
    return reason_set (reason, "%s: want %s, got %s%s", name, list_words (row->values, words),
                       quoted (span_text (text)), nearest_hint (&nearest));
}

int option_set (const struct option *row, const char *name, void *values, const char *text,
                struct reason *reason)
{
    void *field = (uint8_t *)values + row->offset;
    struct option_texts *texts = field; // of OPTION_TEXTS
    if (row->utf8 && !utf8_is_text (span_text (text)))
        return reason_set (reason, "%s: want UTF-8, got %s", name, quoted (span_text (text)));
    switch (row->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_FORM:
    case OPTION_TEXT:
        return set_text (row, name, field, text, reason);
    case OPTION_TEXTS:
        if (texts->count == OPTION_TEXTS_MAX)
            return reason_set (reason, "%s: at most %d times", name, OPTION_TEXTS_MAX);
        texts->texts[texts->count++] = text;
        return 0;
    case OPTION_NUMBER:
        return set_number (row, name, field, text, reason);
    }
    return -1;
}

// Set the field of argv[0]'s row; argv[0] is cut before the value `joined`. Returns the number of
// consumed arguments, -1 with a reason.
static int take_option (const struct option *row, void *values, const char *joined, char **argv,
                        struct reason *reason)
{
    bool needs_value = row->type != OPTION_FLAG && row->type != OPTION_FORM;
    if (joined)
        argv[0][strcspn (argv[0], "=")] = '\0';
    if (joined && row->type == OPTION_FLAG)
        return reason_set (reason, "%s: takes no value", argv[0]);
    if (!joined && needs_value && (!argv[1] || strncmp (argv[1], "--", 2) == 0))
        return reason_set (reason, "%s: requires a value, %s%s", argv[0], row->metavar,
                           argv[1] ? "; one that starts with -- is joined by =" : "");
    const char *text = joined ? joined : row->type == OPTION_FORM ? "names" : argv[1];
    if (option_set (row, argv[0], values, text, reason))
        return -1;
    return joined || !needs_value ? 1 : 2;
}

// -- the command line

int options_extract (const struct option_group *group, int argc, char **argv, struct reason *reason)
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

static void refuse_option (const struct usage *usage, const char *argument, struct reason *reason)
{
    char name[NEAREST_WORD_MAX + 1];
    size_t size = strcspn (argument, "=");
    snprintf (name, sizeof name, "%.*s", (int)size, argument);
    struct nearest nearest = nearest_to (name);
    struct option_group shared = shared_options (NULL);
    for (const struct option_group *group = usage->groups; group->rows; group++)
        for (size_t i = 0; i < group->count; i++)
            nearest_try (&nearest, group->rows[i].name);
    for (size_t i = 0; i < shared.count; i++)
        nearest_try (&nearest, shared.rows[i].name);
    nearest_try (&nearest, "--help");
    reason_set (reason, "unknown option %s%s", quoted (span_text (argument)),
                nearest_hint (&nearest));
}

// Check what the groups left in argv: words and unknown options. Returns the number of words, which
// are moved to the front; -1 with a reason.
static int check_words (const struct usage *usage, int argc, char **argv, struct reason *reason)
{
    int words = 0;
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        if (!ended && strcmp (argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && argv[i][0] == '-' && argv[i][1] != '\0') {
            refuse_option (usage, argv[i], reason);
            return -1;
        } else {
            argv[1 + words++] = argv[i];
        }
    }
    if (words >= usage->words_min && words <= usage->words_max)
        return words;
    if (words > usage->words_max && usage->words_max == 0)
        return reason_set (reason, "unexpected argument %s", quoted (span_text (argv[1])));
    return reason_set (reason, "want %s, got %d", usage->words, words);
}

// Whether --help is among the remaining arguments; values of options do not count, as in `add --arg
// -h`.
static bool has_help_option (char **argv)
{
    for (int i = 1; argv[i] && strcmp (argv[i], "--") != 0; i++)
        if (strcmp (argv[i], "--help") == 0 || strcmp (argv[i], "-h") == 0)
            return true;
    return false;
}

// -- the help

enum { HELP_COLUMN = 27, HELP_WIDTH = 79 };

// Whether the line that ends here continues in the next one: it is prose, and not followed by an
// empty line or by an example, which starts with a blank.
static bool is_line_continued (const char *end)
{
    return end[0] == '\n' && end[1] && end[1] != '\n' && end[1] != ' ';
}

// Print a paragraph of prose, wrapped between words and indented to this column. Returns where it
// ends.
static const char *print_paragraph (const char *text, int column)
{
    int used = column;
    for (;;) {
        size_t word = strcspn (text, " \n");
        if (used > column && used + 1 + (int)word > HELP_WIDTH)
            used = printf ("\n%*s", column, "") - 1;
        else if (used > column)
            used += printf (" ");
        used += printf ("%.*s", (int)word, text);
        text += word;
        if (*text == ' ')
            text += strspn (text, " ");
        else if (is_line_continued (text))
            text++;
        else
            break;
    }
    putchar ('\n');
    return text + (*text == '\n');
}

// Print a help text: prose is wrapped, examples are printed unchanged.
static void print_text (const char *text, int column)
{
    for (bool first = true; *text; first = false) {
        if (!first && *text != '\n')
            printf ("%*s", column, "");
        if (*text == '\n') {
            putchar (*text++);
            continue;
        }
        if (*text != ' ') {
            text = print_paragraph (text, column);
            continue;
        }
        size_t size = strcspn (text, "\n");
        printf ("%.*s\n", (int)size, text);
        text += size + (text[size] == '\n');
    }
}

void options_help (const struct option_group *group)
{
    printf ("\n%s:\n", group->heading);
    for (size_t i = 0; i < group->count; i++) {
        const struct option *row = &group->rows[i];
        char left[64];
        snprintf (left, sizeof left, "%s%s%s", row->name, row->metavar ? " " : "",
                  row->metavar ? row->metavar : "");
        if (strlen (left) < HELP_COLUMN - 2)
            printf ("  %-24s ", left);
        else
            printf ("  %s\n%*s", left, HELP_COLUMN, "");
        print_text (row->help, HELP_COLUMN);
    }
}

static int print_help (const struct usage *usage)
{
    printf ("Usage: ");
    print_text (usage->synopsis, (int)strlen ("Usage: "));
    putchar ('\n');
    print_text (usage->about, 0);
    for (const struct option_group *group = usage->groups; group->rows; group++)
        options_help (group);
    printf ("\nOptions of every command (--connect, --publish, --key, --server-key, --timeout,\n"
            "--color, --times, --json): zplan --help\n");
    return EXIT_DONE;
}

bool options_read (const struct usage *usage, const struct cli *cli, int *ret_words, int *ret_exit)
{
    if (cli->describe) {
        cli->describe->take (cli->describe->owner, usage);
        *ret_exit = EXIT_DONE;
        return false;
    }
    struct reason reason;
    int argc = cli->argc;
    for (const struct option_group *group = usage->groups; group->rows && argc > 0; group++)
        argc = options_extract (group, argc, cli->argv, &reason);
    if (has_help_option (cli->argv)) {
        *ret_exit = print_help (usage);
        return false;
    }
    int words = argc > 0 ? check_words (usage, argc, cli->argv, &reason) : -1;
    if (words < 0) {
        *ret_exit = usage_error (cli->argv[0], &reason);
        return false;
    }
    *ret_words = words;
    return true;
}

static bool is_option_given (const struct option *row, const void *values)
{
    const void *field = (const uint8_t *)values + row->offset;
    switch (row->type) {
    case OPTION_FLAG:
        return *(const bool *)field;
    case OPTION_FORM:
    case OPTION_TEXT:
        return *(const char *const *)field != NULL;
    case OPTION_TEXTS:
        return ((const struct option_texts *)field)->count > 0;
    case OPTION_NUMBER:
        return *(const int64_t *)field != 0;
    }
    return false;
}

const char *options_given (const struct option_group *groups, size_t count)
{
    for (const struct option_group *group = groups; group < groups + count; group++)
        for (size_t i = 0; i < group->count; i++)
            if (is_option_given (&group->rows[i], group->values))
                return group->rows[i].name;
    return NULL;
}

const char *options_empty (const struct option_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct option *row = &group->rows[i];
        if (row->type == OPTION_TEXT && is_option_given (row, group->values) &&
            !**(const char *const *)((const uint8_t *)group->values + row->offset))
            return row->name;
    }
    return NULL;
}

int usage_error (const char *verb, const struct reason *reason)
{
    fprintf (stderr, "zplan %s: %s\nTry: zplan %s --help\n", verb, reason->text, verb);
    return EXIT_USAGE;
}

// -- the subcommand

static int refuse_subcommand (const struct subcommand *words, size_t count, const char *given,
                              struct reason *reason)
{
    char names[REASON_MAX / 2], listed[REASON_MAX];
    size_t size = 0;
    struct nearest nearest = nearest_to (given);
    for (size_t i = 0; i < count; i++) {
        nearest_try (&nearest, words[i].name);
        if (size < sizeof names)
            size += (size_t)snprintf (names + size, sizeof names - size, "%s%s", i ? " " : "",
                                      words[i].name);
    }
    if (nearest.best[0] || size >= sizeof names) // --help lists them
        return reason_set (reason, "unknown word %s%s", quoted (span_text (given)),
                           nearest_hint (&nearest));
    return reason_set (reason, "want %s, got %s", list_words (names, listed),
                       quoted (span_text (given)));
}

int subcommand_read (const struct subcommand *words, size_t count, const struct cli *cli,
                     int arguments, struct reason *reason)
{
    const char *given = arguments ? cli->argv[1] : words[0].name;
    int rest = arguments ? arguments - 1 : 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp (words[i].name, given) != 0)
            continue;
        if (rest >= words[i].min && rest <= words[i].max)
            return (int)i;
        return reason_set (reason, "%s: %s", given, words[i].rule);
    }
    return refuse_subcommand (words, count, given, reason);
}
