#include "flow_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "flow_yaml.h"
#include "memory.h"
#include "print.h"

char *flow_file_bytes (const char *name, size_t max, const char *max_text, size_t *ret_size,
                       struct reason *reason)
{
    size_t size = 0, room = 65536, got;
    FILE *file = strcmp (name, "-") == 0 ? stdin : fopen (name, "re");
    if (!file) {
        reason_set (reason, "%s", strerror (errno));
        return NULL;
    }
    char *text = memory_new (room);
    while (size <= max && (got = fread (text + size, 1, room - size - 1, file)) > 0) {
        size += got;
        if (size == room - 1)
            text = memory_resize (text, room *= 2);
    }
    text[size] = '\0';
    *ret_size = size;
    bool good = !ferror (file) && size <= max;
    if (ferror (file))
        reason_set (reason, "%s", strerror (errno));
    else if (!good)
        reason_set (reason, "larger than %s", max_text);
    if (file != stdin)
        fclose (file);
    if (good)
        return text;
    free (text);
    return NULL;
}

static char *json_of_yaml (char *yaml, size_t *size, struct reason *reason)
{
    json_t *json = flow_yaml_read (span_of (yaml, *size), reason);
    free (yaml);
    char *text = json ? json_dumps (json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref (json);
    if (text)
        *size = strlen (text);
    return text;
}

// Drop a byte order mark, which is not part of the text.
static void drop_mark (char *text, size_t *size)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t length = sizeof mark - 1;
    if (strncmp (text, mark, length) != 0)
        return;
    *size -= length;
    memmove (text, text + length, *size + 1);
}

char *flow_file_read (const char *name, size_t *ret_size, struct reason *reason)
{
    // A definition is smaller, but YAML may have comments.
    char *text = flow_file_bytes (name, 4000000, "4000000 bytes", ret_size, reason);
    if (text)
        drop_mark (text, ret_size);
    if (!text || text[strspn (text, " \t\r\n")] == '{')
        return text;
    return json_of_yaml (text, ret_size, reason);
}

json_t *flow_file_json (const char *name, struct reason *reason)
{
    size_t size;
    char *text = flow_file_read (name, &size, reason);
    json_t *json = text ? expr_read_json (span_of (text, size), reason) : NULL;
    free (text);
    return json;
}

// -- several files

struct flow_source *flow_source_named (const struct flow_sources *files, const char *name)
{
    for (int i = 0; i < files->count; i++) {
        const char *flow_name = json_string_value (json_object_get (files->rows[i].json, "flow"));
        if (flow_name && strcmp (flow_name, name) == 0)
            return &files->rows[i];
    }
    return NULL;
}

// Report whether a target is a flow: its definition is then among the files. Any other name is
// accepted, as a target of the station, or a flow with unknown bounds.
static bool find_flow_target (void *context, const char *name, struct flow_target *ret)
{
    struct flow_sources *files = context;
    struct flow_source *file = flow_source_named (files, name);
    *ret = (struct flow_target){.is_flow = file};
    if (!file)
        return true;
    flow_source_check (files, file);
    ret->reaches = file->state == SOURCE_CHECKING;
    ret->report = file->flow ? &file->flow->report : NULL;
    return true;
}

void flow_source_check (struct flow_sources *files, struct flow_source *file)
{
    const struct flow_world world = {find_flow_target, files};
    if (file->state != SOURCE_NEW)
        return;
    file->state = SOURCE_CHECKING;
    file->flow = flow_parse (span_of (file->text, file->size), &world, &file->errors);
    file->state = SOURCE_CHECKED;
}

// Check that no earlier file defines the same flow. False with a reason.
static bool is_only_definition (const struct flow_sources *files, const struct flow_source *file,
                                struct reason *reason)
{
    const char *name = json_string_value (json_object_get (file->json, "flow"));
    const struct flow_source *earlier = name ? flow_source_named (files, name) : NULL;
    if (earlier)
        reason_set (reason, "flow %s is in this file, too: %s", quoted (span_text (name)),
                    earlier->path);
    return !earlier;
}

static bool source_read (const struct flow_sources *files, struct flow_source *file)
{
    struct reason reason;
    file->text = flow_file_read (file->path, &file->size, &reason);
    file->json = file->text ? expr_read_json (span_of (file->text, file->size), &reason) : NULL;
    if (file->json && is_only_definition (files, file, &reason))
        return true;
    complain (file->path, span_text (reason.text));
    json_decref (file->json);
    free (file->text);
    return false;
}

bool flow_print_errors (const char *subject, const json_t *errors)
{
    size_t i;
    const json_t *error;
    json_array_foreach (errors, i, error)
    {
        char *line;
        const char *path = json_string_value (json_object_get (error, "path"));
        const char *reason = json_string_value (json_object_get (error, "reason"));
        if (asprintf (&line, "%s%s%s", path ? path : "", path && *path ? ": " : "",
                      reason ? reason : "") < 0)
            abort (); // only for lack of memory
        complain (subject, span_text (line));
        free (line);
    }
    return json_array_size (errors) > 0;
}

bool flow_sources_read (struct flow_sources *self, char **paths, int count)
{
    bool all = true;
    *self = (struct flow_sources){memory_new ((size_t)count * sizeof *self->rows), 0};
    for (int i = 0; i < count; i++) {
        self->rows[self->count] = (struct flow_source){.path = paths[i]};
        if (source_read (self, &self->rows[self->count]))
            self->count++;
        else
            all = false;
    }
    return all;
}

void flow_sources_clear (struct flow_sources *self)
{
    for (int i = 0; i < self->count; i++) {
        flow_destroy (&self->rows[i].flow);
        json_decref (self->rows[i].errors);
        json_decref (self->rows[i].json);
        free (self->rows[i].text);
    }
    free (self->rows);
}
