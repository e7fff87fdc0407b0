// zplan limit: how many runs at a time, and how often, targets and groups of plans have.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "json.h"
#include "options.h"
#include "print.h"
#include "subword.h"
#include "text_table.h"

static const char about[] =
    "How many concurrent runs a target or a group of plans has, and how many start per\n"
    "second: list the limits (the default), set one, remove some. A limit that was set is\n"
    "kept by the station, applies at once, and overrides the settings. Plans that may\n"
    "not run wait, the highest priority first, groups in turn.\n\n"
    "  zplan limit list\n"
    "  zplan limit set jobs --concurrency 4  # of a target\n"
    "  zplan limit set group:mail --rate 0.5 --burst 10\n"
    "  zplan limit set jobs                  # none, whatever the settings say\n"
    "  zplan limit remove jobs group:mail\n";

struct limit_wish {
    const char *concurrency, *rate, *burst;
};

static const struct option rows[] = {
    TEXT_OPTION (struct limit_wish, concurrency, "--concurrency", "N", "at most N concurrent runs"),
    TEXT_OPTION (struct limit_wish, rate, "--rate", "N",
                 "at most N starts per second; may be a fraction"),
    TEXT_OPTION (struct limit_wish, burst, "--burst", "N",
                 "at most N starts at once after a pause; default 1"),
};

// -- list

static void write_number (FILE *out, const json_t *number)
{
    if (number)
        fprintf (out, "%.9g", json_number_value (number));
    else
        fputc ('-', out);
}

static const struct column columns[] = {
    {.heading = "NAME", .width = 24, .rule = COLUMN_SHORT, .field = "name"},
    {.heading = "CONCURRENCY", .width = 11, .field = "concurrency", .write = write_number},
    {.heading = "RATE", .width = 10, .field = "rate", .write = write_number},
    {.heading = "BURST", .width = 7, .field = "burst", .write = write_number},
    {.heading = "ORIGIN", .rule = COLUMN_REST, .field = "origin"},
};

static void print_limits (const struct cli *cli, json_t *limits)
{
    const char *name;
    json_t *limit;
    json_t *list = json_array ();
    json_object_foreach (limits, name, limit)
    {
        json_object_set_new (limit, "name", json_string (name));
        json_array_append (list, limit);
    }
    table_print (cli, JSON_ANSWER, columns, sizeof columns / sizeof *columns, list);
    json_decref (list);
}

static int list (const struct cli *cli, struct zplan_client *client)
{
    int code;
    const char *const say[] = {"limit", "list", NULL};
    json_t *answer = call_command (cli, client, say, NULL, &code);
    if (answer)
        print_limits (cli, json_object_get (answer, "limits"));
    json_decref (answer);
    return code;
}

// -- set, remove

enum word { WORD_LIST, WORD_SET, WORD_REMOVE, WORDS };

static const struct subword words[WORDS] = {
    [WORD_LIST] = {"list", 0, 0, "unexpected argument"},
    [WORD_SET] = {"set", 1, INT_MAX, "want the name of a target, or group:NAME"},
    [WORD_REMOVE] = {"remove", 1, INT_MAX, "want the name of a target, or group:NAME"},
};

// A number goes as it was written: the station says what is wrong with it.
static bool write_rule (const struct limit_wish *wish, char *out, size_t size,
                        struct reason *reason)
{
    const struct {
        const char *name, *value, *rule;
    } fields[] = {{"concurrency", wish->concurrency, "a number 1..10000"},
                  {"rate", wish->rate, "starts per second, 0.000001..1000000"},
                  {"burst", wish->burst, "a number 1..1000000"}};
    size_t at = (size_t)snprintf (out, size, "{");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const char *value = fields[i].value;
        if (!value)
            continue;
        if (!*value || strlen (value) > 20 || strspn (value, "0123456789.") != strlen (value)) {
            reason_set (reason, "--%s: want %s, got %s", fields[i].name, fields[i].rule,
                        quoted (span_text (value)));
            return false;
        }
        at += (size_t)snprintf (out + at, size - at, "%s\"%s\": %s", at > 1 ? ", " : "",
                                fields[i].name, value);
    }
    snprintf (out + at, size - at, "}");
    return true;
}

enum { LIMIT_NAME_SIZE = 1024 };

// As the station names it: a target by its name alone, or behind "target:".
static const char *full_name (const char *name, char out[LIMIT_NAME_SIZE])
{
    static const char target[] = "target:";
    bool behind = strncmp (name, target, strlen (target)) == 0;
    if (!behind && strchr (name, ':'))
        return name;
    snprintf (out, LIMIT_NAME_SIZE, "station:%s", behind ? name + strlen (target) : name);
    return out;
}

static int change (const struct cli *cli, struct zplan_client *client, enum word word,
                   const char *name, const char *rule)
{
    char full[LIMIT_NAME_SIZE];
    bool sets = word == WORD_SET;
    const struct change_report change = {.name = span_text (name),
                                         .field = "name",
                                         .label = "limit of ",
                                         .past = sets ? " set" : " removed",
                                         .done = words[word].name};
    return call_change (cli, client,
                        (const char *[]){"limit", words[word].name, full_name (name, full),
                                         sets ? rule : NULL, NULL},
                        &change, quoted (change.name));
}

static int change_all (const struct cli *cli, struct zplan_client *client, enum word word,
                       int count, const char *rule)
{
    int code = EXIT_DONE;
    for (int i = 0; i < count && code != EXIT_NO_ANSWER; i++) {
        int one = change (cli, client, word, cli->argv[2 + i], rule);
        code = one == EXIT_DONE ? code : one;
    }
    return code;
}

// `limit set mail 5`: a target may be called 5, but nobody sets limits that say nothing.
static bool is_number_behind (const struct cli *cli, const struct limit_wish *wish, int word,
                              int count, struct reason *reason)
{
    const char *last = cli->argv[count];
    if (word != WORD_SET || count < 3 || wish->concurrency || wish->rate || wish->burst ||
        strspn (last, "0123456789.") != strlen (last))
        return false;
    reason_set (reason, "set: want --concurrency %s, --rate %s or --burst %s", last, last, last);
    return true;
}

int verb_limit (const struct cli *cli)
{
    struct limit_wish wish = {0};
    const struct usage usage = {
        .synopsis = "zplan limit [list] | set NAME... [--concurrency N] [--rate N] [--burst N] | "
                    "remove NAME...",
        .about = about,
        .groups = {OPTION_GROUP ("Limit", rows, &wish)},
        .words_max = INT_MAX,
        .words = "list, set or remove",
    };
    int count, code;
    char rule[128];
    struct reason reason;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    int word = subword_read (words, WORDS, cli, count, &reason);
    if (word < 0 || !write_rule (&wish, rule, sizeof rule, &reason) ||
        is_number_behind (cli, &wish, word, count, &reason))
        return usage_error (cli->argv[0], &reason);
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = word == WORD_LIST ? list (cli, client)
                                 : change_all (cli, client, (enum word)word, count - 1, rule);
    zplan_client_destroy (&client);
    return code;
}
