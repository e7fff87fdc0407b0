// Writes the definitions of flows, for `zplan export --everything`.
#include "everything.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "codes.h"
#include "flow_stored.h"
#include "json.h"
#include "memory.h"
#include "print.h"

struct flow_export {
    const struct cli *cli;
    struct zplan_client *client;
    json_t *names; // name -> whether the flow was written
    int64_t count, unreadable;
    int code; // EXIT_DONE; else the next requests would fail as well
};

// Call `take` for each page of this subcommand of `flow`.
static int for_each_flow_page (const struct flow_export *self, const char *word, json_t *filter,
                               void (*take) (void *owner, const json_t *page), void *owner)
{
    int code;
    bool more = true;
    while (more) {
        char *text = json_write (filter);
        const char *const request_words[] = {"flow", word, text, NULL};
        json_t *page = call_command (self->cli, self->client, request_words, NULL, &code);
        free (text);
        json_t *next = json_object_get (page, "next");
        more = next && !json_equal (next, json_object_get (filter, "after"));
        if (page)
            take (owner, page);
        if (more)
            json_object_set (filter, "after", next);
        json_decref (page);
    }
    json_decref (filter);
    return code;
}

static void add_flow_names (void *names, const json_t *page)
{
    size_t i;
    const json_t *flow;
    json_array_foreach (json_object_get (page, "flows"), i, flow)
    {
        const char *name = json_string_value (json_object_get (flow, "name"));
        if (name)
            json_object_set_new (names, name, json_false ());
    }
}

// -- a flow

static void write_flow (struct flow_export *self, const char *name);

static void write_target_flow (void *owner, const char *target)
{
    struct flow_export *self = owner;
    if (self->code == EXIT_DONE && json_is_false (json_object_get (self->names, target)))
        write_flow (self, target);
}

// Read a version as the station sends it; `version` NULL: the one in use. Free the text. NULL: the
// flow was removed meanwhile, or an error was printed.
static char *read_flow_version (struct flow_export *self, const char *name, const json_t *version)
{
    struct zplan_reply reply;
    const char *const request_words[] = {"get", name, number_cell_text (version)};
    int outcome =
        zplan_client_manage (self->client, "flow", request_words, version ? 3 : 2, &reply);
    if (outcome == ZPLAN_OK && reply.status == ZERO_STATUS_NOT_FIND_ID)
        return NULL;
    struct verdict verdict = call_verdict (self->cli, outcome, &reply);
    if (verdict.code != EXIT_DONE) {
        verdict_print (&verdict, name);
        self->unreadable++;
        if (verdict.code == EXIT_NO_ANSWER || verdict_is_common (&verdict))
            self->code = verdict.code;
        return NULL;
    }
    struct span json = call_frame (&reply, ZERO_FRAME_JSON);
    return memory_copy (json.data, json.size);
}

static json_t *parse_version (const char *stored)
{
    struct reason ignored;
    return stored ? json_read_object (span_text (stored), &ignored) : NULL;
}

static void write_version (struct flow_export *self, const char *name, const char *stored,
                           const json_t *use)
{
    if (!flow_stored_text (span_text (stored)).size) {
        complain (name, span_text ("the station sent no definition"));
        self->unreadable++;
        return;
    }
    json_t *whole = parse_version (stored);
    json_int_t version = field_number (whole, "version");
    print_between ("{\"type\":\"flow\",\"name\":\"", span_text (name), "");
    printf ("\",\"version\":%" JSON_INTEGER_FORMAT ",\"use\":%" JSON_INTEGER_FORMAT
            ",\"definition\":",
            version, json_integer_value (use));
    flow_stored_write (stdout, span_text (stored));
    puts ("}");
    self->count++;
    json_decref (whole);
}

// Write all versions of a flow, after the flows that they call. A cycle is possible only between
// versions that are not in use; it is broken, and at import the station rejects its first version.
static void write_flow (struct flow_export *self, const char *name)
{
    json_object_set_new (self->names, name, json_true ());
    char *last = read_flow_version (self, name, NULL);
    json_t *flow = parse_version (last), *versions = json_object_get (flow, "versions");
    size_t count = json_array_size (versions);
    char **stored = memory_new ((count + 1) * sizeof *stored);
    for (size_t i = 0; i < count && self->code == EXIT_DONE; i++) {
        stored[i] = read_flow_version (self, name, json_array_get (versions, i));
        json_t *whole = parse_version (stored[i]);
        flow_stored_targets (json_object_get (whole, "definition"), write_target_flow, self);
        json_decref (whole);
    }
    for (size_t i = 0; i < count && self->code == EXIT_DONE; i++)
        if (stored[i])
            write_version (self, name, stored[i], json_object_get (flow, "use"));
    for (size_t i = 0; i < count; i++)
        free (stored[i]);
    free (stored);
    json_decref (flow);
    free (last);
}

// -- runs

static void count_runs (void *count, const json_t *page)
{
    size_t i;
    const json_t *run;
    json_array_foreach (json_object_get (page, "runs"), i, run)
    {
        *(int64_t *)count += !json_object_get (run, "parent");
    }
}

static int report_runs (struct flow_export *self)
{
    static const char *const states[] = {"running", "suspended", "undoing"};
    int code = EXIT_DONE;
    int64_t count = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states && code == EXIT_DONE; i++)
        code = for_each_flow_page (self, "runs",
                                   json_pack ("{s:s, s:i}", "state", states[i], "limit", 1000),
                                   count_runs, &count);
    if (count)
        fprintf (stderr,
                 "zplan: %" PRId64 " run%s of flows in progress %s left out: an import begins new "
                 "ones\n",
                 count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
    return code;
}

int everything_flows (const struct cli *cli, struct zplan_client *client, int64_t *ret_count,
                      int64_t *ret_unreadable)
{
    const char *name;
    json_t *written;
    struct flow_export self = {.cli = cli, .client = client, .names = json_object ()};
    self.code = for_each_flow_page (&self, "list", json_object (), add_flow_names, self.names);
    json_object_foreach (self.names, name, written)
    {
        if (self.code == EXIT_DONE && json_is_false (written))
            write_flow (&self, name);
    }
    json_decref (self.names);
    *ret_count = self.count;
    *ret_unreadable = self.unreadable;
    return self.code == EXIT_DONE ? report_runs (&self) : self.code;
}
