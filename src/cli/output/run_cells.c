#include "run_cells.h"

#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "outcomes.h"
#include "output_print.h"
#include "print.h"

static bool frame_has_text (const json_t *frame)
{
    return json_is_object (frame) || json_string_length (frame) > 0;
}

// Write the item of a step, as ".3": its plan's title is only that of the step.
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
    char word[WORD_SIZE];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (frame_has_text (json_object_get (run, fields[i]))) {
            write_frame (out, json_object_get (run, fields[i]));
            write_item (out, run);
            return;
        }
    }
    const json_t *id = json_object_get (run, "plan");
    if (id)
        write_bytes (out, text_of (id));
    else
        fputs (id_hex_text (json_object_get (run, "plan_id"), word), out);
}

// The text of the reason, without the status word, which is shown separately.
static char *reason_text (const json_t *run)
{
    char *text = NULL;
    size_t size;
    FILE *memory = text_open (&text, &size);
    write_reason (memory, "", run);
    fclose (memory);
    return text;
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
    char *text = has_lines ? NULL : reason_text (run);
    bool repeated = raw && *line && strstr (raw, line);
    fputs (text ? text : "", out);
    if (*line && (has_lines || !repeated)) {
        fputs (text && *text ? ": " : "", out);
        write_bytes (out, span_text (line));
    }
    free (text);
}

void write_run_number (FILE *out, const json_t *run)
{
    char word[WORD_SIZE];
    const json_t *seq = json_object_get (run, "seq"), *entry = json_object_get (run, "entry");
    if (json_integer_value (seq) || !entry)
        fputs (json_integer_value (seq) ? number_cell_text (seq, word) : "-", out);
    else
        write_frame (out, entry);
}

void print_run_output (const json_t *run, void (*label) (FILE *out, const json_t *run))
{
    char word[WORD_SIZE];
    const json_t *status = json_object_get (run, "status"), *fired = json_object_get (run, "fired"),
                 *ended = json_object_get (run, "ended"), *output = json_object_get (run, "output");
    fputs ("== run ", stdout);
    write_run_number (stdout, run);
    if (label) {
        fputs (", ", stdout);
        label (stdout, run);
    }
    printf (", %s, ", time_line_text (ended, word));
    write_coloured (stdout, status_colour (status), span_text (outcome_text (status, word)));
    if (json_integer_value (status) != ZERO_STATUS_MISSED_ID)
        printf (", took %s", duration_between_text (fired, ended, word));
    write_reason (stdout, ": ", run);
    putchar ('\n');
    if (output)
        output_print (stdout, output);
    else
        fputs ("(no output is kept)\n", stdout);
}
