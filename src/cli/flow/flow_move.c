// zplan flow export, import: writes all definitions in use to a file, and reads them back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "flow.h"
#include "flow_command.h"
#include "flow_file.h"
#include "flow_run_view.h"
#include "flow_stored.h"
#include "json.h"
#include "memory.h"
#include "print.h"

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

int flow_export (const struct cli *cli, const struct flow_wish *wish)
{
    if (wish->count)
        return call_for_each_argument (cli, wish->client, wish->words, wish->count, export_flow);
    size_t i;
    json_t *names = json_array (), *name;
    const json_t *flow;
    struct flow_items flows = flow_items (cli, wish->client, "list", json_object ());
    while ((flow = flow_items_next (&flows)))
        json_array_append (names, json_object_get (flow, "name"));
    int code = flow_items_end (&flows);
    bool listed = code == EXIT_DONE;
    json_array_foreach (names, i, name)
    {
        if (!listed || code == EXIT_NO_ANSWER)
            break;
        int one = export_flow (cli, wish->client, json_string_value (name));
        code = one == EXIT_DONE ? code : one;
    }
    json_decref (names);
    return code;
}

// -- import

struct moved {
    char *text; // the definition to be put
    json_t *json;
    enum { MOVED_NEW, MOVED_PENDING, MOVED_DONE } mark;
};

struct move {
    const struct cli *cli;
    struct zplan_client *client;
    const char *file;
    struct moved *flows;
    size_t count, room;
    json_t *places; // flow name -> its index in `flows`
    int code;
};

static void move_add (struct move *self, json_t *json, const char *text, size_t size)
{
    const char *name = json_string_value (json_object_get (json, "flow"));
    self->flows = memory_grow (self->flows, self->count, &self->room, sizeof *self->flows);
    if (name)
        json_object_set_new (self->places, name, json_integer ((json_int_t)self->count));
    self->flows[self->count++] = (struct moved){
        .text = text ? strndup (text, size) : json_write (json), .json = json_incref (json)};
}

// Read JSON objects, one per line, or an array of them, or a single one of several lines. False:
// the text is invalid, and the error was printed.
static bool move_read (struct move *self, const char *text, size_t size)
{
    size_t at = 0, i;
    while ((at += strspn (text + at, " \t\r\n")) < size) {
        json_error_t error;
        json_t *json = json_loadb (text + at, size - at,
                                   JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error),
               *one;
        struct reason reason;
        size_t read = (size_t)error.position;
        if (json_is_object (json))
            move_add (self, json, text + at, read);
        json_array_foreach (json, i, one) move_add (self, one, NULL, 0);
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

static void move_put (struct move *self, size_t place);

// If the target is a flow of this file, put that flow first.
static void put_target (void *owner, const char *target)
{
    struct move *self = owner;
    const json_t *place = json_object_get (self->places, target);
    if (place)
        move_put (self, (size_t)json_integer_value (place));
}

static void move_put (struct move *self, size_t place)
{
    if (self->flows[place].mark != MOVED_NEW || self->code == EXIT_NO_ANSWER)
        return;
    self->flows[place].mark = MOVED_PENDING; // reached again: a cycle, which the station rejects
    const json_t *json = self->flows[place].json;
    flow_stored_targets (json, put_target, self);
    self->flows[place].mark = MOVED_DONE;
    const char *name = json_string_value (json_object_get (json, "flow"));
    int code = flow_store_text (self->cli, self->client, self->flows[place].text, NULL,
                                name ? name : self->file);
    self->code = code == EXIT_DONE ? self->code : code;
}

int flow_import (const struct cli *cli, const struct flow_wish *wish)
{
    enum { IMPORT_MAX = (1 << 30) - 1 };
    const char *file = wish->words[0];
    size_t size;
    struct reason reason;
    struct move move = {.cli = cli, .file = file, .code = EXIT_REFUSED};
    char *text = flow_file_bytes (file, IMPORT_MAX, "1 GiB", &size, &reason);
    if (!text)
        return complain (file, span_text (reason.text));
    move.places = json_object ();
    bool good = move_read (&move, text, size);
    if (good)
        move.client = call_open (cli, &move.code);
    for (size_t i = 0; move.client && i < move.count; i++)
        move_put (&move, i);
    for (size_t i = 0; i < move.count; i++) {
        free (move.flows[i].text);
        json_decref (move.flows[i].json);
    }
    zplan_client_destroy (&move.client);
    json_decref (move.places);
    free (move.flows);
    free (text);
    return move.code;
}
