// zplan import: submits plans that zplan export wrote to a station, or restores all that
// `zplan export --everything` wrote (everything.h).
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "submit_lines.h"
#include "print.h"
#include "restore_private.h"

static const char about[] =
    "Import what `zplan export` wrote into a station, many plans at a time. FILE is a\n"
    "name, or - for standard input. Existing objects are kept, so an interrupted import\n"
    "may be repeated; another plan, target, kind, limit or flow of the same id or name\n"
    "is rejected.\n\n"
    "Of `zplan export --everything` all is restored as it was: targets, flows,\n"
    "kinds, limits, the history, and plans with their state, counts and next time.\n"
    "Outcomes get new sequence numbers and are not broadcast. A run that was in\n"
    "progress, also of a flow, begins again.\n"
    "Not in the file, and to be set by hand: settings, keys of targets, and targets\n"
    "that the settings name; their plans are skipped until the target is known.\n\n"
    "Of a file of plain `zplan export`, id, target, title, frames, schedule, the next\n"
    "time (also one that `zplan skip` has set) and the repeats that are left are\n"
    "preserved; counters (runs, failures, skips), the last status and the history are\n"
    "reset.\n"
    "Plans that were paused, or had failed permanently, stay paused; those that were\n"
    "closed or have ended are skipped. With --hold the others are stored paused as\n"
    "well and marked: none runs until `zplan reset --held` starts those, and only\n"
    "those. Times that have passed meanwhile are missed ones, as of any plan; a single\n"
    "one runs at once.\n\n"
    "  zplan import everything.ndjson --dry-run\n"
    "  zplan export >plans.ndjson\n"
    "  zplan --connect tcp://10.0.0.7:7920 import plans.ndjson --hold\n"
    "  zplan --connect tcp://10.0.0.7:7920 reset --held\n"
    "  zplan export --target jobs | zplan --connect tcp://10.0.0.7:7920 import -\n";

static const struct option rows[] = {
    FLAG_OPTION (struct restore_state, hold, "--hold",
                 "keep them all paused, until `zplan reset --held`"),
    FLAG_OPTION (struct restore_state, dry_run, "--dry-run",
                 "of an export of everything: only print what would be added"),
    FLAG_OPTION (struct restore_state, stop_on_error, "--stop-on-error",
                 "stop at the first line that is rejected"),
};

// -- the lines

static void restore_lines (struct restore_state *self, const char *first)
{
    char *text = NULL;
    size_t room = 0;
    self->line = 1;
    restore_line (self, first);
    while (!self->stopped && !self->ended && getline (&text, &room, self->file) >= 0) {
        self->line++;
        if (text[strspn (text, " \t\r\n")])
            restore_line (self, text);
    }
    if (ferror (self->file)) {
        complain (self->name, span_text (strerror (errno)));
        self->unread = true;
    }
    free (text);
    restore_send_outcomes (self);
    pipeline_drain (self->pipeline);
}

// -- the import

