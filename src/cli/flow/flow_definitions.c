// zplan flow put, get, list, use, remove: definitions that the station stores.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "expr.h"
#include "flow.h"
#include "flow_send.h"
#include "flow_command.h"
#include "flow_file.h"
#include "json.h"
#include "json_values.h"
#include "print.h"
#include "text_table.h"

// -- answers

// Print a flow as JSON, with times as everywhere else.
static void print_for_programs (const struct cli *cli, const json_t *flow)
{
    json_t *copy = json_copy ((json_t *)(uintptr_t)flow);
    if (strcmp (cli->json, "wire") != 0) {
        json_object_set_new (copy, "updated_at",
                             json_instant_ms (field_number (flow, "updated") * 1000));
        json_object_del (copy, "updated");
    }
    print_answer_new (cli, JSON_ANSWER, copy);
}

// -- put, use

static void print_change (const struct cli *cli, const json_t *answer)
{
    json_int_t version = field_number (answer, "version"), used = field_number (answer, "use");
    if (cli->json) {
        print_answer (cli, JSON_ANSWER, answer);
        return;
    }
    print_between ("flow ", field_text (answer, "name"), "");
    printf (": version %" JSON_INTEGER_FORMAT "%s", version,
            field_is_true (answer, "unchanged") ? ", unchanged" : "");
    if (version == used)
        printf (", in use\n");
    else
        printf ("; version %" JSON_INTEGER_FORMAT " stays in use\n", used);
    flow_print_summary (json_object_get (answer, "check"));
}

// Read a definition. If the file exceeds the limit of a definition, its white space is removed.
static char *read_definition (const char *file, struct reason *reason)
{
    size_t size;
    char *text = flow_file_read (file, &size, reason);
    if (text && memchr (text, '\0', size)) {
        reason_set (reason, "want JSON or YAML, got a NUL byte");
    } else if (text && size <= FLOW_TEXT_MAX) {
        return text;
    } else if (text) {
        json_t *json = expr_read_json (span_of (text, size), reason);
        char *compact = json ? json_write (json) : NULL;
        json_decref (json);
        free (text);
        text = compact;
        if (text && strlen (text) <= FLOW_TEXT_MAX)
            return text;
        if (text)
            reason_set (reason, "a definition has at most %d bytes", FLOW_TEXT_MAX);
    }
    free (text);
    return NULL;
}

static int change_flow (const struct cli *cli, struct zplan_client *client,
                        const char *const *words, const char *subject)
{
    int code;
    json_t *answer = flow_send_command (cli, client, words, subject, &code);
    if (answer)
        print_change (cli, answer);
    json_decref (answer);
    return code;
}

int flow_store_text (const struct cli *cli, struct zplan_client *client, const char *text,
                     const char *last, const char *subject)
{
    return change_flow (cli, client, (const char *[]){"put", text, last, NULL}, subject);
}

int flow_put (const struct cli *cli, const struct flow_wish *wish)
{
    int code;
    struct reason reason;
    const char *file = wish->words[0];
    char *text = read_definition (file, &reason);
    if (!text)
        return complain (file, span_text (reason.text));
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = flow_store_text (cli, client, text, wish->count > 1 ? wish->words[1] : NULL, file);
    zplan_client_destroy (&client);
    free (text);
    return code;
}

int flow_use (const struct cli *cli, const struct flow_wish *wish)
{
    const char *const words[] = {"use", wish->words[0], wish->words[1], NULL};
    return change_flow (cli, wish->client, words, words[1]);
}

// -- get

int flow_get (const struct cli *cli, const struct flow_wish *wish)
{
    int code;
    const char *const words[] = {"get", wish->words[0], wish->count > 1 ? wish->words[1] : NULL,
                                 NULL};
    json_t *answer = flow_send_command (cli, wish->client, words, words[1], &code);
    if (answer && cli->json) {
        print_for_programs (cli, answer);
    } else if (answer) {
        // In a form that `flow put` accepts; on a terminal control characters are escaped.
        json_dumpf (json_object_get (answer, "definition"), stdout,
                    JSON_INDENT (2) | (isatty (STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
        putchar ('\n');
    }
    json_decref (answer);
    return code;
}

// -- list

static const struct column columns[] = {
    COLUMN ("FLOW", 24, .rule = COLUMN_WHOLE, .field = "name"),
    COLUMN ("IN USE", 6, .field = "use", .write = column_number),
    COLUMN ("LAST", 5, .field = "last", .write = column_number),
    COLUMN ("STEPS", 5, .field = "steps", .write = column_number),
    COLUMN ("CALLS", 7, .field = "steps_max", .write = column_number),
    COLUMN ("UPDATED", 0, .rule = COLUMN_REST, .field = "updated", .write = column_time),
};

int flow_list (const struct cli *cli, const struct flow_wish *wish)
{
    struct text_table *table =
        cli->json ? NULL : table_new (columns, sizeof columns / sizeof *columns, stdout);
    json_t *pattern = wish->count ? json_from_frame (span_text (wish->words[0])) : NULL, *flow;
    struct flow_items flows =
        flow_items (cli, wish->client, "list", json_pack ("{s:o*}", "name", pattern));
    while ((flow = flow_items_next (&flows)))
        if (cli->json)
            print_for_programs (cli, flow);
        else
            table_add_row (table, flow);
    int code = flow_items_end (&flows);
    (code == EXIT_DONE ? table_end : table_end_if_rows) (&table);
    return code;
}

int flow_print_names (const struct cli *cli, struct zplan_client *client)
{
    const json_t *flow;
    struct flow_items flows = flow_items (cli, client, "list", json_object ());
    while ((flow = flow_items_next (&flows)))
        print_between ("", field_text (flow, "name"), "\n");
    return flow_items_end (&flows);
}

// -- remove

static int remove_flow (const struct cli *cli, struct zplan_client *client, const char *name)
{
    int code;
    json_t *answer =
        flow_send_command (cli, client, (const char *[]){"remove", name, NULL}, name, &code);
    if (answer && cli->json) {
        json_object_set_new (answer, "name", json_from_frame (span_text (name)));
        json_object_set_new (answer, "done", json_string ("remove"));
        print_answer (cli, JSON_ANSWER, answer);
    } else if (answer) {
        print_between ("flow ", span_text (name), " removed\n");
    }
    json_decref (answer);
    return code;
}

int flow_remove (const struct cli *cli, const struct flow_wish *wish)
{
    return call_for_each_argument (cli, wish->client, wish->words, wish->count, remove_flow);
}
