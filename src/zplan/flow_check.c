// zplan flow check: what is wrong with definitions, and what a run of them may take.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "duration.h"
#include "expr.h"
#include "flow.h"
#include "flow_command.h"
#include "flow_file.h"
#include "memory.h"
#include "print.h"

// A definition among others, which may refer to each other.
struct file {
    const char *path;
    char *text;
    size_t size;
    json_t *json;
    struct flow *flow; // NULL: `errors`, or not judged yet
    json_t *errors;
    enum { FILE_NEW, FILE_BEGUN, FILE_JUDGED } state;
};

struct files {
    struct file *rows;
    int count;
};

// -- what is known of targets

static void file_judge (struct files *files, struct file *file);

static struct file *file_named (const struct files *files, const char *name)
{
    for (int i = 0; i < files->count; i++) {
        const char *own = json_string_value (json_object_get (files->rows[i].json, "flow"));
        if (own && strcmp (own, name) == 0)
            return &files->rows[i];
    }
    return NULL;
}

// A target is a flow when its definition is among the files. All others are known: a target of the
// station, or a flow whose bounds cannot be told.
static bool target_find (void *context, const char *name, struct flow_target *ret)
{
    struct files *files = context;
    struct file *file = file_named (files, name);
    *ret = (struct flow_target){.is_flow = file};
    if (file && file->state == FILE_NEW)
        file_judge (files, file);
    if (file && file->state == FILE_BEGUN)
        ret->reaches = true;
    if (file && file->flow)
        ret->report = &file->flow->report;
    return true;
}

static void file_judge (struct files *files, struct file *file)
{
    const struct flow_world world = {target_find, files};
    file->state = FILE_BEGUN;
    file->flow = flow_parse (span_of (file->text, file->size), &world, &file->errors);
    file->state = FILE_JUDGED;
}

// -- files

static bool file_read (struct file *file)
{
    struct reason reason;
    file->text = flow_file_read (file->path, &file->size, &reason);
    file->json = file->text ? expr_read_json (span_of (file->text, file->size), &reason) : NULL;
    if (file->json)
        return true;
    complain (file->path, span_text (reason.text));
    free (file->text);
    return false;
}

enum { LINES_MAX = 10 }; // of each list; --json has them all

static void print_list (const char *before, const json_t *list)
{
    const json_t *text;
    size_t i;
    json_array_foreach (list, i, text)
    {
        if (i == LINES_MAX) {
            printf ("  %s: and %zu more\n", before, json_array_size (list) - i);
            break;
        }
        printf ("  %s: ", before);
        print_bytes (text_of (text));
        putchar ('\n');
    }
}

static const char *plural (int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_report (const struct file *file)
{
    char text[DURATION_SIZE];
    json_t *report = flow_report_json (file->flow);
    int64_t calls = json_integer_value (json_object_get (report, "steps_max"));
    print_bytes (span_text (file->path));
    printf (": good\n  flow %s: %u step%s, %u edge%s, at most %" PRId64 " call%s\n",
            file->flow->name, file->flow->step_count, plural (file->flow->step_count),
            file->flow->edge_count, plural (file->flow->edge_count), calls, plural (calls));
    if (json_is_true (json_object_get (report, "bounded")))
        printf ("  ends within %s, undo and finally besides\n",
                duration_text (json_integer_value (json_object_get (report, "seconds_max")), text));
    print_list ("not bounded", json_object_get (report, "because"));
    print_list ("warning", json_object_get (report, "warnings"));
    json_decref (report);
}

static void complain_errors (const struct file *file)
{
    const json_t *error;
    size_t i;
    json_array_foreach (file->errors, i, error)
    {
        struct span path = text_of (json_object_get (error, "path"));
        struct span rule = text_of (json_object_get (error, "reason"));
        char *line = memory_new (path.size + rule.size + 3);
        size_t size = path.size;
        memcpy (line, path.data, path.size);
        if (path.size) {
            memcpy (line + size, ": ", 2);
            size += 2;
        }
        memcpy (line + size, rule.data, rule.size);
        complain (file->path, span_of (line, size + rule.size));
        free (line);
    }
}

static void print_file (const struct cli *cli, const struct file *file)
{
    if (cli->json) {
        json_t *answer = json_pack ("{s:s, s:b}", "file", file->path, "ok", file->flow != NULL);
        if (file->flow)
            json_object_set_new (answer, "check", flow_report_json (file->flow));
        else
            json_object_set (answer, "errors", file->errors);
        print_json (answer);
        json_decref (answer);
    } else if (file->flow)
        print_report (file);
    else
        complain_errors (file);
}

int flow_check (const struct cli *cli, char **paths, int count)
{
    struct files files = {memory_new ((size_t)count * sizeof *files.rows), 0};
    int code = EXIT_DONE;
    for (int i = 0; i < count; i++) {
        files.rows[files.count] = (struct file){.path = paths[i]};
        if (file_read (&files.rows[files.count]))
            files.count++;
        else
            code = EXIT_REFUSED;
    }
    for (int i = 0; i < files.count; i++) {
        if (files.rows[i].state == FILE_NEW)
            file_judge (&files, &files.rows[i]);
        print_file (cli, &files.rows[i]);
        if (!files.rows[i].flow)
            code = EXIT_REFUSED;
    }
    for (int i = 0; i < files.count; i++) {
        flow_destroy (&files.rows[i].flow);
        json_decref (files.rows[i].errors);
        json_decref (files.rows[i].json);
        free (files.rows[i].text);
    }
    free (files.rows);
    return code;
}
