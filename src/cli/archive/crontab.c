// A cursor reads each line once. A variable applies to all lines after it: each job's script begins
// with the variables that precede its line.
#include "crontab.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cron_parse.h"
#include "memory.h"
#include "utf8.h"

enum { TIME_FIELDS = 5 };

#define BLANKS " \t"

struct crontab_reader {
    struct crontab *crontab;
    enum crontab_format format;
    json_t *variables; // name -> value, in the order of the file
    size_t variable_bytes;
    int line;
    const char *start, *at; // the line, and the cursor in it
};

// Variables with a meaning to cron; a plan has other settings for it.
static const struct {
    const char *name, *instead;
} ignored_variables[] = {
    {"MAILTO", "nothing is mailed; use --on-failure, or zplan watch --exec"},
    {"MAILFROM", "nothing is mailed"},
    {"CONTENT_TYPE", "nothing is mailed"},
    {"CONTENT_TRANSFER_ENCODING", "nothing is mailed"},
    {"RANDOM_DELAY", "use --jitter"},
    {"START_HOURS_RANGE", "it is of anacron"},
    {"LOGNAME", "commands run as the user of the worker"},
    {"USER", "commands run as the user of the worker"},
};

// -- remarks

void crontab_remark (struct crontab *self, int line, int type, const char *text)
{
    self->remarks = memory_resize (self->remarks, (self->remark_count + 1) * sizeof *self->remarks);
    struct crontab_remark *remark = &self->remarks[self->remark_count++];
    *remark = (struct crontab_remark){.line = line, .type = type};
    reason_set (&remark->text, "%s", text);
    self->error_count += type == CRONTAB_ERROR;
}

static void reject_column (struct crontab_reader *self, const char *at, const char *text)
{
    struct reason reason;
    reason_set (&reason, "column %d: %s", (int)(at - self->start) + 1, text);
    crontab_remark (self->crontab, self->line, CRONTAB_ERROR, reason.text);
}

// -- a line

static void skip_blanks (struct crontab_reader *self)
{
    self->at += strspn (self->at, BLANKS);
}

// -- variables

// Parse a text in single or double quotes, and move the cursor past it. NULL: there is no opening
// or no closing quote.
static char *parse_quoted (struct crontab_reader *self)
{
    char quote = *self->at;
    const char *close = quote == '"' || quote == '\'' ? strchr (self->at + 1, quote) : NULL;
    if (!close)
        return NULL;
    char *text = memory_copy (self->at + 1, (size_t)(close - self->at - 1));
    self->at = close + 1;
    return text;
}

static const char *variable_value (const struct crontab_reader *self, const char *name)
{
    return json_string_value (json_object_get (self->variables, name));
}

