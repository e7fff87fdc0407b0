// zplan flow show: a run and its steps, those of sub-flows below the step that calls them.
#include <stdio.h>
#include <stdlib.h>

#include "flow_command.h"
#include "flow_run_view.h"
#include "print.h"
#include "text_table.h"
#include "terms_show.h"

enum { DEPTH_MAX = 16, VALUE_SHOWN = 200 }; // VALUE_SHOWN: bytes of a value in the table

// -- the run

static void print_json_row (const char *label, const json_t *value)
{
    if (!value || (json_is_object (value) && !json_object_size (value)))
        return;
    terms_label (label);
    print_json (value);
}

static void print_text_row (const char *label, struct span text)
{
    terms_label (label);
    print_between ("", text, "\n");
}

static void print_time_row (const char *label, const json_t *ms)
{
    int64_t time_ms = json_integer_value (ms);
    json_t *seconds = time_ms ? json_integer (time_ms / 1000) : NULL;
    print_text_row (label, span_text (time_line_text (seconds)));
    json_decref (seconds);
}

static void print_head (const json_t *run)
{
    size_t i;
    const json_t *name, *error = json_object_get (run, "error");
    const json_t *failed = json_object_get (run, "failed");
    flow_run_print_state (run);
    if (json_object_get (run, "undo_parked")) {
        terms_label ("undo");
        flow_run_print_parked (stdout, run);
    }
    terms_label ("version");
    printf ("%" JSON_INTEGER_FORMAT "\n", field_number (run, "version"));
    print_text_row ("plan", field_text (run, "plan"));
    if (json_object_get (run, "batch"))
        print_text_row ("batch", field_text (run, "batch"));
    print_time_row ("began", json_object_get (run, "began_ms"));
    if (field_number (run, "ended_ms"))
        print_time_row ("ended", json_object_get (run, "ended_ms"));
    print_json_row ("params", json_object_get (run, "params"));
    print_json_row ("input", json_object_get (run, "input"));
    print_json_row ("output", json_object_get (run, "output"));
    json_array_foreach (failed, i, name)
    {
        if (i == 0)
            terms_label ("failed");
        print_between (i ? ", " : "", text_of (name), "");
    }
    if (json_array_size (failed))
        putchar ('\n');
    if (field_number (run, "failures") > (json_int_t)json_array_size (failed)) {
        terms_label ("failures");
        printf ("%" JSON_INTEGER_FORMAT ", handled ones included\n",
                field_number (run, "failures"));
    }
    if (error) {
        terms_label ("error");
        write_error (stdout, text_of (error));
        putchar ('\n');
    }
}

// -- the steps

static void write_step (FILE *out, const json_t *row)
{
    fprintf (out, "%*s", 2 * (int)field_number (row, "depth"), "");
    write_bytes (out, field_text (row, "step"));
}

static void write_part (FILE *out, bool *first, const char *before)
{
    fprintf (out, "%s%s", *first ? "" : "; ", before);
    *first = false;
}

static void write_items (FILE *out, const json_t *items)
{
    static const char *const names[] = {"finished", "failed", "in_flight", "undone"};
    static const char *const words[] = {"finished", "failed", "in flight", "undone"};
    size_t i;
    const json_t *error, *errors = json_object_get (items, "errors");
    fprintf (out, "%" JSON_INTEGER_FORMAT " items", field_number (items, "count"));
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        json_int_t count = field_number (items, names[i]);
        if (count)
            fprintf (out, ", %" JSON_INTEGER_FORMAT " %s", count, words[i]);
    }
    json_array_foreach (errors, i, error)
    {
        fprintf (out, "%s%" JSON_INTEGER_FORMAT " ",
                 i ? ", " : "; failed: ", field_number (error, "item"));
        write_error (out, field_text (error, "error"));
    }
    if (field_number (items, "failed") > (json_int_t)json_array_size (errors))
        fputs (", ...", out);
}

static void write_value (FILE *out, const json_t *value)
{
    char *text = NULL;
    size_t size;
    FILE *memory = text_open (&text, &size);
    write_json (memory, value);
    fclose (memory);
    fprintf (out, "%.*s%s", VALUE_SHOWN, text, size > VALUE_SHOWN ? "..." : "");
    free (text);
}

