// zplan cron: imports the lines of a crontab as plans. A line is converted to the line of JSON that
// `zplan add --from` reads, at the same line number, and submitted in the same way.
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "clock.h"
#include "crontab.h"
#include "submit_lines.h"
#include "memory.h"
#include "only.h"
#include "print.h"
#include "rfc3339.h"
#include "utf8.h"
#include "when.h"
#include "zonefile.h"

enum { NEXT = 5, PREFIX_MAX = 200, TITLE_MAX = 72 };

static const char about[] =
    "Import a crontab: each line becomes a plan of the command `sh`, whose first\n"
    "argument is the command line, and the second, if there is one, its standard\n"
    "input (what follows a %). FILE is a name, or - for standard input.\n\n"
    "  zplan cron --dry-run my.cron\n"
    "  crontab -l | zplan cron -\n"
    "  zplan cron --system --user backup --target backup /etc/crontab\n\n"
    "The plans run where a worker of the target runs scripts, as its user and in its\n"
    "folder, which is not the default:\n\n"
    "  zplan work --pull jobs --shell\n\n"
    "Hours are those of CRON_TZ where the file sets it, else of --timezone, else of\n"
    "the zone of this machine ($TZ, /etc/localtime).\n"
    "Other variables (PATH, HOME, ...) are exported in front of the command, and\n"
    "SHELL runs it. MAILTO is not kept: see `zplan logs` and `zplan add --help` for\n"
    "--on-failure. @daily and the like are accepted, @reboot is not. When both the day\n"
    "and the weekday are given one of them is enough, as in cron. Unlike in cron, a\n"
    "plan does not start again while its last run is in progress, and a run that\n"
    "fails is retried, as by `zplan add`: --retry none is what cron does. When clocks\n"
    "go back, a line whose hour is * runs in the first of the two equal hours only, in\n"
    "cron in both: --overlap both does so for all lines of a file.\n\n"
    "All lines are checked before the first one is submitted. A plan has a name,\n"
    "PREFIX-HASH: PREFIX is the file's name (without folder) or that of --name, HASH\n"
    "is of the line. So what was imported before is not added twice; if the file is\n"
    "called otherwise now, give the PREFIX of the first time:\n\n"
    "  crontab -l | zplan cron - --name ann\n"
    "  zplan cron --name ann --hold ann.crontab\n\n"
    "What became of each line is printed with the plan's name. A line that was\n"
    "changed is another plan; remove the old one. Remove the lines from the crontab,\n"
    "too, or cron still runs them.\n";

struct crontab_import {
    const struct cli *cli;
    // Options.
    const char *target, *prefix, *user, *if_exists;
    const char *timezone; // zone of lines without CRON_TZ
    bool system, dry_run, skip_bad, hold;
    struct terms terms;
    // State.
    const char *file;
    struct crontab *crontab;
    struct zone *zone; // the zone that was used last
    const char *zone_name;
    int64_t now_us;
    size_t count;      // jobs that are imported
    bool own_zone;     // all jobs so far have CRON_TZ
    const char **done; // by line: its result; NULL: none is known
};

static const struct option rows[] = {
    TEXT_OPTION (struct crontab_import, target, "--target", "NAME",
                 "the target; default: the only pull target that there is",
                 .offered = VALUES_STATIONS, .utf8 = true),
    TEXT_OPTION (struct crontab_import, timezone, "--timezone", "ZONE",
                 "zone of the hours, as Europe/Berlin; default this machine's", .utf8 = true),
    FLAG_OPTION (struct crontab_import, dry_run, "--dry-run",
                 "only print the next five times of each line; needs no station"),
    FLAG_OPTION (struct crontab_import, system, "--system",
                 "lines have a user behind the times, as in /etc/crontab"),
    TEXT_OPTION (struct crontab_import, user, "--user", "NAME",
                 "with --system: only the lines of this user", .utf8 = true),
    FLAG_OPTION (struct crontab_import, skip_bad, "--skip-bad",
                 "report lines that are wrong, but import the others"),
    TEXT_OPTION (struct crontab_import, prefix, "--name", "PREFIX",
                 "begin of the plans' names; default: the file's name, or stdin",
                 .aliases = "--prefix", .utf8 = true),
    FLAG_OPTION (struct crontab_import, hold, "--hold",
                 "keep them all paused, until `zplan reset --held`; what was\n"
                 "imported before stays as it is, without --if-exists"),
    TEXT_OPTION (struct crontab_import, if_exists, "--if-exists", "WHAT",
                 "what becomes of plans that were imported before: keep, update\n"
                 "or replace; default keep",
                 .values = "keep update replace"),
};

