// zplan kind: fields that all plans of one kind share, stored by the station under a name.
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "json.h"
#include "memory.h"
#include "options.h"
#include "print.h"
#include "text_table.h"

static const char about[] =
    "The kinds of plans: list them (also without a word), get some, put one in, remove\n"
    "some. A kind is fields of a plan under a name, as a JSON object: retry, timeout,\n"
    "misfire, misfire_window, overlap_policy, on_failure, callback, log, priority, group,\n"
    "workers, category, ext. A plan that names its kind has them, unless it says otherwise\n"
    "itself; a change is for plans that come later. FIELDS of - are read from standard\n"
    "input.\n\n"
    "  zplan kind put transcode '{\"timeout\": 600, \"category\": \"media\"}'\n"
    "  zplan kind put transcode - <transcode.json\n"
    "  zplan kind list\n"
    "  zplan kind get transcode --json | jq .fields\n"
    "  zplan kind remove transcode\n";

// -- output

// Write the fields of a kind; one that is invalid in Redis has none.
static void write_fields (FILE *out, const json_t *fields)
{
    if (!json_is_object (fields)) {
        fputs ("cannot be read", out);
        return;
    }
    write_json (out, fields);
}

static const struct column columns[] = {
    COLUMN ("KIND", 16, .rule = COLUMN_WHOLE, .field = "kind"),
    COLUMN ("FIELDS", 0, .rule = COLUMN_REST, .field = "fields", .write = write_fields),
};

static int compare_kind_names (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}

// Print the kinds sorted by name: the station returns them unordered.
static void print_kinds (const struct cli *cli, const json_t *kinds)
{
    size_t count = 0;
    const char *name;
    json_t *fields;
    const char **names = memory_new ((json_object_size (kinds) + 1) * sizeof *names);
    json_t *list = json_array ();
    json_object_foreach ((json_t *)(uintptr_t)kinds, name, fields) names[count++] = name;
    qsort (names, count, sizeof *names, compare_kind_names);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new (list, json_pack ("{s:s, s:O*}", "kind", names[i], "fields",
                                                json_object_get (kinds, names[i])));
    }
    table_print (cli, JSON_ANSWER, columns, sizeof columns / sizeof *columns, list);
    json_decref (list);
    free (names);
}

// -- list, get, remove

// List all kinds, or get those that are named.
static int list_kinds (const struct subcommand_call *request)
{
    int code = EXIT_DONE, next = 0;
    json_t *found = json_object ();
    do {
        int result;
        const char *name = request->count ? request->args[next] : NULL;
        const char *const request_words[] = {"kind", name ? "get" : "list", name, NULL};
        json_t *answer = call_command (request->cli, request->client, request_words,
                                       name ? quoted (span_text (name)) : NULL, &result);
        json_object_update (found, json_object_get (answer, "kinds"));
        json_decref (answer);
        code = result == EXIT_DONE ? code : result;
    } while (++next < request->count && code != EXIT_NO_ANSWER);
    if (code == EXIT_DONE || json_object_size (found) > 0)
        print_kinds (request->cli, found);
    json_decref (found);
    return code;
}

// Store the fields of a kind; NULL: remove the kind.
static int kind_change (const struct cli *cli, struct zplan_client *client, const char *name,
                        const char *fields)
{
    const char *word = fields ? "put" : "remove";
    const struct change_report change = {.name = span_text (name),
                                         .field = "kind",
                                         .label = "kind ",
                                         .past = fields ? " kept" : " removed"};
    return call_change (cli, client, (const char *[]){"kind", word, name, fields, NULL}, &change,
                        quoted (change.name));
}

static int remove_kind (const struct cli *cli, struct zplan_client *client, const char *name)
{
    return kind_change (cli, client, name, NULL);
}

// -- put

enum { FIELDS_MAX = 65536 }; // the station accepts less

// Read standard input, NUL-terminated. NULL with a reason.
static char *read_input (struct reason *reason)
{
    char *text = memory_new (FIELDS_MAX + 1);
    size_t size = fread (text, 1, FIELDS_MAX + 1, stdin);
    if (ferror (stdin))
        reason_set (reason, "stdin: cannot be read");
    else if (size > FIELDS_MAX)
        reason_set (reason, "stdin: at most %d bytes", FIELDS_MAX);
    else if (memchr (text, '\0', size))
        reason_set (reason, "stdin: want JSON, got a NUL byte");
    else {
        text[size] = '\0';
        return text;
    }
    free (text);
    return NULL;
}

static int kind_put (const struct subcommand_call *request)
{
    struct reason reason;
    const char *name = request->args[0], *given = request->args[1];
    bool from_stdin = strcmp (given, "-") == 0;
    char *input = from_stdin ? read_input (&reason) : NULL;
    const char *fields = from_stdin ? input : given;
    json_t *object = fields ? json_read_object (span_text (fields), &reason) : NULL;
    int code = object ? kind_change (request->cli, request->client, name, fields)
                      : usage_error (request->cli->argv[0], &reason);
    json_decref (object);
    free (input);
    return code;
}

static const struct subcommand_row rows[] = {
    {{"list", 0, 0, "unexpected argument"}, list_kinds, NULL},
    {{"get", 1, INT_MAX, "want at least one kind"}, list_kinds, NULL},
    {{"put", 2, 2, "want a name, and fields as JSON or -"}, kind_put, NULL},
    {{"remove", 1, INT_MAX, "want at least one kind"}, NULL, remove_kind},
};

int verb_kind (const struct cli *cli)
{
    const struct usage usage = {
        .synopsis = "zplan kind [list] | get NAME... | put NAME FIELDS | remove NAME...",
        .about = about,
        .words_max = INT_MAX,
        .words = "list, get, put or remove",
    };
    return subcommand_run (cli, &usage, rows, sizeof rows / sizeof *rows, NULL);
}
