#include "cells.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codes.h"
#include "outcomes.h"
#include "plan.h"
#include "rfc3339.h"
#include "schedule_text.h"
#include "status_names.h"
#include "text_table.h"
#include "utf8.h"
#include "zonefile.h"

// -- plans

void write_plan_name (FILE *out, const json_t *plan)
{
    struct span name = field_text (plan, "key");
    if (name.size)
        write_bytes (out, name);
    else
        fputs (id_hex_text (json_object_get (plan, "plan_id")), out);
}

// Load the plan's zone; NULL: unknown here. The last zone is cached, as consecutive plans mostly
// have the same one.
static const struct zone *cached_zone (const json_t *plan)
{
    static struct zone *kept;
    static char name[ZONEFILE_NAME_SIZE];
    struct reason ignored;
    const char *wanted = json_string_value (json_object_get (plan, "timezone"));
    if (!wanted)
        wanted = "UTC"; // the default of zplan's options
    if (strlen (wanted) >= sizeof name)
        return NULL;
    if (strcmp (wanted, name) == 0)
        return kept;
    zone_destroy (&kept);
    memcpy (name, wanted, strlen (wanted) + 1);
    kept = zonefile_load (name, &ignored);
    return kept;
}

void write_plan_schedule (FILE *out, const json_t *plan)
{
    char text[SCHEDULE_TEXT_SIZE];
    write_bytes (out, span_text (schedule_text (plan, cached_zone (plan), text)));
}

bool plan_waits (const json_t *plan)
{
    json_int_t state = field_number (plan, "plan_state");
    return state == PLAN_NONE || state == PLAN_QUEUE || state == PLAN_SKIP;
}

void write_plan_next (FILE *out, const json_t *plan)
{
    column_time (out, plan_waits (plan) ? json_object_get (plan, "plan_time") : NULL);
}

void write_plan_last (FILE *out, const json_t *plan)
{
    const json_t *status = json_last_status (plan);
    json_int_t state = field_number (plan, "plan_state");
    if (!status) {
        fputc ('-', out);
        return;
    }
    fputs (outcome_text (status), out);
    if (state != PLAN_EXECUTE) // else it would be the time of the run in progress
        fprintf (out, " %s", time_cell_text (json_object_get (plan, "exec_time")));
}

// -- what a run wrote

// Write bytes, escaped for a terminal. Returns whether the last one was a newline.
static bool write_text (FILE *file, const uint8_t *bytes, size_t size, bool terminal)
{
    if (terminal)
        write_bytes_allowing (file, span_of (bytes, size), "\n\t\\");
    else
        fwrite (bytes, 1, size, file);
    return size > 0 && bytes[size - 1] == '\n';
}

bool output_print_frame (FILE *file, const json_t *frame)
{
    size_t size;
    uint8_t *bytes = frame_bytes (frame, &size);
    bool ended = write_text (file, bytes, size, isatty (fileno (file)));
    free (bytes);
    return ended;
}

void output_print (FILE *file, const json_t *output)
{
    size_t head_size, tail_size;
    bool terminal = isatty (fileno (file)), ended;
    json_int_t size = field_number (output, "size");
    const json_t *last = json_object_get (output, "tail");
    uint8_t *head = frame_bytes (json_object_get (output, "head"), &head_size);
    uint8_t *tail = frame_bytes (last, &tail_size);
    ended = write_text (file, head, head_size, terminal);
    if (last) {
        fprintf (file, "%s[... %lld bytes are not kept ...]\n", ended ? "" : "\n",
                 (long long)size - (long long)head_size - (long long)tail_size);
        ended = tail_size == 0 || write_text (file, tail, tail_size, terminal);
    }
    if (!ended)
        fputc ('\n', file);
    free (head);
    free (tail);
}