// -- the zone

// Load the zone of this name. NULL with a reason.
static const struct zone *load_zone (struct crontab_import *self, const char *name,
                                     struct reason *reason)
{
    if (self->zone && strcmp (self->zone_name, name) == 0)
        return self->zone;
    zone_destroy (&self->zone);
    self->zone_name = name;
    self->zone = zonefile_load (name, reason);
    return self->zone;
}

// -- the check

static int read_times (struct crontab_import *self, const char *times, const char *timezone,
                       struct when *ret, struct reason *reason)
{
    const struct when_words words = {
        .cron = {.texts = {times}, .count = 1}, .timezone = timezone, .terms = self->terms};
    const struct zone *zone = load_zone (self, timezone, reason);
    return zone ? when_read (&words, zone, self->now_us, ret, reason) : -1;
}

static const char *timezone_of (const struct crontab_import *self, const struct crontab_job *job)
{
    return job->timezone ? job->timezone : self->timezone;
}

// Check the options that no line depends on. 0, or -1 with a reason that names the option.
static int check_options (struct crontab_import *self, char zone_room[ZONEFILE_NAME_SIZE],
                          struct reason *reason)
{
    struct reason why;
    if (!self->timezone)
        self->timezone = zonefile_machine (zone_room, &why);
    struct when when;
    bool of_system =
        strcmp (self->file, "/etc/crontab") == 0 || strncmp (self->file, "/etc/cron.d/", 12) == 0;
    if (self->user && !self->system)
        reason_set (reason, "--user: goes with --system only");
    else if (of_system && !self->system)
        reason_set (reason, "%s: has a user behind the times: add --system", self->file);
    else if (strlen (self->prefix) == 0 || strlen (self->prefix) > PREFIX_MAX)
        reason_set (reason, "--name: want 1 to %d bytes", PREFIX_MAX);
    else if (!utf8_is_text (span_text (self->prefix)))
        reason_set (reason, "--name: must be given: the file's name is not UTF-8");
    else if (!self->timezone || !load_zone (self, self->timezone, &why))
        reason_set (reason, "--timezone: %s", why.text);
    else if (read_times (self, "* * * * *", self->timezone, &when, reason) == 0) {
        when_clear (&when);
        return 0;
    }
    return -1;
}

// Check what the syntax of the times does not show: days that do not exist, unknown zones. An
// invalid job gets an error remark. Such a job, and one of another user, gets no times, so that it
// is not imported.
static void check_job (struct crontab_import *self, struct crontab_job *job)
{
    struct when when;
    struct reason why, remark;
    const char *user = self->user;
    if (user && (!job->user || strcmp (user, job->user) != 0)) {
        job->times[0] = '\0';
        return;
    }
    if (read_times (self, job->times, timezone_of (self, job), &when, &why) == 0) {
        when_clear (&when);
        self->own_zone = job->timezone && (self->own_zone || !self->count);
        self->count++;
        return;
    }
    bool of_zone = job->timezone && !self->zone, of_times = strncmp (why.text, "--cron: ", 8) == 0;
    reason_set (&remark, "%s%s",
                of_zone    ? "CRON_TZ: "
                : of_times ? "times: "
                           : "",
                why.text + (of_times ? 8 : 0));
    crontab_remark (self->crontab, job->line, CRONTAB_ERROR, remark.text);
    job->times[0] = '\0';
}

