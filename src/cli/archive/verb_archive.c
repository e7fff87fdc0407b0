// zplan archive: moves outcomes of runs from the history to files.
//
// A batch is written to one file, and removed from the history by `forget` only when it is on disk.
// So after a crash at any point each outcome is in the file or in the history, and outcomes that
// are already in the file are not written twice (archive_file.h).
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "archive_file.h"
#include "clock.h"
#include "failpoint.h"
#include "json.h"
#include "memory.h"
#include "pages.h"
#include "plan_ref.h"
#include "print.h"
#include "progress.h"
#include "when.h"

struct archive_move {
    const struct cli *cli;
    // Options.
    const char *file, *older_than, *station, *wanted_plan;
    int64_t keep;
    struct option_texts wanted_states;
    bool dry_run;
    // State.
    char plan[PLAN_REF_SIZE]; // wanted_plan in the form of plan_ref.h; "": any
    bool found;               // a run of the plan was found
    struct zplan_client *client;
    struct archive *archive;      // NULL: a dry run
    struct outcome_states states; // the selected states
    int64_t before_ms;            // only runs that ended earlier, Unix milliseconds
    struct outcome_key stop;      // the first entry that is not moved
    char epoch[64];               // the history's epoch, which must not change
    int64_t left;                 // outcomes that the last request wanted, but did not get
    int trouble;                  // the exit code of a reported error; else EXIT_DONE
    char *lines;                  // the batch: outcomes that the file does not have yet
    size_t size;
    json_t *entries; // all outcomes of the batch
    // Outcomes: moved, already in the file, without a valid entry or time.
    int64_t moved, known, invalid;
    int64_t first; // number of the history's oldest entry at the start
    json_t *files; // file name -> number of moved outcomes
    struct progress progress;
};

static const struct option rows[] = {
    TEXT_OPTION (struct archive_move, older_than, "--older-than", "TIME",
                 "runs that ended longer ago, as 30d, 12h or 1h30m"),
    NUMBER_OPTION (struct archive_move, keep, "--keep", "COUNT", 1, INT64_MAX,
                   "the newest COUNT of those selected stay, however old they are"),
    TEXTS_OPTION (struct archive_move, wanted_states, "--state", "STATE", OUTCOME_HELP,
                  .values = OUTCOME_WORDS, .offered = VALUES_SOME),
    TARGET_OPTION (struct archive_move, station, "runs at this target"),
    TEXT_OPTION (struct archive_move, wanted_plan, "--plan", "ID",
                 "runs of this plan, by its id or its name"),
};

static const struct option where_rows[] = {
    TEXT_OPTION (struct archive_move, file, "--to", "FILE",
                 "all into this file, in the place of a folder", .offered = VALUES_FILES),
    FLAG_OPTION (struct archive_move, dry_run, "--dry-run", "only print how many it would move"),
};

static const char about[] =
    "Move outcomes of runs from the station's history into files, with all that it knows of them:\n"
    "in the folder DIR one of each month, by the day the run ended (UTC): history-2026-11.ndjson.\n"
    "One JSON object per line, as `zplan history --json` prints it, with the epoch of its seq.\n"
    "All are moved, unless the options select some.\n\n"
    "  zplan archive /var/backups/zplan --older-than 30d\n"
    "  zplan archive old --keep 10000\n"
    "  zplan archive old --state failed --state lost --target billing\n"
    "  zplan archive old --plan nightly --keep 100\n"
    "  zplan history --archive old --newest -n 20       # to read them back\n\n"
    "They are on the disk before the station forgets them: it may be stopped at any time, and run\n"
    "again; what is in a file already is not written twice. Only one zplan archive at a time\n"
    "may use a folder. Only its owner may read the files. It needs a key that may observe and\n"
    "manage. `zplan watch --since` reports outcomes that were moved as missing.\n";

enum { BATCH_MAX = 1000, BATCH_SIZE = 1 << 20 };

// -- the batch

// Report why the move stops.
static bool fail_move (struct archive_move *self, const char *words)
{
    progress_clear (&self->progress);
    self->trouble = complain (NULL, span_text (words));
    return false;
}

// Send `forget`. False: it failed, which is reported.
static bool forget_outcomes (struct archive_move *self)
{
    json_t *object = json_pack ("{s:s, s:s*, s:O}", "epoch", self->epoch, "station", self->station,
                                "entries", self->entries);
    char *text = json_write (object);
    json_decref (object);
    progress_clear (&self->progress);
    json_decref (call_command (self->cli, self->client, (const char *[]){"forget", text, NULL},
                               NULL, &self->trouble));
    free (text);
    return self->trouble == EXIT_DONE;
}

