// zplan cron: the lines of a crontab as plans. A line is rewritten as the line of JSON that `zplan
// add --from` takes, at the same line number, and goes the same way into the station.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "civil.h"
#include "clock.h"
#include "crontab.h"
#include "json.h"
#include "load.h"
#include "memory.h"
#include "only.h"
#include "print.h"
#include "utf8.h"
#include "when.h"
#include "zonefile.h"

enum { TITLE_MAX = 72, PREFIX_MAX = 200, NEXT = 5, LOCAL_SIZE = 40 };

static const char about[] =
    "Import a crontab: each line becomes a plan of the command `sh`, whose first\n"
    "argument is the command line, and the second, if there is one, its standard\n"
    "input (what stands behind a %). FILE is a name, or - for standard input.\n\n"
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
    "--on-failure. @daily and the like are taken, @reboot is not. When both the day\n"
    "and the weekday are given one of them is enough, as in cron. Unlike in cron, a\n"
    "plan does not start again while its last run is in progress, and what fails is\n"
    "tried again, as of `zplan add`: --retry none is what cron does.\n\n"
    "All lines are checked before the first one is submitted. A plan has a name,\n"
    "made of the file's name and a hash of the line, so what was imported before is\n"
    "not added twice. A line that was changed is another plan; remove the old one.\n"
    "Remove the lines from the crontab, too, or cron goes on to run them.\n";

struct wish {
    const char *target, *timezone, *prefix, *user, *if_exists;
    bool system, dry_run, skip_bad;
    struct terms terms;
};

static const struct option rows[] = {
    {.name = "--target",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct wish, target),
     .offered = VALUES_STATIONS,
     .utf8 = true,
     .help = "the target; default: the only pull target that there is"},
    {.name = "--timezone",
     .metavar = "ZONE",
     .type = OPTION_TEXT,
     .offset = offsetof (struct wish, timezone),
     .utf8 = true,
     .help = "zone of the hours, as Europe/Berlin; default this machine's"},
    {.name = "--dry-run",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, dry_run),
     .help = "only print the next five times of each line; needs no station"},
    {.name = "--system",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, system),
     .help = "lines have a user behind the times, as in /etc/crontab"},
    {.name = "--user",
     .metavar = "NAME",
     .type = OPTION_TEXT,
     .offset = offsetof (struct wish, user),
     .utf8 = true,
     .help = "with --system: only the lines of this user"},
    {.name = "--skip-bad",
     .type = OPTION_FLAG,
     .offset = offsetof (struct wish, skip_bad),
     .help = "report lines that are wrong, but import the others"},
    {.name = "--prefix",
     .metavar = "TEXT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct wish, prefix),
     .utf8 = true,
     .help = "begin of the plans' names; default: the file's name, or stdin"},
    {.name = "--if-exists",
     .metavar = "WHAT",
     .type = OPTION_TEXT,
     .offset = offsetof (struct wish, if_exists),
     .values = "keep update replace",
     .help = "what becomes of plans that were imported before: keep, update\n"
             "or replace; default keep"},
};

struct importing {
    const struct cli *cli;
    const struct wish *wish;
    const char *file, *prefix;
    const char *timezone; // of lines without CRON_TZ
    struct crontab *crontab;
    struct zone *zone; // the last that was asked for
    const char *zone_name;
    int64_t now_us;
    size_t count; // jobs that are imported
};

// -- the zone

// The zone of this name. NULL with a reason.
static const struct zone *zone_of (struct importing *self, const char *name, struct reason *reason)
{
    if (self->zone && strcmp (self->zone_name, name) == 0)
        return self->zone;
    zone_destroy (&self->zone);
    self->zone_name = name;
    self->zone = zonefile_load (name, reason);
    return self->zone;
}

// -- the check

static int read_times (struct importing *self, const char *times, const char *timezone,
                       struct when *ret, struct reason *reason)
{
    const struct when_words words = {
        .cron = {.texts = {times}, .count = 1}, .timezone = timezone, .terms = self->wish->terms};
    const struct zone *zone = zone_of (self, timezone, reason);
    return zone ? when_read (&words, zone, self->now_us, ret, reason) : -1;
}

