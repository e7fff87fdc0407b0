// zplan flow check: reports the errors of definitions, and the bounds of a run of them.
#include <inttypes.h>
#include <stdio.h>

#include "duration.h"
#include "flow_command.h"
#include "flow_file.h"
#include "json.h"
#include "print.h"

static void print_text_list (const char *before, const json_t *list)
{
    const json_t *text;
    size_t i;
    json_array_foreach (list, i, text)
    {
        printf ("  %s: ", before);
        write_error (stdout, text_of (text));
        putchar ('\n');
    }
    if (json_array_size (list) >= FLOW_ERRORS_MAX)
        printf ("  %s: and perhaps more\n", before);
}

static const char *plural_suffix (int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_bound (const json_t *report)
{
    char text[DURATION_SIZE];
    int64_t seconds = field_number (report, "seconds_max");
    if (field_is_true (report, "bounded"))
        printf ("  ends within %s%s\n", duration_text (seconds, text),
                field_is_true (report, "has_tail") ? ", undo and finally besides" : "");
}

// Print several reasons as one line: nearly every step has one, which would hide the warnings.
void flow_print_summary (const json_t *report)
{
    const json_t *because = json_object_get (report, "because");
    size_t count = json_array_size (because);
    print_bound (report);
    if (count > 1)
        printf ("  not bounded: %s%zu reasons, zplan flow check lists them\n",
                count < FLOW_ERRORS_MAX ? "" : "at least ", count);
    else
        print_text_list ("not bounded", because);
    print_text_list ("warning", json_object_get (report, "warnings"));
}

static void print_report (const struct flow_source *file)
{
    json_t *report = flow_report_json (file->flow);
    int64_t calls = field_number (report, "steps_max");
    json_object_set_new (report, "has_tail", json_boolean (file->flow->report.has_tail));
    print_bytes (span_text (file->path));
    printf (": good\n  flow %s: %u step%s, %u edge%s, at most %" PRId64 " call%s\n",
            file->flow->name, file->flow->step_count, plural_suffix (file->flow->step_count),
            file->flow->edge_count, plural_suffix (file->flow->edge_count), calls,
            plural_suffix (calls));
    print_bound (report);
    print_text_list ("not bounded", json_object_get (report, "because"));
    print_text_list ("warning", json_object_get (report, "warnings"));
    json_decref (report);
}

static void print_file (const struct cli *cli, const struct flow_source *file)
{
    if (cli->json)
        print_json_new (json_pack (
            "{s:o, s:b, s:o*, s:O*}", "file", json_from_frame (span_text (file->path)), "ok",
            file->flow != NULL, "check", file->flow ? flow_report_json (file->flow) : NULL,
            "errors", file->flow ? NULL : file->errors));
    else if (file->flow)
        print_report (file);
    else
        flow_print_errors (file->path, file->errors);
}

int flow_check (const struct cli *cli, const struct flow_options *options)
{
    struct flow_sources files;
    int code =
        flow_sources_read (&files, options->words, options->count) ? EXIT_DONE : EXIT_REFUSED;
    for (int i = 0; i < files.count; i++) {
        flow_source_check (&files, &files.rows[i]);
        print_file (cli, &files.rows[i]);
        if (!files.rows[i].flow)
            code = EXIT_REFUSED;
    }
    flow_sources_clear (&files);
    return code;
}