const char *output_last_line (const json_t *output, char out[OUTPUT_LINE_SIZE])
{
    const json_t *last = json_object_get (output, "tail");
    last = json_string_length (last) ? last : json_object_get (output, "head");
    const char *text = json_string_value (last);
    size_t end = json_string_length (last);
    while (end > 0 && (unsigned char)text[end - 1] <= ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    struct span line = end ? span_of (text + begin, end - begin) : (struct span){0};
    out[span_put (out, 0, utf8_cut (line, OUTPUT_LINE_SIZE - 1))] = '\0';
    return out;
}

// -- runs

// Write the item of a step, as ".3"; the title of its plan does not contain it.
static void write_item (FILE *out, const json_t *run)
{
    struct span step = field_text (run, "step");
    const uint8_t *dot = step.size ? memchr (step.data, '.', step.size) : NULL;
    if (dot)
        write_bytes (out, span_of (dot, step.size - (size_t)(dot - step.data)));
}

void write_plan_label (FILE *out, const json_t *run)
{
    static const char *const fields[] = {"key", "title", "description", "command"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const json_t *frame = json_object_get (run, fields[i]);
        if (json_is_object (frame) || json_string_length (frame) > 0) {
            write_frame (out, frame);
            write_item (out, run);
            return;
        }
    }
    const json_t *id = json_object_get (run, "plan");
    if (id)
        write_bytes (out, text_of (id));
    else
        fputs (id_hex_text (json_object_get (run, "plan_id")), out);
}

void write_run_reason (FILE *out, const json_t *run)
{
    char line[OUTPUT_LINE_SIZE] = "";
    const json_t *reason = json_object_get (run, "reason"),
                 *output = json_object_get (run, "output");
    const char *raw = json_string_value (reason);
    bool has_lines = raw && strchr (raw, '\n');
    if (output && field_number (run, "status") >= ZERO_STATUS_ERROR_FLAG)
        output_last_line (output, line);
    if (has_lines && !*line) {
        json_t *whole = json_pack ("{sO}", "head", reason);
        output_last_line (whole, line);
        json_decref (whole);
    }
    // A reason of several lines is the start of the run's output, of which `line` is the end.
    char *text = NULL;
    size_t size;
    FILE *memory = text_open (&text, &size);
    if (!has_lines)
        write_reason (memory, "", run);
    fclose (memory);
    bool repeated = raw && *line && strstr (raw, line);
    fputs (text, out);
    if (*line && (has_lines || !repeated)) {
        fputs (*text ? ": " : "", out);
        write_bytes (out, span_text (line));
    }
    free (text);
}

void write_run_number (FILE *out, const json_t *run)
{
    const json_t *seq = json_object_get (run, "seq"), *entry = json_object_get (run, "entry");
    if (json_integer_value (seq))
        column_number (out, seq);
    else
        write_frame (out, entry);
}

void print_run_output (const json_t *run, void (*label) (FILE *out, const json_t *run))
{
    const json_t *status = json_object_get (run, "status"), *fired = json_object_get (run, "fired"),
                 *ended = json_object_get (run, "ended"), *output = json_object_get (run, "output");
    fputs ("== run ", stdout);
    write_run_number (stdout, run);
    if (label) {
        fputs (", ", stdout);
        label (stdout, run);
    }
    printf (", %s, ", time_line_text (ended));
    print_outcome (status);
    if (json_integer_value (status) != ZERO_STATUS_MISSED_ID)
        printf (", took %s", duration_between_text (fired, ended));
    write_reason (stdout, ": ", run);
    putchar ('\n');
    if (output)
        output_print (stdout, output);
    else
        fputs ("(no output is kept)\n", stdout);
}

// -- reasons

// Actions that resolve a reason, as advice for people; all other reasons end by themselves.
static const struct {
    const char *until, *words;
} remedies[] = {
    {"reset", "reset it"},
    {"pause, then reset", "pause it, then reset it"},
    {"done, when the failure was handled manually, or reset",
     "deal with it, then say done; or reset it"},
    {"station add", "add the target"},
    {"never", "it will not run again"},
    {"never: it is kept until it is removed", "it is kept until it is removed"},
    {"at once", "at once"},
};

static void print_until (const char *until)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        if (strcmp (remedies[i].until, until) == 0) {
            printf ("%s", remedies[i].words);
            return;
        }
    }
    print_between ("until ", span_text (until), "");
}

// Print a reason; for a stopped plan it begins with the admin command: "pause by ops at ...".
static void print_why (struct span why)
{
    static const struct {
        const char *word, *past;
    } stops[] = {{"pause ", "paused "}, {"close ", "closed "}};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        size_t size = strlen (stops[i].word);
        if (bytes_begin (why, stops[i].word)) {
            printf ("%s", stops[i].past);
            why = span_of (why.data + size, why.size - size);
        }
    }
    print_bytes (why);
}

void why_print_time (struct span at)
{
    int64_t seconds;
    struct reason ignored;
    if (!at.size || rfc3339_parse (at, &seconds, &ignored))
        return;
    json_t *number = json_integer (seconds);
    printf (", %s", time_line_text (number));
    json_decref (number);
}

void why_print (const json_t *reasons)
{
    size_t i;
    const json_t *reason;
    json_array_foreach (reasons, i, reason)
    {
        const char *until = json_string_value (json_object_get (reason, "until"));
        printf ("  ");
        print_why (field_text (reason, "why"));
        printf (": ");
        print_until (until ? until : "something unknown");
        why_print_time (field_text (reason, "at"));
        putchar ('\n');
    }
}
