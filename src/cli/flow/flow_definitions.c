// zplan flow put, use, get, list, remove, export, import: definitions that the station stores.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expr.h"
#include "flow_command.h"
#include "flow_file.h"
#include "flow_send.h"
#include "flow_stored.h"
#include "json.h"
#include "json_values.h"
#include "memory.h"
#include "print.h"
#include "text_table.h"

// -- answers

// Print a flow as JSON; its time is RFC 3339, or with --json=wire unchanged.
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

// Make this text the next version of its flow; errors name `subject` as its source. Returns an
// exit code.
static int store_text (const struct cli *cli, struct zplan_client *client, const char *text,
                       const char *last, const char *subject)
{
    return change_flow (cli, client, (const char *[]){"put", text, last, NULL}, subject);
}

int flow_put (const struct cli *cli, const struct flow_options *options)
{
    int code;
    struct reason reason;
    const char *file = options->words[0];
    char *text = read_definition (file, &reason);
    if (!text)
        return complain (file, span_text (reason.text));
    struct zplan_client *client = call_open (cli, &code);
    if (client)
        code = store_text (cli, client, text, options->count > 1 ? options->words[1] : NULL, file);
    zplan_client_destroy (&client);
    free (text);
    return code;
}

int flow_use (const struct cli *cli, const struct flow_options *options)
{
    const char *const words[] = {"use", options->words[0], options->words[1], NULL};
    return change_flow (cli, options->client, words, words[1]);
}

// -- get