// Read what the station has already. False: a request failed.
static bool read_station_state (struct restore_state *self)
{
    const char *name;
    size_t i;
    json_t *target, *limit;
    json_t *targets = restore_request (self, (const char *[]){"station", "list", NULL});
    json_t *kinds = targets ? restore_request (self, (const char *[]){"kind", "list", NULL}) : NULL;
    json_t *limits = kinds ? restore_request (self, (const char *[]){"limit", "list", NULL}) : NULL;
    json_array_foreach (json_object_get (targets, "stations"), i, target)
    {
        name = json_string_value (json_object_get (target, "name"));
        if (name)
            json_object_set (self->known[TARGETS], name, target);
    }
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

static int64_t report_missing (const struct restore_state *self)
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

static int report_restore (const struct restore_state *self)
{
    int64_t left = report_missing (self);
    bool cut = !self->ended && !self->stopped && !self->unread;
    if (cut)
        complain (self->name, span_text ("the last line is missing: the export is truncated"));
    if (self->cli->json) {
        json_t *added = json_object (), *there = json_object ();
        for (size_t i = 0; i < TYPES; i++) {
            json_object_set_new (added, restore_type_names[i], json_integer (self->added[i]));
            json_object_set_new (there, restore_type_names[i], json_integer (self->existing[i]));
        }
        print_answer_new (self->cli, JSON_ANSWER,
                          json_pack ("{s:{s:I, s:I, s:b, s:o, s:o}}", "summary", "refused",
                                     (json_int_t)self->refused, "left_out", (json_int_t)left,
                                     "whole", self->ended, "added", added, "there", there));
    } else {
        print_sums (self->dry_run ? "would be added" : "added", self->added);
        print_sums ("already there", self->existing);
        if (self->refused)
            printf ("%" PRId64 " refused\n", self->refused);
    }
    if (self->code != EXIT_DONE)
        return verdict_print (&self->failure, NULL);
    return self->refused || left || cut || self->unread || self->stopped ? EXIT_REFUSED : EXIT_DONE;
}

// Whether this is the first line of a file that `zplan export --everything` wrote.
static bool is_first_line (const char *line)
{
    struct reason ignored;
    json_t *record = json_read_object (span_text (line), &ignored);
    bool begins = span_is (field_text (record, "type"), "everything");
    json_decref (record);
    return begins;
}

// Restore the contents of the file, whose first line was read, to the station, and report the
// result. Returns an exit code.
static int restore_file (struct restore_state *self, const char *first)
{
    int code = EXIT_REFUSED;
    const struct cli *cli = self->cli;
    self->client = call_open (cli, &code);
    self->pipeline = self->client ? pipeline_open (cli, restore_on_answer, self, &code) : NULL;
    for (size_t i = 0; i < TYPES; i++)
        self->known[i] = json_object ();
    self->missing = json_object ();
    self->runs = json_array ();
    if (self->pipeline) {
        progress_start (&self->progress, "import", cli->json ? PROGRESS_LINES : PROGRESS_QUIET);
        self->progress.things = "plans and outcomes";
        if (read_station_state (self))
            restore_lines (self, first);
        progress_clear (&self->progress);
        code = report_restore (self);
    }
    for (size_t i = 0; i < TYPES; i++)
        json_decref (self->known[i]);
    json_decref (self->missing);
    json_decref (self->runs);
    free (self->seen.at);
    pipeline_destroy (&self->pipeline);
    zplan_client_destroy (&self->client);
    return code;
}

// -- the verb

int verb_import (const struct cli *cli)
{
    struct restore_state self = {.cli = cli, .code = EXIT_DONE};
    const struct usage usage = {
        .synopsis = "zplan import FILE [--hold] [--dry-run] [--stop-on-error]",
        .about = about,
        .groups = {OPTION_GROUP ("How", rows, &self)},
        .words_min = 1,
        .words_max = 1,
        .words = "one file",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    char *first = NULL;
    size_t room = 0;
    FILE *file = lines_open (cli->argv[1]);
    if (!file)
        return EXIT_REFUSED;
    ssize_t size = getline (&first, &room, file);
    if (ferror (file)) {
        code = complain (cli->argv[1], span_text (strerror (errno)));
    } else if (size > 0 && is_first_line (first)) {
        self.name = cli->argv[1];
        self.file = file;
        code = restore_file (&self, first);
    } else if (self.dry_run) {
        code =
            usage_error (cli->argv[0], &(struct reason){"--dry-run: is for a file of `zplan export "
                                                        "--everything`"});
    } else {
        const struct submit_lines load = {.file = cli->argv[1],
                                          .opened = file,
                                          .first = first,
                                          .first_size = size > 0 ? (size_t)size : 0,
                                          .mode = self.hold ? LINES_HELD : LINES_AS_THEY_ARE,
                                          .stop_on_error = self.stop_on_error};
        code = submit_lines (cli, &load);
    }
    free (first);
    if (file != stdin)
        fclose (file);
    return code;
}
