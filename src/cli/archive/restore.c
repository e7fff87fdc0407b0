#include "restore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "print.h"
#include "restore_private.h"

// -- the lines

static void restore_lines (struct restoring *self)
{
    char *text = NULL;
    size_t room = 0;
    self->line = 1;
    restore_line (self, self->restore->first);
    while (!self->stopped && !self->ended && getline (&text, &room, self->restore->file) >= 0) {
        self->line++;
        if (text[strspn (text, " \t\r\n")])
            restore_line (self, text);
    }
    if (ferror (self->restore->file)) {
        complain (self->restore->name, span_text (strerror (errno)));
        self->unread = true;
    }
    free (text);
    restore_send_outcomes (self);
    pipeline_drain (self->pipeline);
}

// -- the import

static void index_by_name (json_t *into, const json_t *list)
{
    size_t i;
    json_t *one;
    json_array_foreach (list, i, one)
    {
        const char *name = json_string_value (json_object_get (one, "name"));
        if (name)
            json_object_set (into, name, one);
    }
}

// Read what the station has already. False: a request failed.
static bool read_station_state (struct restoring *self)
{
    const char *name;
    json_t *limit;
    json_t *targets = restore_request (self, (const char *[]){"station", "list", NULL});
    json_t *kinds = targets ? restore_request (self, (const char *[]){"kind", "list", NULL}) : NULL;
    json_t *limits = kinds ? restore_request (self, (const char *[]){"limit", "list", NULL}) : NULL;
    index_by_name (self->known[TARGETS], json_object_get (targets, "stations"));
    json_object_update (self->known[KINDS], json_object_get (kinds, "kinds"));
    json_object_foreach (json_object_get (limits, "limits"), name, limit)
    {
        const char *origin = json_string_value (json_object_get (limit, "origin"));
        if (origin && strcmp (origin, "set") != 0)
            continue; // from the settings: a limit that is set replaces it
        json_object_del (limit, "origin");
        json_object_set (self->known[LIMITS], name, limit);
    }
    bool known = limits != NULL;
    json_decref (targets);
    json_decref (kinds);
    json_decref (limits);
    return known;
}

static int64_t report_missing (const struct restoring *self)
{
    const char *name;
    const json_t *waits;
    int64_t count = 0;
    json_object_foreach (self->missing, name, waits)
    {
        char text[400];
        count += json_integer_value (waits);
        snprintf (text, sizeof text,
                  "target %.64s: is not known here, so %" JSON_INTEGER_FORMAT
                  " of its plans are skipped; name it in the station's settings, or by `zplan "
                  "target add`, or put the flow of this name, and import again",
                  name, json_integer_value (waits));
        complain (NULL, span_text (text));
    }
    return count;
}

static void print_sums (const char *what, const int64_t sums[TYPES])
{
    bool first = true;
    for (size_t i = 0; i < TYPES; i++) {
        if (sums[i] == 0)
            continue;
        printf ("%s%" PRId64 " %s%s", first ? "" : ", ", sums[i], restore_type_names[i],
                sums[i] == 1 ? "" : "s");
        first = false;
    }
    printf ("%s %s\n", first ? "nothing" : "", what);
}

static int report_restore (const struct restoring *self)
{
    int64_t left = report_missing (self);
    bool cut = !self->ended && !self->stopped && !self->unread;
    if (cut)
        complain (self->restore->name,
                  span_text ("the last line is missing: the export is truncated"));
    if (self->cli->json) {
        json_t *sum = json_pack ("{s:I, s:I, s:b}", "refused", (json_int_t)self->refused,
                                 "left_out", (json_int_t)left, "whole", self->ended);
        json_t *added = json_object (), *there = json_object ();
        for (size_t i = 0; i < TYPES; i++) {
            json_object_set_new (added, restore_type_names[i], json_integer (self->added[i]));
            json_object_set_new (there, restore_type_names[i], json_integer (self->existing[i]));
        }
        json_object_set_new (sum, "added", added);
        json_object_set_new (sum, "there", there);
        print_answer_new (self->cli, JSON_ANSWER, json_pack ("{s:o}", "summary", sum));
    } else {
        print_sums (self->restore->dry_run ? "would be added" : "added", self->added);
        print_sums ("already there", self->existing);
        if (self->refused)
            printf ("%" PRId64 " refused\n", self->refused);
    }
    if (self->code != EXIT_DONE)
        return verdict_print (&self->failure, NULL);
    return self->refused || left || cut || self->unread || self->stopped ? EXIT_REFUSED : EXIT_DONE;
}

bool restore_is_first_line (const char *line)
{
    struct reason ignored;
    json_t *record = json_read_object (span_text (line), &ignored);
    const char *type = json_string_value (json_object_get (record, "type"));
    bool begins = type && strcmp (type, "everything") == 0;
    json_decref (record);
    return begins;
}

int restore_file (const struct cli *cli, const struct restore *restore)
{
    int code = EXIT_REFUSED;
    struct restoring self = {.cli = cli, .restore = restore, .code = EXIT_DONE};
    self.client = call_open (cli, &code);
    self.pipeline = self.client ? pipeline_open (cli, restore_on_answer, &self, &code) : NULL;
    for (size_t i = 0; i < TYPES; i++)
        self.known[i] = json_object ();
    self.missing = json_object ();
    self.runs = json_array ();
    if (self.pipeline) {
        progress_start (&self.progress, "import", cli->json ? PROGRESS_LINES : PROGRESS_QUIET);
        self.progress.things = "plans and outcomes";
        if (read_station_state (&self))
            restore_lines (&self);
        progress_clear (&self.progress);
        code = report_restore (&self);
    }
    for (size_t i = 0; i < TYPES; i++)
        json_decref (self.known[i]);
    json_decref (self.missing);
    json_decref (self.runs);
    free (self.seen.at);
    pipeline_destroy (&self.pipeline);
    zplan_client_destroy (&self.client);
    return code;
}