// Write the batch to the file, then remove it from the history.
static bool move_batch (struct archive_move *self)
{
    struct reason reason;
    size_t count = json_array_size (self->entries);
    if (count == 0)
        return true;
    if (self->size) {
        FAILPOINT ("archive-begun");
        if (archive_append (self->archive, span_of (self->lines, self->size), &reason))
            return fail_move (self, reason.text);
    }
    FAILPOINT ("archive-written");
    if (!forget_outcomes (self))
        return false;
    FAILPOINT ("archive-forgotten");
    const char *name = archive_name (self->archive);
    json_int_t before = field_number (self->files, name);
    json_object_set_new (self->files, name, json_integer (before + (json_int_t)count));
    self->moved += (int64_t)count;
    self->size = 0;
    json_array_clear (self->entries);
    return true;
}

// Append the line of an outcome to the batch.
static bool add_line (struct archive_move *self, const json_t *run)
{
    json_t *object = json_copy ((json_t *)(uintptr_t)run);
    json_object_set_new (object, "epoch", json_string (self->epoch));
    size_t size = json_dumpb (object, self->lines + self->size, ARCHIVE_LINE_MAX,
                              JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION (13));
    json_decref (object);
    if (size == 0 || size >= ARCHIVE_LINE_MAX)
        return fail_move (self, "an outcome of the station is too large");
    self->lines[self->size + size] = '\n';
    self->size += size + 1;
    return true;
}

static bool add_to_batch (struct archive_move *self, const json_t *run,
                          const struct outcome_key *key)
{
    char name[ENTRY_NAME_SIZE];
    struct reason reason;
    if (!archive_file_covers (self->archive, key->ended_ms)) {
        if (!move_batch (self))
            return false;
        if (archive_open_month (self->archive, key->ended_ms, &reason))
            return fail_move (self, reason.text);
    }
    bool known = archive_has (self->archive, key);
    if (!known && !add_line (self, run))
        return false;
    self->known += known;
    json_array_append_new (self->entries, json_string (outcome_entry_name (key, name)));
    bool full = json_array_size (self->entries) == BATCH_MAX || self->size > BATCH_SIZE;
    return !full || move_batch (self);
}

// -- the pages

static bool check_page (struct pages *pages, const json_t *page)
{
    struct archive_move *self = pages->owner;
    if (!span_is (field_text (page, "epoch"), self->epoch))
        return fail_move (self, "the station restarted its numbering of results: run it again");
    if (!self->first)
        self->first = field_number (page, "first");
    return true;
}

static bool handle_run (struct pages *pages, json_t *run)
{
    struct archive_move *self = pages->owner;
    struct outcome_key key;
    if (!outcome_key_read (run, &key)) {
        self->invalid++;
        return true;
    }
    if (!outcome_is_before (&key, &self->stop))
        return false;
    progress_share (&self->progress, (size_t)self->moved, (int64_t)key.seq - self->first,
                    (int64_t)self->stop.seq - self->first);
    if (!outcome_matches (&self->states, run) || key.ended_ms >= self->before_ms)
        return true;
    if (self->archive)
        return add_to_batch (self, run, &key);
    self->moved++;
    return true;
}

// Skip the newest outcomes that --keep retains.
static bool skip_kept (struct pages *pages, json_t *run)
{
    struct archive_move *self = pages->owner;
    bool counts = outcome_matches (&self->states, run) && outcome_key_read (run, &self->stop);
    return !counts || --pages->room > 0;
}

// Read the history with `take_item`, at most `room` outcomes; the oldest first to move them.
static int read_pages (struct archive_move *self, bool newest, int64_t room,
                       bool (*take_item) (struct pages *pages, json_t *run))
{
    struct pages pages = {.word = "history",
                          .filter = json_pack ("{s:s*,s:s*,s:o*}", "station", self->station, "plan",
                                               *self->plan ? self->plan : NULL, "newest",
                                               newest ? json_true () : NULL),
                          .room = room,
                          .take = newest ? NULL : check_page,
                          .take_item = take_item,
                          .owner = self};
    struct verdict verdict = pages_read (self->cli, self->client, &pages);
    self->left = pages.room;
    progress_clear (&self->progress);
    return self->trouble ? self->trouble : verdict_print (&verdict, NULL);
}

// -- the move

// Find where to stop: after the last current entry, and before the first that is to be kept.
static int find_stop (struct archive_move *self)
{
    int code;
    json_t *page = call_command (self->cli, self->client,
                                 (const char *[]){"history", "{\"newest\":true,\"limit\":1}", NULL},
                                 NULL, &code);
    const char *epoch = json_string_value (json_object_get (page, "epoch"));
    json_int_t last = field_number (page, "last");
    bool sound = epoch && strlen (epoch) < sizeof self->epoch && last >= 0;
    if (sound)
        memcpy (self->epoch, epoch, strlen (epoch) + 1);
    json_decref (page);
    if (code != EXIT_DONE)
        return code;
    if (!sound)
        return complain (NULL, span_text ("the station's answer: no epoch"));
    self->stop = (struct outcome_key){.seq = (uint64_t)last + 1};
    if (self->keep == 0)
        return EXIT_DONE;
    code = read_pages (self, true, self->keep, skip_kept);
    if (self->left > 0) // there are fewer outcomes than --keep retains: none is moved
        self->stop = (struct outcome_key){0};
    return code;
}

