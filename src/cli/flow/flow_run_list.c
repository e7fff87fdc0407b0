// zplan flow runs, and functions that all commands about runs share.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_command.h"
#include "flow_run_view.h"
#include "json.h"
#include "json_values.h"
#include "print.h"
#include "text_table.h"

enum { PAGE_MAX = 1000, RUNS_DEFAULT = 50 };

// -- states

enum colour flow_state_colour (const json_t *state)
{
    static const struct {
        const char *name;
        enum colour colour;
    } rows[] = {{"finished", GREEN}, {"running", CYAN}, {"accepted", CYAN}, {"failed", RED},
                {"blocked", RED},    {"timeout", RED},  {"cancelled", RED}, {"suspended", YELLOW},
                {"undoing", YELLOW}, {"skipped", DIM},  {"none", DIM},      {"undone", YELLOW},
                {"parked", RED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (span_is (text_of (state), rows[i].name))
            return rows[i].colour;
    return PLAIN;
}

bool flow_run_has_ended (const json_t *run)
{
    static const char *const ends[] = {"finished", "failed", "cancelled", "timeout"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (span_is (field_text (run, "state"), ends[i]))
            return true;
    return false;
}

void flow_run_print_parked (FILE *out, const json_t *run)
{
    static const char *const parts[] = {"the run waits: zplan flow reset ",
                                        " tries the undo again, zplan flow done "};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        fputs (parts[i], out);
        write_bytes (out, field_text (run, "run"));
        fputc ('/', out);
        write_bytes (out, field_text (run, "undo_parked"));
    }
    fputs (" goes on without it\n", out);
}

void flow_run_print_state (const json_t *run)
{
    const json_t *state = json_object_get (run, "state");
    print_between ("run ", field_text (run, "run"), " of flow ");
    print_between ("", field_text (run, "flow"), ": ");
    write_coloured (stdout, flow_state_colour (state), text_of (state));
    if (field_is_true (run, "suspended") && !span_is (text_of (state), "suspended"))
        printf (", suspended");
    if (json_object_get (run, "undo_parked"))
        print_between (", the undo of ", field_text (run, "undo_parked"), " has failed");
    putchar ('\n');
}

void flow_run_print_json (const struct cli *cli, const json_t *run)
{
    static const struct {
        const char *wire, *name;
    } times[] = {{"began_ms", "began_at"},
                 {"updated_ms", "updated_at"},
                 {"ended_ms", "ended_at"},
                 {"at", "at"}};
    if (strcmp (cli->json, "wire") == 0) {
        print_json (run);
        return;
    }
    json_t *copy = json_object (), *value;
    const char *name;
    json_object_foreach ((json_t *)(uintptr_t)run, name, value)
    {
        const char *shown = name;
        json_t *instant = NULL;
        for (size_t i = 0; i < sizeof times / sizeof *times; i++)
            if (strcmp (name, times[i].wire) == 0 && json_is_integer (value)) {
                shown = times[i].name;
                instant = json_integer_value (value) ? json_instant_ms (json_integer_value (value))
                                                     : json_null ();
            }
        json_object_set_new (copy, shown, instant ? instant : json_incref (value));
    }
    print_json_new (copy);
}

// -- requests

json_t *flow_run_show (const struct cli *cli, struct zplan_client *client, const char *run,
                       const char *state, struct verdict *ret)
{
    json_t *whole = NULL, *filter = json_pack ("{s:s*}", "state", state);
    for (bool more = true; more;) {
        char *text = json_write (filter);
        json_t *page =
            flow_send_command_quietly (cli, client, (const char *[]){"show", run, text, NULL}, ret);
        free (text);
        more = flow_page_next (page, filter);
        if (page && whole) {
            json_array_extend (json_object_get (whole, "steps"), json_object_get (page, "steps"));
            json_decref (page);
        } else {
            json_decref (whole);
            whole = page;
        }
    }
    json_object_del (whole, "next");
    json_decref (filter);
    return whole;
}

// -- last

static int read_newest_run (const struct cli *cli, struct zplan_client *client, const char *flow,
                            char out[IDENT_SIZE])
{
    uint64_t id = 0;
    const json_t *run;
    struct flow_items runs = flow_items (cli, client, "runs", json_pack ("{s:s*}", "flow", flow));
    while (!id && (run = flow_items_next (&runs)))
        if (flow || !json_object_get (run, "parent"))
            ident_parse (field_text (run, "run"), &id);
    int code = flow_items_end (&runs);
    if (id)
        ident_text (id, out);
    if (id || code != EXIT_DONE)
        return code;
    struct verdict none = verdict_refused ("no run is known");
    return verdict_print (&none, flow ? flow : "last");
}

int flow_run_read (const struct cli *cli, struct zplan_client *client, const char *text,
                   const char *flow, char out[IDENT_SIZE])
{
    uint64_t id;
    struct reason reason;
    if (strcmp (text, "last") == 0)
        return read_newest_run (cli, client, flow, out);
    if (ident_parse (span_text (text), &id)) {
        ident_text (id, out);
        return EXIT_DONE;
    }
    reason_set (&reason,
                "want RUN: a number in hex, as `zplan flow runs` prints it, or last; got %s",
                quoted (span_text (text)));
    return usage_error (cli->argv[0], &reason);
}

// -- runs

static void write_string_cell (FILE *out, const json_t *word)
{
    if (json_is_string (word))
        write_bytes (out, text_of (word));
    else
        fputc ('-', out);
}

static void write_run_duration (FILE *out, const json_t *run)
{
    json_int_t began = field_number (run, "began_ms");
    json_int_t ended = field_number (run, "ended_ms");
    if (ended && ended >= began)
        fprintf (out, "%.3f s", (double)(ended - began) / 1000);
    else
        fputc ('-', out);
}

static const struct column columns[] = {
    COLUMN ("RUN", 6, .rule = COLUMN_WHOLE, .field = "run", .write = write_string_cell),
    COLUMN ("FLOW", 20, .rule = COLUMN_SHORT, .least = 8, .field = "flow",
            .write = write_string_cell),
    COLUMN ("VERSION", 7, .may_omit = true, .field = "version", .write = column_number),
    COLUMN ("STATE", 9, .field = "state", .write = write_string_cell, .colour = flow_state_colour),
    COLUMN ("BEGAN", 20, .field = "began_ms", .write = column_time_ms),
    COLUMN ("TOOK", 10, .write = write_run_duration),
    COLUMN ("PLAN", 0, .rule = COLUMN_REST, .field = "plan", .write = write_string_cell),
};

int flow_runs (const struct cli *cli, const struct flow_options *options)
{
    int64_t left = options->rows ? options->rows : RUNS_DEFAULT;
    json_t *run;
    struct text_table *table =
        cli->json ? NULL : table_new (columns, sizeof columns / sizeof *columns, stdout);
    struct flow_items runs =
        flow_items (cli, options->client, "runs",
                    json_pack ("{s:i, s:s*, s:s*}", "limit", left < PAGE_MAX ? (int)left : PAGE_MAX,
                               "flow", options->flow, "state", options->state));
    while (left-- > 0 && (run = flow_items_next (&runs)))
        if (cli->json)
            flow_run_print_json (cli, run);
        else
            table_add_row (table, run);
    int code = flow_items_end (&runs);
    (code == EXIT_DONE ? table_end : table_end_if_rows) (&table);
    return code;
}

int flow_print_runs (const struct cli *cli, struct zplan_client *client)
{
    enum { RUNS_OFFERED = 50 };
    const json_t *run;
    struct flow_items runs =
        flow_items (cli, client, "runs", json_pack ("{s:i}", "limit", RUNS_OFFERED));
    for (int i = 0; i < RUNS_OFFERED && (run = flow_items_next (&runs)); i++) {
        print_bytes (field_text (run, "run"));
        print_between ("\t", field_text (run, "flow"), ", ");
        print_between ("", field_text (run, "state"), "\n");
    }
    return flow_items_end (&runs);
}