int flow_get (const struct cli *cli, const struct flow_options *options)
{
    int code;
    const char *const words[] = {"get", options->words[0],
                                 options->count > 1 ? options->words[1] : NULL, NULL};
    json_t *answer = flow_send_command (cli, options->client, words, words[1], &code);
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

int flow_list (const struct cli *cli, const struct flow_options *options)
{
    struct text_table *table =
        cli->json ? NULL : table_new (columns, sizeof columns / sizeof *columns, stdout);
    json_t *pattern = options->count ? json_from_frame (span_text (options->words[0])) : NULL,
           *flow;
    struct flow_items flows =
        flow_items (cli, options->client, "list", json_pack ("{s:o*}", "name", pattern));
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

int flow_remove (const struct cli *cli, const struct flow_options *options)
{
    return call_for_each_argument (cli, options->client, options->words, options->count,
                                   remove_flow);
}

// -- export

static int export_flow (const struct cli *cli, struct zplan_client *client, const char *name)
{
    struct zplan_reply reply;
    const char *const request_words[] = {"get", name};
    int outcome = zplan_client_manage (client, "flow", request_words, 2, &reply);
    int code = call_report (cli, outcome, &reply, name);
    if (code != EXIT_DONE)
        return code;
    if (flow_stored_write (stdout, call_frame (&reply, ZERO_FRAME_JSON))) {
        putchar ('\n');
        return EXIT_DONE;
    }
    return complain (name, span_text ("the station sent no definition"));
}

int flow_export (const struct cli *cli, const struct flow_options *options)
{
    if (options->count)
        return call_for_each_argument (cli, options->client, options->words, options->count,
                                       export_flow);
    size_t i;
    json_t *names = json_array (), *name;
    const json_t *flow;
    struct flow_items flows = flow_items (cli, options->client, "list", json_object ());
    while ((flow = flow_items_next (&flows)))
        json_array_append (names, json_object_get (flow, "name"));
    int code = flow_items_end (&flows);
    bool listed = code == EXIT_DONE;
    json_array_foreach (names, i, name)
    {
        if (!listed || code == EXIT_NO_ANSWER)
            break;
        int result = export_flow (cli, options->client, json_string_value (name));
        code = result == EXIT_DONE ? code : result;
    }
    json_decref (names);
    return code;
}

// -- import

struct imported_flow {
    char *text; // the definition as it is sent
    json_t *json;
    enum { IMPORT_NEW, IMPORT_PENDING, IMPORT_DONE } mark;
};

struct definitions_import {
    const struct cli *cli;
    struct zplan_client *client;
    const char *file;
    struct imported_flow *flows;
    size_t count, room;
    json_t *places; // flow name -> its index in `flows`
    int depth;      // of import_put
    int code;
};

enum { IMPORT_DEPTH_MAX = 1000 }; // depth of calls; deeper flows are put in the file's order

static void import_add (struct definitions_import *self, json_t *json, const char *text,
                        size_t size)
{
    const char *name = json_string_value (json_object_get (json, "flow"));
    self->flows = memory_grow (self->flows, self->count, &self->room, sizeof *self->flows);
    if (name)
        json_object_set_new (self->places, name, json_integer ((json_int_t)self->count));
    self->flows[self->count++] = (struct imported_flow){
        .text = text ? strndup (text, size) : json_write (json), .json = json_incref (json)};
}

// Read definitions: JSON objects, or arrays of them, one after the other. False: the text is
// invalid, and the error was printed.
static bool import_read (struct definitions_import *self, const char *text, size_t size)
{
    size_t at = 0, i;
    while ((at += strspn (text + at, " \t\r\n")) < size) {
        json_error_t error;
        json_t *json = json_loadb (text + at, size - at,
                                   JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error),
               *definition;
        struct reason reason;
        size_t read = (size_t)error.position;
        if (json_is_object (json))
            import_add (self, json, text + at, read);
        json_array_foreach (json, i, definition) import_add (self, definition, NULL, 0);
        json_decref (json);
        if (!json) {
            reason_set (
                &reason,
                "byte %zu: want definitions as JSON, as `zplan flow export` writes them: %s",
                at + read, error.text);
            complain (self->file, span_text (reason.text));
            return false;
        }
        at += read;
    }
    return true;
}

static void import_put (struct definitions_import *self, size_t place);

// If the target is a flow of this file, put that flow first.
static void put_called_flow (void *owner, const char *target)
{
    struct definitions_import *self = owner;
    const json_t *place = json_object_get (self->places, target);
    if (place && self->depth < IMPORT_DEPTH_MAX)
        import_put (self, (size_t)json_integer_value (place));
}

static void import_put (struct definitions_import *self, size_t place)
{
    if (self->flows[place].mark != IMPORT_NEW || self->code == EXIT_NO_ANSWER)
        return;
    self->flows[place].mark = IMPORT_PENDING; // reached again: a cycle, which the station rejects
    const json_t *json = self->flows[place].json;
    self->depth++;
    flow_stored_targets (json, put_called_flow, self);
    self->depth--;
    self->flows[place].mark = IMPORT_DONE;
    const char *name = json_string_value (json_object_get (json, "flow"));
    int code = store_text (self->cli, self->client, self->flows[place].text, NULL,
                           name ? name : self->file);
    self->code = code == EXIT_DONE ? self->code : code;
}

int flow_import (const struct cli *cli, const struct flow_options *options)
{
    enum { IMPORT_MAX = (1 << 30) - 1 };
    const char *file = options->words[0];
    size_t size;
    struct reason reason;
    struct definitions_import import = {.cli = cli, .file = file, .code = EXIT_REFUSED};
    char *text = flow_file_bytes (file, IMPORT_MAX, "1 GiB", &size, &reason);
    if (!text)
        return complain (file, span_text (reason.text));
    import.places = json_object ();
    bool good = import_read (&import, text, size);
    if (good)
        import.client = call_open (cli, &import.code);
    for (size_t i = 0; import.client && i < import.count; i++)
        import_put (&import, i);
    for (size_t i = 0; i < import.count; i++) {
        free (import.flows[i].text);
        json_decref (import.flows[i].json);
    }
    zplan_client_destroy (&import.client);
    json_decref (import.places);
    free (import.flows);
    free (text);
    return import.code;
}