static bool is_shell_name (const char *name)
{
    size_t size = strspn (name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return size > 0 && !name[size] && !isdigit ((unsigned char)*name);
}

// Set a variable for the next lines.
static void set_variable (struct crontab_reader *self, const char *at, const char *name,
                          const char *value)
{
    for (size_t i = 0; i < sizeof ignored_variables / sizeof *ignored_variables; i++) {
        if (strcmp (ignored_variables[i].name, name) != 0)
            continue;
        struct reason reason;
        reason_set (&reason, "%s is not kept: %s", name, ignored_variables[i].instead);
        if (*value) // MAILTO="" turns cron's mail off
            crontab_remark (self->crontab, self->line, CRONTAB_NOTE, reason.text);
        return;
    }
    size_t size = strlen (name) + strlen (value);
    if (!is_shell_name (name) || self->variable_bytes + size > CRONTAB_VARIABLES_MAX) {
        reject_column (self, at,
                       is_shell_name (name) ? "want at most 16 KiB of variables"
                                            : "want a variable's name of letters, digits and _");
        return;
    }
    const char *before = variable_value (self, name);
    self->variable_bytes += before ? strlen (value) - strlen (before) : size;
    json_object_set_new (self->variables, name, json_string (value));
}

// Read "NAME = value", each possibly in quotes. False: not such a line, and the cursor is
// unchanged.
static bool parse_variable (struct crontab_reader *self)
{
    const char *from = self->at;
    char *name = parse_quoted (self);
    if (!name) {
        size_t size = strcspn (from, "=" BLANKS);
        name = memory_copy (from, size);
        self->at += size;
    }
    skip_blanks (self);
    if (!*name || *self->at != '=') {
        free (name);
        self->at = from;
        return false;
    }
    self->at++;
    skip_blanks (self);
    size_t size = strlen (self->at);
    while (size && strchr (BLANKS, self->at[size - 1]))
        size--;
    char *plain = memory_copy (self->at, size), *value = parse_quoted (self);
    if (value)
        skip_blanks (self);
    if (value && *self->at)
        reject_column (self, self->at, "want nothing behind the quote");
    else
        set_variable (self, from, name, value ? value : plain);
    free (plain);
    free (name);
    free (value);
    return true;
}

// -- the command

static void write_quoted (FILE *out, const char *text)
{
    fputc ('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs ("'\\''", out);
        else
            fputc (*text, out);
    fputc ('\'', out);
}

// Make a script for /bin/sh that runs the command as cron's own shell would.
static char *script_of (const struct crontab_reader *self, const char *command)
{
    char *text = NULL;
    const char *name;
    json_t *value;
    size_t size;
    FILE *out = open_memstream (&text, &size);
    if (!out)
        abort ();
    json_object_foreach (self->variables, name, value)
    {
        if (strcmp (name, "CRON_TZ") == 0)
            continue;
        fprintf (out, "export %s=", name);
        write_quoted (out, json_string_value (value));
        fputs ("; ", out);
        if (strcmp (name, "HOME") == 0) // where cron starts commands
            fputs ("cd \"$HOME\" || exit; ", out);
    }
    const char *shell = variable_value (self, "SHELL");
    if (shell && *shell && strcmp (shell, "/bin/sh") != 0) {
        fputs ("exec ", out);
        write_quoted (out, shell);
        fputs (" -c ", out);
        write_quoted (out, command);
    } else {
        fputs (command, out);
    }
    fclose (out);
    return text;
}

// Copy the command up to the first %, where the input begins; "\%" is a %. Returns where it ended.
static const char *copy_command (const char *at, char *out)
{
    for (; *at && *at != '%'; at++) {
        if (*at == '\\' && at[1]) { // the next character is literal
            if (at[1] != '%')
                *out++ = *at;
            at++;
        }
        *out++ = *at;
    }
    *out = '\0';
    return at;
}

// Make the input: each further % is a newline, and one is added at the end; NULL: there is no
// input.
static char *input_of (const char *at)
{
    if (!*at)
        return NULL;
    char *input = memory_new (strlen (at) + 2), *out = input;
    for (; *at; at++) {
        bool escaped = *at == '\\' && at[1] == '%';
        at += escaped;
        *out++ = *at == '%' && !escaped ? '\n' : *at;
    }
    if (out[-1] != '\n')
        *out++ = '\n';
    *out = '\0';
    return input;
}

// -- jobs

// Set the digest: FNV-1a of the texts, each including its NUL.
static void job_digest (struct crontab_job *job)
{
    const char *const texts[] = {job->times, job->timezone, job->user, job->script, job->input};
    uint64_t hash = UINT64_C (14695981039346656037);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (const char *at = texts[i] ? texts[i] : "";; at++) {
            hash = (hash ^ (uint8_t)*at) * UINT64_C (1099511628211);
            if (!*at)
                break;
        }
    snprintf (job->digest, sizeof job->digest, "%012" PRIx64, (hash ^ hash >> 48) & 0xffffffffffff);
}

// Parse the five fields or the @word at the cursor, and move it past them. NULL: rejected.
static char *parse_times (struct crontab_reader *self)
{
    struct cron_rule rule;
    struct reason reason;
    const char *from = self->at, *end = from;
    int fields = 0, wanted = *from == '@' ? 1 : TIME_FIELDS;
    char *times = memory_new (strlen (from) + 1), *out = times;
    for (; fields < wanted && *self->at; fields++, skip_blanks (self)) {
        end = self->at + strcspn (self->at, BLANKS);
        if (fields)
            *out++ = ' ';
        out = mempcpy (out, self->at, (size_t)(end - self->at));
        self->at = end;
    }
    *out = '\0';
    if (strcasecmp (times, "@reboot") == 0)
        reject_column (self, from,
                       "@reboot is no time of a plan: let systemd or the system's cron do it");
    else if (fields < wanted)
        reject_column (self, self->at, "want 5 fields of time and a command");
    else if (cron_parse (span_of (self->start, (size_t)(end - self->start)), "times", &rule,
                         &reason))
        crontab_remark (self->crontab, self->line, CRONTAB_ERROR, reason.text);
    else
        return times;
    free (times);
    return NULL;
}

static void parse_job (struct crontab_reader *self)
{
    struct crontab *crontab = self->crontab;
    char *times = parse_times (self);
    if (!times)
        return;
    skip_blanks (self);
    const char *user = self->at;
    size_t user_size = self->format == CRONTAB_SYSTEM ? strcspn (user, BLANKS) : 0;
    self->at += user_size;
    skip_blanks (self);
    const char *missing = *self->at                        ? NULL
                          : self->format == CRONTAB_SYSTEM ? "want a user and a command"
                                                           : "want a command";
    if (crontab->job_count == CRONTAB_JOBS_MAX)
        missing = "want at most 10000 lines of jobs";
    if (missing) {
        reject_column (self, self->at, missing);
        free (times);
        return;
    }
    crontab->jobs = memory_resize (crontab->jobs, (crontab->job_count + 1) * sizeof *crontab->jobs);
    struct crontab_job *job = &crontab->jobs[crontab->job_count++];
    const char *zone = variable_value (self, "CRON_TZ");
    *job = (struct crontab_job){.line = self->line, .times = times};
    job->timezone = zone && *zone ? memory_text (zone) : NULL;
    job->user = self->format == CRONTAB_SYSTEM ? memory_copy (user, user_size) : NULL;
    job->command = memory_new (strlen (self->at) + 1);
    const char *percent = copy_command (self->at, job->command);
    job->script = script_of (self, job->command);
    job->input = *percent ? input_of (percent + 1) : NULL;
    job_digest (job);
}

// -- the crontab

static void parse_line (struct crontab_reader *self, struct span line)
{
    char *text = memory_copy (line.data, line.size);
    self->start = self->at = text;
    skip_blanks (self);
    if (*self->at != '#' && !utf8_is_text (line))
        reject_column (self, text + utf8_text_size (line), "want UTF-8 without NULs");
    else if (*self->at && *self->at != '#' && !parse_variable (self))
        parse_job (self);
    free (text);
}

struct crontab *crontab_read (struct span text, enum crontab_format format)
{
    struct crontab *crontab = memory_new (sizeof *crontab);
    struct crontab_reader reader = {
        .crontab = crontab, .format = format, .variables = json_object ()};
    while (text.size && !crontab->cut) {
        struct span line = span_take_line (&text);
        reader.line++;
        crontab->cut = crontab->remark_count >= CRONTAB_REMARKS_MAX;
        if (!crontab->cut)
            parse_line (&reader, line);
    }
    json_decref (reader.variables);
    return crontab;
}

void crontab_destroy (struct crontab **self)
{
    struct crontab *crontab = *self;
    if (!crontab)
        return;
    for (size_t i = 0; i < crontab->job_count; i++) {
        struct crontab_job *job = &crontab->jobs[i];
        char *const texts[] = {job->times,   job->timezone, job->user,
                               job->command, job->script,   job->input};
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            free (texts[j]);
    }
    free (crontab->jobs);
    free (crontab->remarks);
    free (crontab);
    *self = NULL;
}