static const char *timezone_of (const struct importing *self, const struct crontab_job *job)
{
    return job->timezone ? job->timezone : self->timezone;
}

static bool is_wanted (const struct importing *self, const struct crontab_job *job)
{
    return !self->wish->user || (job->user && strcmp (self->wish->user, job->user) == 0);
}

static bool is_utf8 (const char *text)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + strlen (text);
    size_t size = 1;
    for (; at < end && size > 0; at += size)
        size = utf8_size (at, end);
    return size > 0;
}

// What no line is to blame for. 0, or -1 with a reason that names the option.
static int check_options (struct importing *self, char zone_room[ZONEFILE_NAME_SIZE],
                          struct reason *reason)
{
    struct reason why;
    if (!self->timezone)
        self->timezone = zonefile_machine (zone_room, &why);

    const struct wish *wish = self->wish;
    struct when when;
    bool of_system =
        strcmp (self->file, "/etc/crontab") == 0 || strncmp (self->file, "/etc/cron.d/", 12) == 0;
    if (wish->user && !wish->system)
        reason_set (reason, "--user: goes with --system only");
    else if (of_system && !wish->system)
        reason_set (reason, "%s: has a user behind the times: add --system", self->file);
    else if (strlen (self->prefix) > PREFIX_MAX)
        reason_set (reason, "--prefix: want at most %d bytes", PREFIX_MAX);
    else if (!is_utf8 (self->prefix))
        reason_set (reason, "--prefix: must be given: the file's name is not UTF-8");
    else if (!self->timezone || !zone_of (self, self->timezone, &why))
        reason_set (reason, "--timezone: %s", why.text);
    else if (read_times (self, "* * * * *", self->timezone, &when, reason) == 0) {
        when_clear (&when);
        return 0;
    }
    return -1;
}

// What a reader of times alone cannot see: days that do not exist, zones that are not known.
static void check_job (struct importing *self, struct crontab_job *job)
{
    struct when when;
    struct reason why, told;
    if (read_times (self, job->times, timezone_of (self, job), &when, &why) == 0) {
        when_clear (&when);
        self->count++;
        return;
    }
    bool of_zone = job->timezone && !self->zone, of_times = strncmp (why.text, "--cron: ", 8) == 0;
    reason_set (&told, "%s%s",
                of_zone    ? "CRON_TZ: "
                : of_times ? "times: "
                           : "",
                why.text + (of_times ? 8 : 0));
    crontab_remark (self->crontab, job->line, CRONTAB_ERROR, told.text);
    job->times[0] = '\0'; // it is not imported
}

static void tell_remarks (const struct importing *self)
{
    char subject[REASON_MAX], text[REASON_MAX + 8];
    for (size_t i = 0; i < self->crontab->remark_count; i++) {
        const struct crontab_remark *remark = &self->crontab->remarks[i];
        snprintf (subject, sizeof subject, "%.150s:%d", self->file, remark->line);
        snprintf (text, sizeof text, "%s%s", remark->type == CRONTAB_NOTE ? "note: " : "",
                  remark->text.text);
        complain (subject, span_text (text));
    }
}

// Lines of several users all run as one.
static void tell_users (const struct importing *self)
{
    const char *first = NULL;
    for (size_t i = 0; i < self->crontab->job_count && !self->wish->user; i++) {
        const char *user = self->crontab->jobs[i].user;
        if (first && user && strcmp (first, user) != 0) {
            complain (self->file, span_text ("note: lines of several users: all run as the user "
                                             "of the worker; --user takes those of one"));
            return;
        }
        first = user;
    }
}

// -- a plan

// The command, cut to what a column takes.
static json_t *title_of (const char *command)
{
    char text[TITLE_MAX + 4];
    const uint8_t *from = (const uint8_t *)command, *end = from + strlen (command), *at = from;
    while (at < end && (size_t)(at - from) + utf8_size (at, end) <= TITLE_MAX)
        at += utf8_size (at, end);
    snprintf (text, sizeof text, "%.*s%s", (int)(at - from), command, at < end ? "..." : "");
    return json_string (text);
}

