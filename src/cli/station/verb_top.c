// zplan top: a live view of the station: the difference between two answers of `stats`.
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "clock.h"
#include "options.h"
#include "print.h"
#include "screen.h"
#include "text_table.h"
#include "width.h"

// The state of zplan top: the last answer, and the view computed from it and the one before.
struct top {
    const struct cli *cli;
    int64_t interval_s, count; // options
    struct zplan_client *client;
    struct screen screen;
    json_t *before;         // the last answer; NULL = there is none
    int64_t before_us;      // when `before` was received, monotonic
    json_t *view;           // the data that is shown
    struct verdict trouble; // why there is no current answer
};

static const struct option rows[] = {
    NUMBER_OPTION (struct top, interval_s, "--interval", "DURATION", 1, 86400,
                   "between two looks; default 1", .unit_ms = 1000),
    NUMBER_OPTION (struct top, count, "-n", "COUNT", 1, INT64_MAX, "exit after N updates"),
};

static const char about[] =
    "Watch the station at work: plans that are due and running, runs done and failed\n"
    "a second, how late they are sent (repetitions, and plans that run at once, do not\n"
    "count), and the same for each target. `q` ends it. Where the output is no terminal\n"
    "it is a block for each update, with --json one JSON object per line (NDJSON). The\n"
    "first one has no rates.\n\n"
    "  zplan top\n"
    "  zplan top --interval 10\n"
    "  zplan top --json -n 60 | jq .done_per_s\n";

// -- the numbers

// The growth of a counter since the last answer; for a new target, or after a restart of the
// station, since 0.
static double counter_growth (const json_t *now, const json_t *before, const char *name)
{
    json_int_t value = field_number (now, name);
    json_int_t last = field_number (before, name);
    return (double)(value >= last ? value - last : value);
}

// Set a member to amount / count, rounded to six decimals, to be short as JSON; null if `count` is
// 0: unknown.
static void set_ratio (json_t *view, const char *name, double amount, double count)
{
    double ratio = count > 0 ? (double)(int64_t)(amount / count * 1e6 + 0.5) / 1e6 : 0;
    json_object_set_new (view, name, count > 0 ? json_real (ratio) : json_null ());
}

static const json_t *target_of (const json_t *stats, const json_t *name)
{
    size_t i;
    const json_t *target;
    json_array_foreach (json_object_get (stats, "targets"), i, target)
    {
        if (json_equal (json_object_get (target, "name"), name))
            return target;
    }
    return NULL;
}

struct lateness {
    double ms, runs;
};

static json_t *make_target_view (const json_t *now, const json_t *stats_before, double seconds,
                                 struct lateness *all)
{
    const json_t *before = target_of (stats_before, json_object_get (now, "name"));
    static const char *const copied[] = {"name", "connected", "since", "unanswered"};
    json_t *view = json_object ();
    for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
        json_object_set (view, copied[i], json_object_get (now, copied[i]));
    struct lateness late = {counter_growth (now, before, "late_ms"),
                            counter_growth (now, before, "fresh")};
    set_ratio (view, "done_per_s", counter_growth (now, before, "ended_well"), seconds);
    set_ratio (view, "failed_per_s", counter_growth (now, before, "failed"), seconds);
    set_ratio (view, "late_ms", late.ms, seconds > 0 ? late.runs : 0);
    all->ms += late.ms;
    all->runs += late.runs;
    return view;
}

// Compute the view from two answers of `stats`, `seconds` apart; 0: `now` is the first answer.
static json_t *make_view (const json_t *now, const json_t *before, double seconds)
{
    static const char *const copied[] = {"now_ms", "uptime_s", "plans",       "queued", "due",
                                         "next",   "running",  "redis_bytes", "version"};
    json_t *view = json_object (), *targets = json_array ();
    struct lateness late = {0, 0};
    size_t i;
    const json_t *target;
    for (i = 0; i < sizeof copied / sizeof *copied; i++)
        json_object_set (view, copied[i], json_object_get (now, copied[i]));
    const json_t *counters = json_object_get (now, "counters");
    const json_t *counted = json_object_get (before, "counters");
    set_ratio (view, "accepted_per_s", counter_growth (counters, counted, "accepted"), seconds);
    set_ratio (view, "done_per_s", counter_growth (counters, counted, "runs_ended_well"), seconds);
    set_ratio (view, "failed_per_s", counter_growth (counters, counted, "runs_failed"), seconds);
    json_array_foreach (json_object_get (now, "targets"), i, target)
        json_array_append_new (targets, make_target_view (target, before, seconds, &late));
    set_ratio (view, "late_ms", late.ms, seconds > 0 ? late.runs : 0);
    json_object_set_new (view, "targets", targets);
    return view;
}

