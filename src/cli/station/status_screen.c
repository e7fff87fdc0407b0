// Each part is a table. The tables and the lines around them are cut to the terminal's width.
#include "status_screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"
#include "print.h"
#include "text_table.h"
#include "width.h"

// -- a line

// Print `text` between the other two texts, cut so that the line fits. `used` columns of the line
// are already filled.
static void print_cut (int used, const char *before, const char *text, const char *after)
{
    char *safe = NULL;
    size_t size;
    int columns = display_get ()->columns;
    FILE *memory = text_open (&safe, &size);
    write_bytes (memory, span_text (text));
    fclose (memory);
    struct span shown = span_of (safe, size);
    int room = columns - used - text_width (span_text (before)) - text_width (span_text (after));
    bool cut = columns > 0 && text_width (shown) > room;
    if (cut)
        shown.size = text_fit (shown, room > 1 ? room - 1 : 0);
    printf ("%s%.*s%s%s\n", before, (int)shown.size, safe, cut ? "\xe2\x80\xa6" : "", after);
    free (safe);
}

// The finding to show: the first problem, or the first warning of a healthy station.
static const char *first_finding (const json_t *findings, bool healthy)
{
    size_t i;
    const json_t *finding;
    json_array_foreach (findings, i, finding)
    {
        const char *text = json_string_value (json_object_get (finding, "text"));
        if (text && (healthy || span_is (field_text (finding, "level"), "problem")))
            return text;
    }
    return "";
}

static void print_health (const struct status *self)
{
    char after[48] = "";
    const json_t *findings = json_object_get (self->health, "findings");
    bool healthy = field_is_true (self->health, "healthy");
    const char *word = healthy ? "healthy" : "not healthy";
    size_t count = json_array_size (findings);
    if (!self->health)
        return;
    write_coloured (stdout, healthy ? GREEN : RED, span_text (word));
    if (count == 0) {
        putchar ('\n');
        return;
    }
    snprintf (after, sizeof after, count > 1 ? " (and %zu more: zplan doctor)" : " (zplan doctor)",
              count - 1);
    print_cut ((int)strlen (word), healthy ? ", warning: " : ": ",
               first_finding (findings, healthy), after);
}

// -- the tables

static void write_progress (FILE *out, const json_t *progress)
{
    if (progress)
        write_frame (out, progress);
}

static enum colour running_colour (const json_t *plan)
{
    (void)plan;
    return CYAN;
}

static const struct column running_columns[] = {
    COLUMN ("RUNNING", 24, .rule = COLUMN_SHORT, .least = 16, .write = write_plan_label,
            .colour = running_colour),
    COLUMN ("SINCE", 20, .field = "exec_time", .write = column_time),
    COLUMN ("TARGET", 12, .rule = COLUMN_SPARE, .field = "station"),
    COLUMN ("PROGRESS", 0, .rule = COLUMN_REST, .field = "progress", .write = write_progress),
};

static void write_recovered (FILE *out, const json_t *recovered)
{
    fputs (json_is_true (recovered) ? "ok" : "failed", out);
}

static enum colour recovered_colour (const json_t *recovered)
{
    return json_is_true (recovered) ? GREEN : RED;
}

static const struct column failed_columns[] = {
    COLUMN ("FAILED SINCE YESTERDAY", 24, .rule = COLUMN_SHORT, .least = 16,
            .write = write_plan_label),
    COLUMN ("RUNS", 4, .is_number = true, .field = "failures", .write = column_number),
    COLUMN ("LAST", 20, .field = "ended", .write = column_time),
    COLUMN ("NOW", 6, .field = "recovered", .write = write_recovered, .colour = recovered_colour),
    COLUMN ("REASON", 0, .rule = COLUMN_REST, .least = 30, .write = write_run_reason),
};