static bool note_found_run (struct pages *pages, json_t *run)
{
    struct archive_move *self = pages->owner;
    self->found = run != NULL;
    return false;
}

// Read --plan as a name if it is an id without runs.
static int find_plan (struct archive_move *self)
{
    if (!*self->plan || plan_ref_is_name (self->plan))
        return EXIT_DONE;
    int code = read_pages (self, true, 1, note_found_run);
    if (code == EXIT_DONE && !self->found)
        snprintf (self->plan, sizeof self->plan, "key:%s", self->wanted_plan);
    return code;
}

static void report_moved (const struct archive_move *self, const char *where)
{
    if (self->cli->json) {
        print_answer_new (self->cli, JSON_ANSWER,
                          json_pack ("{s:I, s:I, s:b, s:O}", "moved", (json_int_t)self->moved,
                                     "known", (json_int_t)self->known, "dry_run", !self->archive,
                                     "files", self->files));
        return;
    }
    printf ("%" PRId64 " outcome%s %s ", self->moved, self->moved == 1 ? "" : "s",
            self->archive ? "moved to" : "would be moved to");
    print_bytes (span_text (where));
    if (self->known)
        printf ("; %" PRId64 " of them already existed", self->known);
    putchar ('\n');
}

// Move the outcomes. A dry run of an empty `forget` comes first, to detect a missing role, or a
// station without this command, before anything is written.
static int move_outcomes (struct archive_move *self)
{
    int code = find_plan (self);
    if (code == EXIT_DONE)
        code = find_stop (self);
    if (code == EXIT_DONE && self->archive)
        code = forget_outcomes (self) ? EXIT_DONE : self->trouble;
    if (code != EXIT_DONE)
        return code;
    progress_start (&self->progress, "archive", PROGRESS_QUIET);
    self->progress.things = "outcomes";
    code = read_pages (self, false, INT64_MAX, handle_run);
    if (code != EXIT_DONE || !move_batch (self))
        return code ? code : self->trouble;
    if (self->invalid == 0)
        return EXIT_DONE;
    fprintf (stderr, "zplan: without an entry or a sound time, and not moved: %" PRId64 "\n",
             self->invalid);
    return EXIT_REFUSED;
}

static int run_archive (struct archive_move *self, const char *folder)
{
    int code;
    struct reason reason;
    if (!self->dry_run) {
        self->archive = folder ? archive_open_folder (folder, &reason)
                               : archive_open_file (self->file, &reason);
        if (!self->archive)
            return complain (NULL, span_text (reason.text));
    }
    self->client = call_open (self->cli, &code);
    if (self->client) {
        self->lines = memory_new (BATCH_SIZE + ARCHIVE_LINE_MAX + 1);
        self->entries = json_array ();
        self->files = json_object ();
        code = move_outcomes (self);
        if (code == EXIT_DONE || self->moved)
            report_moved (self, folder ? folder : self->file);
        json_decref (self->files);
        json_decref (self->entries);
        free (self->lines);
        zplan_client_destroy (&self->client);
    }
    archive_close (&self->archive);
    return code;
}

// -- the options

static int read_selection (struct archive_move *self, int words, struct reason *reason)
{
    struct duration age;
    self->before_ms = INT64_MAX;
    if (words == (self->file != NULL))
        return reason_set (reason, "want either a folder or --to FILE");
    if (self->wanted_plan && plan_ref_read (self->wanted_plan, self->plan, reason))
        return -1;
    if (self->older_than) {
        if (when_duration ("--older-than", self->older_than, &age, reason))
            return -1;
        self->before_ms = clock_wall_us () / 1000 - age.seconds * 1000;
    }
    return outcome_states_read (&self->wanted_states, &self->states, reason) ? -1 : 0;
}

int verb_archive (const struct cli *cli)
{
    struct archive_move moving = {.cli = cli};
    const struct usage usage = {
        .synopsis = "zplan archive DIR | --to FILE [--older-than TIME] [--keep COUNT] [--state "
                    "STATE] [--target NAME] [--plan ID] [--dry-run]",
        .about = about,
        .groups = {OPTION_GROUP ("Which runs", rows, &moving),
                   OPTION_GROUP ("Where to", where_rows, &moving)},
        .words_max = 1,
        .words = "one folder",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    struct reason reason;
    if (read_selection (&moving, count, &reason))
        return usage_error (cli->argv[0], &reason);
    signal (SIGXFSZ, SIG_IGN); // at the file size limit, write fails instead
    return run_archive (&moving, count ? cli->argv[1] : NULL);
}
