#include "flow_sources.h"

#include <stdlib.h>

#include "flow_file.h"
#include "memory.h"
#include "print.h"

// -- checks

static void check_source (struct flow_sources *files, struct flow_source *file);

struct flow_source *flow_source_named (const struct flow_sources *files, const char *name)
{
    for (int i = 0; i < files->count; i++) {
        const char *own = json_string_value (json_object_get (files->rows[i].json, "flow"));
        if (own && strcmp (own, name) == 0)
            return &files->rows[i];
    }
    return NULL;
}

// Report whether a target is a flow: its definition is then among the files. Any other name is
// accepted, as a target of the station, or a flow with unknown bounds.
static bool target_find (void *context, const char *name, struct flow_target *ret)
{
    struct flow_sources *files = context;
    struct flow_source *file = flow_source_named (files, name);
    *ret = (struct flow_target){.is_flow = file};
    if (file && file->state == SOURCE_NEW)
        check_source (files, file);
    if (file && file->state == SOURCE_CHECKING)
        ret->reaches = true;
    if (file && file->flow)
        ret->report = &file->flow->report;
    return true;
}

static void check_source (struct flow_sources *files, struct flow_source *file)
{
    const struct flow_world world = {target_find, files};
    file->state = SOURCE_CHECKING;
    file->flow = flow_parse (span_of (file->text, file->size), &world, &file->errors);
    file->state = SOURCE_CHECKED;
}

// -- files

// Check that no earlier file defines the same flow. False with a reason.
static bool is_only_definition (const struct flow_sources *files, const struct flow_source *file,
                                struct reason *reason)
{
    const char *name = json_string_value (json_object_get (file->json, "flow"));
    const struct flow_source *other = name ? flow_source_named (files, name) : NULL;
    if (other)
        reason_set (reason, "flow %s is in this file, too: %s", quoted (span_text (name)),
                    other->path);
    return !other;
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

void flow_source_check (struct flow_sources *self, struct flow_source *source)
{
    if (source->state == SOURCE_NEW)
        check_source (self, source);
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