// Of lines that are the same each has its own: the second is NAME-2.
static json_t *name_of (const struct importing *self, const struct crontab_job *job)
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

// As `zplan add --from` takes it.
static json_t *line_of (const struct importing *self, const struct crontab_job *job)
{
    json_t *object = json_object (), *arguments = json_array ();
    json_array_append_new (arguments, json_string (job->script));
    if (job->input)
        json_array_append_new (arguments, json_string (job->input));
    json_object_set_new (object, "command", json_string ("sh"));
    json_object_set_new (object, "arg", arguments);
    json_object_set_new (object, "title", title_of (job->command));
    json_object_set_new (object, "name", name_of (self, job));
    json_object_set_new (object, "cron", json_string (job->times));
    json_object_set_new (object, "timezone", json_string (timezone_of (self, job)));
    return object;
}

// What the options say of all plans.
static void add_options (const struct importing *self, json_t *object)
{
    struct terms terms = self->wish->terms;
    const struct option_group group = terms_options (&terms);
    for (size_t i = 0; i < group.count; i++) {
        const char *value;
        memcpy (&value, (const uint8_t *)&terms + group.rows[i].offset, sizeof value);
        if (value)
            json_object_set_new (object, group.rows[i].name + strlen ("--"), json_string (value));
    }
    if (self->wish->if_exists)
        json_object_set_new (object, "if-exists", json_string (self->wish->if_exists));
}

// -- with --dry-run