static void report_remarks (const struct crontab_import *self)
{
    char text[REASON_MAX + 8];
    for (size_t i = 0; i < self->crontab->remark_count; i++) {
        const struct crontab_remark *remark = &self->crontab->remarks[i];
        snprintf (text, sizeof text, "%s%s", remark->type == CRONTAB_NOTE ? "note: " : "",
                  remark->text.text);
        complain_line (self->file, remark->line, span_text (text));
    }
}

// Report that jobs of several users will all run as the same user.
static void report_users (const struct crontab_import *self)
{
    const char *first = NULL;
    for (size_t i = 0; i < self->crontab->job_count && !self->user; i++) {
        const char *user = self->crontab->jobs[i].user;
        if (first && user && strcmp (first, user) != 0) {
            complain (self->file, span_text ("note: lines of several users: all run as the user "
                                             "of the worker; --user takes those of one"));
            return;
        }
        first = user;
    }
}

// -- the plan of a line

// The plan's title: the command, cut to the width of a column.
static json_t *title_of (const char *command)
{
    char text[TITLE_MAX + 4];
    struct span cut = utf8_cut (span_text (command), TITLE_MAX);
    snprintf (text, sizeof text, "%.*s%s", (int)cut.size, command, command[cut.size] ? "..." : "");
    return json_string (text);
}

// The plan's name, PREFIX-HASH: it depends on the line's text, not on its position. The second of
// identical lines is PREFIX-HASH-2, and so on.
static json_t *name_of (const struct crontab_import *self, const struct crontab_job *job)
{
    int same = 1;
    char text[PREFIX_MAX + 32], number[16] = "";
    for (const struct crontab_job *other = self->crontab->jobs; other < job; other++)
        same += strcmp (other->digest, job->digest) == 0;
    if (same > 1)
        snprintf (number, sizeof number, "-%d", same);
    snprintf (text, sizeof text, "%.*s-%s%s", PREFIX_MAX, self->prefix, job->digest, number);
    return json_string (text);
}

// The job as the object that `zplan add --from` reads, without the target and the options.
static json_t *job_object (const struct crontab_import *self, const struct crontab_job *job)
{
    return json_pack ("{s:s, s:[s, s*], s:o, s:o, s:s, s:s}", "command", "sh", "arg", job->script,
                      job->input, "title", title_of (job->command), "name", name_of (self, job),
                      "cron", job->times, "timezone", timezone_of (self, job));
}

// Add the options of the command line, which apply to all plans.
static void add_options (const struct crontab_import *self, json_t *object)
{
    struct terms terms = self->terms;
    const struct option_group group = terms_options (&terms);
    for (size_t i = 0; i < group.count; i++) {
        const void *field = (const uint8_t *)&terms + group.rows[i].offset;
        const char *value = *(const char *const *)field;
        if (value)
            json_object_set_new (object, group.rows[i].name + strlen ("--"), json_string (value));
    }
    if (self->if_exists)
        json_object_set_new (object, "if-exists", json_string (self->if_exists));
}

// -- with --dry-run

// Unix seconds as local time of this zone: "2026-12-24T18:00:00+01:00".
static json_t *local_time (const struct zone *zone, int64_t time)
{
    char text[RFC3339_SIZE + 8];
    int32_t offset = zone_offset (zone, time), minutes = abs (offset) / 60;
    rfc3339_format (time + offset, text);
    size_t size = strlen (text) - 1; // without the Z
    snprintf (text + size, sizeof text - size, "%c%02d:%02d", offset < 0 ? '-' : '+', minutes / 60,
              minutes % 60);
    return json_string (text);
}

