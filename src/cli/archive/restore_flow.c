// The station assigns its own numbers to versions of flows, as older ones may have been removed.
// The file has the versions of a flow in order, and they are found or added in this order.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_stored.h"
#include "print.h"
#include "restore_private.h"

// Request a version of a flow; `version` NULL: the one in use. NULL: there is none, or an error was
// reported.
static json_t *request_version (struct restore_state *self, const char *name, const json_t *version)
{
    struct verdict verdict;
    const char *const request_words[] = {"flow", "get", name,
                                         version ? number_cell_text (version) : NULL, NULL};
    json_t *flow = call_command_quietly (self->cli, self->client, request_words, &verdict);
    if (flow || verdict.status == ZERO_STATUS_NOT_FIND_ID)
        return flow;
    self->stopped = true;
    if (verdict.code == EXIT_NO_ANSWER) {
        self->failure = verdict;
        self->code = EXIT_NO_ANSWER;
    } else {
        restore_refuse (self, self->line, verdict_text (&verdict));
    }
    return NULL;
}

// Get the state of a flow, requested once: the versions that the station had before, the one in
// use, how many of them were found in the file, and this station's number for each version of the
// file.
static json_t *load_flow_state (struct restore_state *self, const char *name)
{
    json_t *flow = json_object_get (self->known[FLOWS], name);
    if (flow)
        return flow;
    json_t *known = request_version (self, name, NULL),
           *versions = json_object_get (known, "versions");
    flow = json_pack ("{s:O?, s:I, s:i, s:{}}", "versions", versions, "use",
                      field_number (known, "use"), "found", 0, "numbers");
    json_object_set_new (self->known[FLOWS], name, flow);
    json_decref (known);
    return flow;
}

// Find the next of the station's versions that equals `definition`. Returns its number; 0: there is
// none.
static json_int_t find_version (struct restore_state *self, const char *name, json_t *flow,
                                const json_t *definition)
{
    const json_t *versions = json_object_get (flow, "versions");
    size_t i = (size_t)field_number (flow, "found");
    for (; i < json_array_size (versions) && !self->stopped; i++) {
        const json_t *number = json_array_get (versions, i);
        json_t *stored = request_version (self, name, number);
        bool same = json_equal (json_object_get (stored, "definition"), definition);
        json_decref (stored);
        if (same) {
            json_object_set_new (flow, "found", json_integer ((json_int_t)i + 1));
            return json_integer_value (number);
        }
    }
    return 0;
}

// An added version is in use at once, possibly since an interrupted import: switch back to the
// version that the file has in use. A version that somebody pinned or added later is left in use.
static void restore_use (struct restore_state *self, const char *name, const json_t *flow,
                         const json_t *record, json_int_t here)
{
    size_t found = (size_t)field_number (flow, "found");
    bool is_last = found == json_array_size (json_object_get (flow, "versions"));
    const char *number = number_cell_text (json_object_get (record, "use"));
    const json_t *wanted = json_object_get (json_object_get (flow, "numbers"), number);
    if (is_last && here == field_number (flow, "use") && wanted &&
        json_integer_value (wanted) != here)
        json_decref (restore_request (
            self, (const char *[]){"flow", "use", name, number_cell_text (wanted), NULL}));
}

// Add a version to the flow. Returns its number; 0: it was rejected.
static json_int_t add_version (struct restore_state *self, json_t *flow, struct span text)
{
    char *copy = strndup ((const char *)text.data, text.size);
    json_t *answer = restore_request (self, (const char *[]){"flow", "put", copy, NULL});
    json_int_t version = field_number (answer, "version");
    json_object_set (flow, "use", json_object_get (answer, "use"));
    json_decref (answer);
    free (copy);
    return version;
}

void restore_flow_version (struct restore_state *self, const json_t *record)
{
    char text[REASON_MAX];
    const char *name = json_string_value (json_object_get (record, "name"));
    const json_t *definition = json_object_get (record, "definition");
    json_int_t version = field_number (record, "version");
    struct span stored = flow_stored_text (span_text (self->text));
    if (!name || version < 1 || !json_is_object (definition) || !stored.size) {
        restore_refuse (self, self->line,
                        span_text ("flow: want name, version, use, and definition as the last"));
        return;
    }
    json_t *flow = load_flow_state (self, name);
    json_int_t here = find_version (self, name, flow, definition);
    size_t found = (size_t)field_number (flow, "found");
    bool existing = here != 0;
    if (self->stopped)
        return;
    if (!existing && found < json_array_size (json_object_get (flow, "versions"))) {
        snprintf (text, sizeof text,
                  "flow: there are other versions of %.64s; remove it, or leave it", name);
        restore_refuse (self, self->line, span_text (text));
        return;
    }
    if (!existing)
        here = self->dry_run ? version : add_version (self, flow, stored);
    if (!here)
        return;
    const char *number = number_cell_text (json_object_get (record, "version"));
    json_object_set_new (json_object_get (flow, "numbers"), number, json_integer (here));
    if (!self->dry_run)
        restore_use (self, name, flow, record, here);
    json_object_set (self->known[TARGETS], name, (json_t *)(uintptr_t)record);
    restore_count (self, FLOWS, existing);
}