// "2026-12-24T18:00:00+01:00", by the clock of this zone.
static json_t *local_text (const struct zone *zone, int64_t time)
{
    char text[LOCAL_SIZE];
    int32_t offset = zone_offset (zone, time), minutes = abs (offset) / 60;
    int64_t local = time + offset, second = civil_time_of_day (local);
    struct civil_date date = civil_date (civil_day_of (local));
    snprintf (text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d", (int)date.year,
              date.month, date.day, (int)(second / 3600), (int)(second / 60 % 60),
              (int)(second % 60), offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
    return json_string (text);
}

static json_t *next_times (struct importing *self, const struct crontab_job *job)
{
    struct when when;
    struct reason ignored;
    json_t *list = json_array ();
    if (read_times (self, job->times, timezone_of (self, job), &when, &ignored))
        return list; // check_job has seen to it
    struct occurrence at;
    bool more = schedule_first (&when.rule, self->zone, when.rule.received, 0, &at);
    for (int i = 0; more && i < NEXT; i++) {
        json_array_append_new (list, local_text (self->zone, at.time));
        struct occurrence current = at;
        more = schedule_next (&when.rule, self->zone, &current, current.time, &at);
    }
    when_clear (&when);
    return list;
}

static void foretell (struct importing *self, const struct crontab_job *job)
{
    size_t i;
    const json_t *time;
    json_t *object = line_of (self, job), *times = next_times (self, job);
    json_object_set_new (object, "line", json_integer (job->line));
    json_object_set_new (object, "next", times);
    if (self->cli->json) {
        print_json (object);
    } else {
        printf ("line %d: ", job->line);
        print_bytes (span_text (job->times));
        printf ("  ");
        print_frame (json_object_get (object, "title"));
        printf (job->timezone ? "  (%s)\n" : "\n", job->timezone);
        json_array_foreach (times, i, time)
        {
            printf ("  %s\n", json_string_value (time));
        }
    }
    json_decref (object);
}

static int foretell_all (struct importing *self)
{
    for (size_t i = 0; i < self->crontab->job_count; i++) {
        const struct crontab_job *job = &self->crontab->jobs[i];
        if (*job->times && is_wanted (self, job))
            foretell (self, job);
    }
    if (!self->cli->json)
        printf ("%zu line%s, hours of %s; nothing was submitted\n", self->count,
                self->count == 1 ? "" : "s", self->timezone);
    return self->crontab->error_count && !self->wish->skip_bad ? EXIT_REFUSED : EXIT_DONE;
}

// -- the import

// Lines of JSON, at the numbers that they have in the crontab. The text is to be freed.
static char *lines_of (const struct importing *self, const char *target, size_t *ret_size)
{
    char *text = NULL;
    int line = 1;
    FILE *out = open_memstream (&text, ret_size);
    if (!out)
        abort ();
    for (size_t i = 0; i < self->crontab->job_count; i++) {
        const struct crontab_job *job = &self->crontab->jobs[i];
        if (!*job->times || !is_wanted (self, job))
            continue;
        for (; line < job->line; line++)
            fputc ('\n', out);
        json_t *object = line_of (self, job);
        json_object_set_new (object, "target", json_string (target));
        add_options (self, object);
        write_json (out, object);
        json_decref (object);
    }
    fputc ('\n', out);
    fclose (out);
    return text;
}

static int import_all (struct importing *self)
{
    int code = EXIT_DONE;
    size_t size;
    char only[TARGET_NAME_SIZE];
    const char *target = self->wish->target;
    if (!target) {
        struct zplan_client *client = call_open (self->cli, &code);
        if (client)
            code = only_target (self->cli, client, "pull", "--target", only);
        zplan_client_destroy (&client);
        if (code)
            return code;
        target = only;
    }
    char *text = lines_of (self, target, &size);
    FILE *file = fmemopen (text, size, "r");
    if (!file)
        abort ();
    const struct load load = {.file = self->file, .opened = file, .timezone = self->timezone};
    code = load_file (self->cli, &load);
    if (code == EXIT_DONE && !self->cli->json && self->count > 0) {
        printf ("hours of %s; run them with: zplan work --pull ", self->timezone);
        print_bytes (span_text (target));
        printf (" --shell\n");
    }
    fclose (file);
    free (text);
    return code;
}

static int import_crontab (struct importing *self)
{
    struct crontab *crontab = self->crontab;
    for (size_t i = 0; i < crontab->job_count; i++)
        if (is_wanted (self, &crontab->jobs[i]))
            check_job (self, &crontab->jobs[i]);
    tell_remarks (self);
    tell_users (self);
    bool wrong = crontab->cut || (crontab->error_count && !self->wish->skip_bad);
    if (self->wish->dry_run)
        return foretell_all (self);
    if (!wrong)
        return import_all (self);
    complain (self->file, span_text (crontab->cut ? "too many lines are wrong: nothing was imported"
                                                  : "nothing was imported: mend the lines above, "
                                                    "or leave them out with --skip-bad"));
    return EXIT_REFUSED;
}

// All of it; NULL: told on stderr.
static struct crontab *read_file (const char *name, enum crontab_format format)
{
    FILE *file = load_open (name);
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
    struct wish wish = {0};
    const struct usage usage = {
        .synopsis = "zplan cron FILE [--target NAME] [--timezone ZONE] [--dry-run] [--system "
                    "[--user NAME]]",
        .about = about,
        .groups = {{"Import", rows, sizeof rows / sizeof *rows, &wish},
                   terms_options (&wish.terms)},
        .group_count = 2,
        .words_min = 1,
        .words_max = 1,
        .words = "one file",
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    const char *file = cli->argv[1], *slash = strrchr (file, '/');
    bool is_stdin = strcmp (file, "-") == 0;
    struct importing self = {.cli = cli,
                             .wish = &wish,
                             .file = is_stdin ? "stdin" : file,
                             .prefix = wish.prefix ? wish.prefix
                                       : is_stdin  ? "stdin"
                                       : slash     ? slash + 1
                                                   : file,
                             .timezone = wish.timezone,
                             .now_us = clock_wall_us ()};
    char zone_room[ZONEFILE_NAME_SIZE];
    struct reason reason;
    if (check_options (&self, zone_room, &reason)) {
        zone_destroy (&self.zone);
        return usage_error (cli->argv[0], &reason);
    }
    self.crontab = read_file (file, wish.system ? CRONTAB_SYSTEM : CRONTAB_USER);
    code = self.crontab ? import_crontab (&self) : EXIT_REFUSED;
    crontab_destroy (&self.crontab);
    zone_destroy (&self.zone);
    return code;
}