static void write_detail (FILE *out, const json_t *row)
{
    static const char *const texts[] = {"why", "error"};
    bool first = true;
    const json_t *sub = json_object_get (row, "run"), *value = json_object_get (row, "value"),
                 *undo = json_object_get (row, "undo"),
                 *undo_item = json_object_get (row, "undo_item");
    if (json_object_get (row, "by"))
        write_part (out, &first, "by an operator");
    if (json_object_get (row, "items")) {
        write_part (out, &first, "");
        write_items (out, json_object_get (row, "items"));
    }
    if (undo) {
        write_part (out, &first, undo_item ? "undo " : "");
        if (undo_item)
            fprintf (out, "of item %" JSON_INTEGER_FORMAT " ", json_integer_value (undo_item));
        write_bytes (out, text_of (undo));
    }
    if (sub) {
        write_part (out, &first, "run ");
        write_bytes (out, text_of (sub));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (json_object_get (row, texts[i])) {
            write_part (out, &first, "");
            write_error (out, field_text (row, texts[i]));
        }
    if (json_object_get (row, "not_kept"))
        write_part (out, &first, "its value was too large to keep");
    if (value) {
        write_part (out, &first, "");
        write_value (out, value);
    }
}

static const struct column columns[] = {
    COLUMN ("STEP", 24, .rule = COLUMN_WHOLE, .write = write_step),
    COLUMN ("STATE", 9, .field = "state", .colour = flow_state_colour),
    COLUMN ("DETAIL", 0, .rule = COLUMN_REST, .write = write_detail),
};

struct tree {
    const struct cli *cli;
    struct zplan_client *client;
    const char *state; // show only steps in this state; NULL: all
    struct text_table *table;
};

// Add a row for each step, with the steps of its sub-run below it.
static void add_steps (struct tree *self, const json_t *run, int depth)
{
    size_t i;
    json_t *step;
    json_array_foreach (json_object_get (run, "steps"), i, step)
    {
        struct verdict ignored; // a sub-run that no longer exists has no steps
        const char *sub = json_string_value (json_object_get (step, "run"));
        json_object_set_new (step, "depth", json_integer (depth));
        table_add_row (self->table, step);
        json_t *inner = sub && depth < DEPTH_MAX
                            ? flow_run_show (self->cli, self->client, sub, self->state, &ignored)
                            : NULL;
        add_steps (self, inner, depth + 1);
        json_decref (inner);
    }
}

static void print_tree (const struct cli *cli, struct zplan_client *client, const json_t *run,
                        const char *state)
{
    struct tree tree = {cli, client, state,
                        table_new (columns, sizeof columns / sizeof *columns, stdout)};
    print_head (run);
    putchar ('\n');
    add_steps (&tree, run, 0);
    table_end (&tree.table);
}

int flow_show (const struct cli *cli, const struct flow_options *options)
{
    char name[IDENT_SIZE];
    struct verdict verdict;
    if (options->graph)
        return flow_draw_run (cli, options->client, options);
    int code = flow_run_read (cli, options->client, options->words[0], options->flow, name);
    if (code != EXIT_DONE)
        return code;
    json_t *run = flow_run_show (cli, options->client, name, options->steps, &verdict);
    if (!run)
        code = flow_report_refusal (cli, &verdict, name, NULL);
    else if (cli->json)
        flow_run_print_json (cli, run);
    else
        print_tree (cli, options->client, run, options->steps);
    json_decref (run);
    return code;
}

int flow_print_steps (const struct cli *cli, struct zplan_client *client)
{
    size_t i;
    char name[IDENT_SIZE];
    struct verdict verdict;
    json_t *step;
    int code = flow_run_read (cli, client, cli->argv[2], NULL, name);
    if (code != EXIT_DONE)
        return code;
    json_t *run = flow_run_show (cli, client, name, NULL, &verdict);
    if (!run)
        code = verdict_print (&verdict, name);
    json_array_foreach (json_object_get (run, "steps"), i, step)
    {
        print_bytes (field_text (step, "step"));
        print_between ("\t", field_text (step, "state"), "\n");
    }
    json_decref (run);
    return code;
}