// -- for people

static void write_rounded (FILE *out, const json_t *number)
{
    fprintf (out, json_is_number (number) ? "%.0f" : "-", json_number_value (number));
}

static void write_rate (FILE *out, const json_t *number)
{
    fprintf (out, json_is_number (number) ? "%.1f" : "-", json_number_value (number));
}

static enum colour failed_rate_colour (const json_t *rate)
{
    return json_number_value (rate) > 0 ? RED : PLAIN;
}

static const struct column columns[] = {
    COLUMN ("TARGET", 16, .rule = COLUMN_SHORT, .field = "name"),
    COLUMN ("STATE", 9, .field = "connected", .write = column_connected,
            .colour = connected_colour),
    COLUMN ("UNANSWERED", 10, .is_number = true, .field = "unanswered", .write = write_rounded),
    COLUMN ("DONE/S", 8, .is_number = true, .field = "done_per_s", .write = write_rate),
    COLUMN ("FAILED/S", 8, .is_number = true, .field = "failed_per_s", .write = write_rate,
            .colour = failed_rate_colour),
    COLUMN ("LATE/MS", 8, .is_number = true, .field = "late_ms", .write = write_rounded),
    COLUMN ("SINCE", 0, .rule = COLUMN_REST, .field = "since", .write = column_time),
};

// Write a line of the heading, cut so that it fits.
static void write_line (FILE *out, enum colour colour, const char *text)
{
    struct span line = span_text (text);
    if (display_get ()->columns)
        line.size = text_fit (line, display_get ()->columns);
    colour_on (out, colour);
    fwrite (line.data, 1, line.size, out);
    colour_off (out, colour);
    fputc ('\n', out);
}

static char *heading_text (const struct top *self)
{
    char *text = NULL, now[MOMENT_SIZE], next[MOMENT_SIZE];
    size_t size;
    FILE *out = text_open (&text, &size);
    const json_t *view = self->view;
    json_int_t now_s = field_number (view, "now_ms") / 1000;
    json_int_t next_s = field_number (view, "next");
    moment_text (now_s, now_s, MOMENT_ABSOLUTE, now);
    moment_text (next_s, now_s, MOMENT_RELATIVE, next);
    fprintf (out, "zplan top  %s  %s  up %" JSON_INTEGER_FORMAT " min\n", self->cli->connect, now,
             field_number (view, "uptime_s") / 60);
    fprintf (out,
             "plans %" JSON_INTEGER_FORMAT "  queued %" JSON_INTEGER_FORMAT
             "  due %" JSON_INTEGER_FORMAT "  running %" JSON_INTEGER_FORMAT "  next %s",
             field_number (view, "plans"), field_number (view, "queued"),
             field_number (view, "due"), field_number (view, "running"), next_s > 0 ? next : "-");
    fputs ("\ndone ", out);
    write_rate (out, json_object_get (view, "done_per_s"));
    fputs ("/s  failed ", out);
    write_rate (out, json_object_get (view, "failed_per_s"));
    fputs ("/s  taken ", out);
    write_rate (out, json_object_get (view, "accepted_per_s"));
    fputs ("/s  late ", out);
    write_rounded (out, json_object_get (view, "late_ms"));
    fprintf (out, " ms  Redis %.1f MiB\n",
             json_number_value (json_object_get (view, "redis_bytes")) / 1048576.0);
    fclose (out);
    return text;
}

static void write_heading (const struct top *self, FILE *out)
{
    char *text = heading_text (self), *rest = text, *line;
    while ((line = strsep (&rest, "\n")) && *line)
        write_line (out, line == text ? BOLD : PLAIN, line);
    free (text);
    if (self->trouble.code != EXIT_DONE) {
        char *words = NULL;
        size_t size;
        FILE *printable = text_open (&words, &size);
        write_bytes (printable, span_of (self->trouble.words, self->trouble.size));
        fclose (printable);
        write_line (out, RED, words);
        free (words);
    }
    fputc ('\n', out);
}