static json_t *next_times (struct crontab_import *self, const struct crontab_job *job)
{
    struct when when;
    struct reason ignored;
    json_t *list = json_array ();
    if (read_times (self, job->times, timezone_of (self, job), &when, &ignored))
        return list; // check_job reported it
    struct occurrence at;
    bool more = schedule_first (&when.rule, self->zone, when.rule.received, 0, &at);
    for (int i = 0; more && i < NEXT; i++) {
        json_array_append_new (list, local_time (self->zone, at.time));
        struct occurrence current = at;
        more = schedule_next (&when.rule, self->zone, &current, current.time, &at);
    }
    when_clear (&when);
    return list;
}

static void preview_job (struct crontab_import *self, const struct crontab_job *job)
{
    size_t i;
    const json_t *time;
    json_t *object = job_object (self, job), *times = next_times (self, job);
    json_object_set_new (object, "line", json_integer (job->line));
    json_object_set_new (object, "next", times);
    if (self->cli->json) {
        print_json (object);
    } else {
        printf ("line %d: ", job->line);
        print_between ("", span_text (job->times), "  ");
        write_frame (stdout, json_object_get (object, "title"));
        printf (job->timezone ? "  (%s)\n" : "\n", job->timezone);
        json_array_foreach (times, i, time) printf ("  %s\n", json_string_value (time));
    }
    json_decref (object);
}

static int preview_jobs (struct crontab_import *self)
{
    for (size_t i = 0; i < self->crontab->job_count; i++)
        if (*self->crontab->jobs[i].times)
            preview_job (self, &self->crontab->jobs[i]);
    if (!self->cli->json)
        printf ("%zu line%s, hours of %s; nothing was submitted\n", self->count,
                self->count == 1 ? "" : "s", self->own_zone ? "CRON_TZ" : self->timezone);
    return self->crontab->error_count && !self->skip_bad ? EXIT_REFUSED : EXIT_DONE;
}

// -- the import

// Write the jobs as lines of JSON, at the same line numbers as in the crontab. Free the text.
static char *job_lines (const struct crontab_import *self, const char *target, size_t *ret_size)
{
    char *text = NULL;
    int line = 1;
    FILE *out = text_open (&text, ret_size);
    for (size_t i = 0; i < self->crontab->job_count; i++) {
        const struct crontab_job *job = &self->crontab->jobs[i];
        if (!*job->times)
            continue;
        for (; line < job->line; line++)
            fputc ('\n', out);
        json_t *object = job_object (self, job);
        json_object_set_new (object, "target", json_string (target));
        add_options (self, object);
        write_json (out, object);
        json_decref (object);
    }
    fputc ('\n', out);
    fclose (out);
    return text;
}

static void print_job_results (const struct crontab_import *self)
{
    static const struct {
        const char *done, *words;
    } rows_done[] = {{"add", "added"},
                     {"nothing", "already exists"},
                     {"update", "updated"},
                     {"replace", "replaced"}};
    for (size_t i = 0; i < self->crontab->job_count; i++) {
        const struct crontab_job *job = &self->crontab->jobs[i];
        const char *done = self->done[job->line];
        for (size_t k = 0; done && k < sizeof rows_done / sizeof *rows_done; k++) {
            if (strcmp (rows_done[k].done, done) != 0)
                continue;
            json_t *object = job_object (self, job);
            printf ("line %d: ", job->line);
            write_frame (stdout, json_object_get (object, "name"));
            printf (" %s: ", rows_done[k].words);
            write_frame (stdout, json_object_get (object, "title"));
            putchar ('\n');
            json_decref (object);
        }
    }
}

// Store the result of a line: answers come in any order, and are printed in the file's order.
static void on_line (void *owner, int64_t line, const char *done)
{
    struct crontab_import *self = owner;
    if (line)
        self->done[line] = done;
    else
        print_job_results (self);
}