static const struct column next_columns[] = {
    COLUMN ("NEXT", 24, .rule = COLUMN_SHORT, .least = 16, .write = write_plan_label),
    COLUMN ("AT", 20, .write = write_plan_next),
    COLUMN ("TARGET", 12, .rule = COLUMN_SPARE, .field = "station"),
    COLUMN ("SCHEDULE", 0, .rule = COLUMN_REST, .write = write_plan_schedule),
};

static void print_table (const struct column *columns, size_t count, const json_t *rows)
{
    size_t i;
    const json_t *row;
    if (json_array_size (rows) == 0)
        return;
    putchar ('\n');
    struct text_table *table = table_new (columns, count, stdout);
    json_array_foreach (rows, i, row) table_add_row (table, row);
    table_end (&table);
}

#define PRINT_TABLE(columns, rows) print_table (columns, sizeof columns / sizeof *columns, rows)

// Print "and 3 more: ..."; nothing if all are shown.
static void print_more (int64_t count, const json_t *shown, const char *command)
{
    char before[40];
    int64_t more = count - (int64_t)json_array_size (shown);
    if (more <= 0)
        return;
    snprintf (before, sizeof before, "and %" PRId64 " more: ", more);
    print_cut (0, before, command, "");
}

// -- the lines below

// Print the targets on one line, the disconnected ones first, as it may be cut.
static void print_targets (const struct status *self)
{
    size_t i, size;
    char *text = NULL;
    const char *separator = "";
    const json_t *target;
    FILE *memory = text_open (&text, &size);
    for (int connected = 0; connected <= 1; connected++)
        json_array_foreach (self->targets, i, target)
        {
            bool is_connected = field_is_true (target, "connected");
            if (is_connected != connected)
                continue;
            const char *name = json_string_value (json_object_get (target, "name"));
            fprintf (memory, "%s%s %s", separator, name ? name : "?",
                     is_connected ? "connected" : "away");
            separator = ", ";
        }
    fclose (memory);
    if (size)
        print_cut (0, "Targets: ", text, "");
    free (text);
}

static void print_count (int64_t count, const char *singular, const char *plural,
                         const char *command)
{
    char before[60];
    if (count == 0)
        return;
    snprintf (before, sizeof before, "%" PRId64 " %s: ", count, count == 1 ? singular : plural);
    print_cut (0, before, command, "");
}

static void print_summary (const struct status *self)
{
    bool quiet = json_array_size (self->next) == 0 && self->retrying + self->running_count == 0;
    if (self->plans == 0)
        puts ("No plan is stored: zplan add --help");
    else if (quiet && self->plans > 0)
        puts ("No plan is queued.");
    print_count (self->retrying, "plan is retrying", "plans are retrying",
                 "zplan list --state retrying");
    print_count (self->paused, "plan is paused", "plans are paused", "zplan list --state paused");
    print_count (self->dead, "plan has failed permanently", "plans have failed permanently",
                 "zplan list --state failed");
    if (self->more)
        puts ("Only the first 10000 waiting plans were counted.");
    print_targets (self);
}

// Print the parts that are unknown, with the reason: "Not shown: history, plans: -deny: ..."
static void print_hidden (const struct status *self)
{
    const char *reason;
    json_t *parts;
    json_object_foreach (self->hidden, reason, parts)
    {
        size_t i;
        const json_t *part;
        fputs ("Not shown: ", stdout);
        int used = sizeof "Not shown: " - 1;
        json_array_foreach (parts, i, part) used +=
            printf ("%s%s", i ? ", " : "", json_string_value (part));
        print_cut (used, ": ", reason, "");
    }
}

void status_print (const struct status *self)
{
    print_health (self);
    PRINT_TABLE (running_columns, self->running);
    print_more (self->running_count, self->running, "zplan list --state running");
    PRINT_TABLE (failed_columns, self->failed);
    print_more (self->failed_count, self->failed, "zplan history --failed --since yesterday");
    PRINT_TABLE (next_columns, self->next);
    if (json_array_size (self->running) || json_array_size (self->failed) ||
        json_array_size (self->next))
        putchar ('\n');
    print_summary (self);
    print_hidden (self);
}
