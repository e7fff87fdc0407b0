// zplan limit: the concurrency and the rate of runs of targets and groups of plans.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "call.h"
#include "options.h"
#include "print.h"
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

struct limit_options {
    const char *concurrency, *rate, *burst;
};

static const struct option rows[] = {
    TEXT_OPTION (struct limit_options, concurrency, "--concurrency", "N",
                 "at most N concurrent runs"),
    TEXT_OPTION (struct limit_options, rate, "--rate", "N",
                 "at most N starts per second; may be a fraction"),
    TEXT_OPTION (struct limit_options, burst, "--burst", "N",
                 "at most N starts at once after a pause; default 1"),
};

// -- list

static void write_number (FILE *out, const json_t *number)
{
    fprintf (out, number ? "%.9g" : "-", json_number_value (number));
}

static const struct column columns[] = {
    COLUMN ("NAME", 24, .rule = COLUMN_SHORT, .field = "name"),
    COLUMN ("CONCURRENCY", 11, .field = "concurrency", .write = write_number),
    COLUMN ("RATE", 10, .field = "rate", .write = write_number),
    COLUMN ("BURST", 7, .field = "burst", .write = write_number),
    COLUMN ("ORIGIN", 0, .rule = COLUMN_REST, .field = "origin"),
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

// -- set, remove

// Write the limit as JSON. Numbers are sent as they were typed: the station reports errors in them.
static bool write_rule (const struct limit_options *options, char *out, size_t size,
                        struct reason *reason)
{
    const struct {
        const char *name, *value, *rule;
    } fields[] = {{"concurrency", options->concurrency, "a number 1..10000"},
                  {"rate", options->rate, "starts per second, 0.000001..1000000"},
                  {"burst", options->burst, "a number 1..1000000"}};
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

// Write the station's name of a limit: a target may be given by its name alone, or after "target:".
static const char *full_name (const char *name, char out[LIMIT_NAME_SIZE])
{
    static const char target[] = "target:";
    bool prefixed = strncmp (name, target, strlen (target)) == 0;
    if (!prefixed && strchr (name, ':'))
        return name;
    snprintf (out, LIMIT_NAME_SIZE, "station:%s", prefixed ? name + strlen (target) : name);
    return out;
}

// Whether a number was typed as a further name, as in `limit set mail 5`; then with a reason. A
// target may be called 5, but a limit without any value is a mistake.
static bool is_value_misplaced (const struct subcommand_call *request, struct reason *reason)
{
    const struct limit_options *options = request->options;
    const char *last = request->args[request->count - 1];
    if (request->count < 2 || options->concurrency || options->rate || options->burst ||
        strspn (last, "0123456789.") != strlen (last))
        return false;
    reason_set (reason, "set: want --concurrency %s, --rate %s or --burst %s", last, last, last);
    return true;
}

// Set the limit of a target or group; `rule` NULL: remove it.
static int change_limit (const struct cli *cli, struct zplan_client *client, const char *name,
                         const char *rule)
{
    char full[LIMIT_NAME_SIZE];
    const char *const words[] = {"limit", rule ? "set" : "remove", full_name (name, full), rule,
                                 NULL};
    const struct change_report change = {.name = span_text (name),
                                         .field = "name",
                                         .label = "limit of ",
                                         .past = rule ? " set" : " removed"};
    return call_change (cli, client, words, &change, quoted (change.name));
}

// -- the subcommands

static int limit_list (const struct subcommand_call *request)
{
    int code;
    const char *const request_words[] = {"limit", "list", NULL};
    json_t *answer = call_command (request->cli, request->client, request_words, NULL, &code);
    if (answer)
        print_limits (request->cli, json_object_get (answer, "limits"));
    json_decref (answer);
    return code;
}

static int limit_set (const struct subcommand_call *request)
{
    char rule[128];
    struct reason reason;
    int code = EXIT_DONE;
    if (!write_rule (request->options, rule, sizeof rule, &reason) ||
        is_value_misplaced (request, &reason))
        return usage_error (request->cli->argv[0], &reason);
    for (int i = 0; i < request->count && code != EXIT_NO_ANSWER; i++) {
        int result = change_limit (request->cli, request->client, request->args[i], rule);
        code = result == EXIT_DONE ? code : result;
    }
    return code;
}

static int limit_remove (const struct cli *cli, struct zplan_client *client, const char *name)
{
    return change_limit (cli, client, name, NULL);
}

static const struct subcommand_row words[] = {
    {{"list", 0, 0, "unexpected argument"}, limit_list, NULL},
    {{"set", 1, INT_MAX, "want the name of a target, or group:NAME"}, limit_set, NULL},
    {{"remove", 1, INT_MAX, "want the name of a target, or group:NAME"}, NULL, limit_remove},
};

int verb_limit (const struct cli *cli)
{
    struct limit_options options = {0};
    const struct usage usage = {
        .synopsis = "zplan limit [list] | set NAME... [--concurrency N] [--rate N] [--burst N] | "
                    "remove NAME...",
        .about = about,
        .groups = {OPTION_GROUP ("Limit", rows, &options)},
        .words_max = INT_MAX,
        .words = "list, set or remove",
    };
    return subcommand_run (cli, &usage, words, sizeof words / sizeof *words, &options);
}