static int import_jobs (struct crontab_import *self)
{
    int code = EXIT_DONE;
    size_t size;
    char only[TARGET_NAME_SIZE];
    const char *target = self->target;
    if (!target) {
        struct zplan_client *client = call_open (self->cli, &code);
        if (client)
            code = only_target_find (self->cli, client, "pull", "--target", only);
        zplan_client_destroy (&client);
        if (code)
            return code;
        target = only;
    }
    char *text = job_lines (self, target, &size);
    FILE *file = fmemopen (text, size, "r");
    if (!file)
        abort ();
    size_t count = self->crontab->job_count;
    size_t lines = count ? (size_t)self->crontab->jobs[count - 1].line : 0;
    self->done = memory_new ((lines + 1) * sizeof *self->done);
    const struct submit_lines load = {.file = self->file,
                                      .opened = file,
                                      .timezone = self->timezone,
                                      .mode = self->hold ? LINES_HELD : LINES_AS_THEY_ARE,
                                      .on_line = on_line,
                                      .owner = self};
    code = submit_lines (self->cli, &load);
    free (self->done);
    if (code == EXIT_DONE && !self->cli->json && self->count > 0) {
        if (self->hold)
            printf ("new ones are paused; start them with: zplan reset --held\n");
        printf ("hours of %s; run them with: zplan work --pull ",
                self->own_zone ? "CRON_TZ" : self->timezone);
        print_between ("", span_text (target), " --shell\n");
    }
    fclose (file);
    free (text);
    return code;
}

static int import_crontab (struct crontab_import *self)
{
    struct crontab *crontab = self->crontab;
    for (size_t i = 0; i < crontab->job_count; i++)
        check_job (self, &crontab->jobs[i]);
    report_remarks (self);
    report_users (self);
    bool wrong = crontab->cut || (crontab->error_count && !self->skip_bad);
    if (self->dry_run)
        return preview_jobs (self);
    if (!wrong)
        return import_jobs (self);
    return complain (self->file,
                     span_text (crontab->cut ? "too many lines are wrong: nothing was imported"
                                             : "nothing was imported: fix the lines above, "
                                               "or skip them with --skip-bad"));
}

// Read and parse the whole file; NULL: reported on stderr.
static struct crontab *read_file (const char *name, enum crontab_format format)
{
    FILE *file = lines_open (name);
    if (!file)
        return NULL;
    char *text = memory_new (CRONTAB_SIZE_MAX + 1);
    size_t size = fread (text, 1, CRONTAB_SIZE_MAX + 1, file);
    struct crontab *crontab = NULL;
    if (ferror (file))
        complain (name, span_text (strerror (errno)));
    else if (size > CRONTAB_SIZE_MAX)
        complain (name, span_text ("is larger than 1 MiB"));
    else
        crontab = crontab_read (span_of (text, size), format);
    if (file != stdin)
        fclose (file);
    free (text);
    return crontab;
}

int verb_cron (const struct cli *cli)
{
    struct crontab_import self = {.cli = cli, .now_us = clock_wall_us ()};
    const struct usage usage = {
        .synopsis = "zplan cron FILE [--name PREFIX] [--target NAME] [--timezone ZONE] [--hold] "
                    "[--dry-run] [--system [--user NAME]]",
        .about = about,
        .groups = {OPTION_GROUP ("Import", rows, &self), terms_options (&self.terms)},
        .words_min = 1,
        .words_max = 1,
        .words = "one file",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    self.file = strcmp (cli->argv[1], "-") == 0 ? "stdin" : cli->argv[1];
    if (!self.prefix)
        self.prefix = basename (self.file);
    char zone_room[ZONEFILE_NAME_SIZE];
    struct reason reason;
    if (check_options (&self, zone_room, &reason)) {
        zone_destroy (&self.zone);
        return usage_error (cli->argv[0], &reason);
    }
    self.crontab = read_file (cli->argv[1], self.system ? CRONTAB_SYSTEM : CRONTAB_USER);
    code = self.crontab ? import_crontab (&self) : EXIT_REFUSED;
    crontab_destroy (&self.crontab);
    zone_destroy (&self.zone);
    return code;
}