static void draw_top (const struct top *self)
{
    char *text = NULL;
    size_t size, i;
    const json_t *target;
    FILE *out = text_open (&text, &size);
    display_refresh ();
    write_heading (self, out);
    struct text_table *table = table_new (columns, sizeof columns / sizeof *columns, out);
    json_array_foreach (json_object_get (self->view, "targets"), i, target)
        table_add_row (table, target);
    table_end (&table);
    if (!self->screen.shown)
        fputc ('\n', out);
    fclose (out);
    screen_draw (&self->screen, text);
    free (text);
}

// -- the requests

static void use_answer (struct top *self, json_t *answer)
{
    int64_t now_us = clock_mono_us ();
    double seconds = self->before ? (double)(now_us - self->before_us) / 1e6 : 0;
    json_decref (self->view);
    self->view = make_view (answer, self->before, seconds);
    json_decref (self->before);
    self->before = answer;
    self->before_us = now_us;
}

// Request the numbers once. Returns an exit code.
static int request_stats (struct top *self)
{
    json_t *answer = call_with_filter (self->cli, self->client, "stats", NULL, &self->trouble);
    if (answer)
        use_answer (self, answer);
    return answer || self->trouble.code != EXIT_DONE ? self->trouble.code : EXIT_REFUSED;
}

static void show_top (struct top *self)
{
    if (!self->cli->json) {
        draw_top (self);
        return;
    }
    print_answer (self->cli, JSON_ANSWER, self->view);
    fflush (stdout);
}

// Wait until the next request is due. False: the view ends.
static bool wait_for_next_update (struct top *self, int64_t next_us)
{
    for (;;) {
        enum screen_event event = screen_wait (&self->screen, next_us);
        if (event == SCREEN_QUIT)
            return false;
        if (event == SCREEN_TIME)
            return true;
        if (self->screen.shown)
            draw_top (self);
    }
}

// Show the view until it ends, starting after the first request. On a terminal it continues while
// the station is away.
static int watch_top (struct top *self)
{
    int64_t next_us = clock_mono_us ();
    for (int64_t looks = 1;; looks++) {
        if (self->trouble.code == EXIT_DONE || self->screen.shown)
            show_top (self);
        if (looks >= self->count)
            return EXIT_DONE;
        next_us += self->interval_s * 1000000;
        if (next_us < clock_mono_us ())
            next_us = clock_mono_us ();
        if (!wait_for_next_update (self, next_us))
            return EXIT_DONE;
        int code = request_stats (self);
        // A key or a signal also interrupts the wait for an answer: unless it ends the view, repeat
        // the request.
        while (code != EXIT_DONE && screen_has_event (&self->screen)) {
            if (screen_wait (&self->screen, 0) == SCREEN_QUIT)
                return EXIT_DONE;
            code = request_stats (self);
        }
        if (code != EXIT_DONE && !self->screen.shown)
            return verdict_print (&self->trouble, NULL);
    }
}

static int run_top (struct top *self)
{
    int code = request_stats (self);
    if (code != EXIT_DONE)
        return verdict_print (&self->trouble, NULL);
    if (screen_open (&self->screen, !self->cli->json)) {
        code = complain (NULL, span_text (strerror (errno)));
    } else {
        zplan_client_set_interrupt (self->client, self->screen.event_fd);
        code = watch_top (self);
    }
    screen_close (&self->screen);
    return code;
}

int verb_top (const struct cli *cli)
{
    struct top self = {.cli = cli, .interval_s = 1, .count = INT64_MAX};
    const struct usage usage = {
        .synopsis = "zplan top [--interval DURATION] [-n COUNT]",
        .about = about,
        .groups = {OPTION_GROUP ("Looks", rows, &self)},
    };
    int count, code;
    if (!options_read (&usage, cli, &count, &code))
        return code;
    self.client = call_open (cli, &code);
    if (self.client)
        code = run_top (&self);
    json_decref (self.before);
    json_decref (self.view);
    zplan_client_destroy (&self.client);
    return code;
}
