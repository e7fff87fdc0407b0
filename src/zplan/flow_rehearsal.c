// zplan flow simulate: runs of a definition on a virtual clock.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "civil.h"
#include "clock.h"
#include "cron.h"
#include "duration.h"
#include "flow_command.h"
#include "flow_file.h"
#include "flow_simulate.h"
#include "flow_sources.h"
#include "instant.h"
#include "memory.h"
#include "print.h"
#include "rfc3339.h"
#include "zonefile.h"

enum { GUESSES_MAX = 4 * OPTION_TEXTS_MAX };

struct rehearsal {
    const struct flow_wish *wish;
    struct flow_sources sources;
    struct flow_guess steps[GUESSES_MAX];
    struct flow_outage outages[OPTION_TEXTS_MAX];
    char *names[GUESSES_MAX]; // that are freed
    size_t step_count, name_count;
    struct zone *zone;
    struct cron *cron;
    json_t *input;
    int64_t last_s;
};

static const struct flow *find_flow (void *context, const char *name)
{
    struct flow_source *source = flow_source_named (context, name);
    return source ? source->flow : NULL;
}

// "NAME" and what stands behind the separator, or NULL.
static char *split (struct rehearsal *self, const char *text, char separator, const char **ret)
{
    char *name = self->names[self->name_count++] = memory_text (text);
    char *at = strrchr (name, separator);
    *ret = at ? at + 1 : NULL;
    if (at)
        *at = '\0';
    return name;
}

static struct flow_guess *guess_of (struct rehearsal *self, const char *step)
{
    for (size_t i = 0; i < self->step_count; i++)
        if (strcmp (self->steps[i].step, step) == 0)
            return &self->steps[i];
    self->steps[self->step_count] = (struct flow_guess){.step = step, .last_ms = -1};
    return &self->steps[self->step_count++];
}

static bool refuse_text (struct reason *reason, const char *option, const char *text,
                         const char *rule)
{
    reason_set (reason, "%s %s: want %s", option, quoted (span_text (text)), rule);
    return false;
}

static json_t *read_json_file (const char *path, struct reason *reason)
{
    size_t size;
    char *text = flow_file_read (path, &size, reason);
    json_t *json = text ? expr_read_json (span_of (text, size), reason) : NULL;
    free (text);
    return json;
}

// "load", or "etl/load" of a sub-flow.
static bool step_known (const struct rehearsal *self, const char *step)
{
    const struct flow *flow = self->sources.rows[0].flow;
    const char *slash;
    for (; flow && (slash = strchr (step, '/')); step = slash + 1) {
        char name[FLOW_NAME_MAX + 1];
        snprintf (name, sizeof name, "%.*s", (int)(slash - step), step);
        int64_t index = flow_find (flow, name);
        const char *target = index < 0 ? NULL : flow->steps[index].call.target;
        flow = target ? find_flow ((void *)&self->sources, target) : NULL;
    }
    return flow && flow_find (flow, step) >= 0;
}

static bool check_steps (const struct rehearsal *self, struct reason *reason)
{
    for (size_t i = 0; i < self->step_count; i++)
        if (!step_known (self, self->steps[i].step)) {
            reason_set (reason, "%s: no such step", quoted (span_text (self->steps[i].step)));
            return false;
        }
    return true;
}

static bool read_steps (struct rehearsal *self, struct reason *reason)
{
    const struct flow_wish *wish = self->wish;
    const char *rest;
    char *end;
    for (size_t i = 0; i < wish->last.count; i++) {
        const char *text = wish->last.texts[i];
        int64_t seconds;
        const char *step = split (self, text, '=', &rest);
        if (!rest || !duration_seconds (rest, &seconds))
            return refuse_text (reason, "--last", text, "STEP=DURATION");
        guess_of (self, step)->last_ms = seconds * 1000;
    }
    for (size_t i = 0; i < wish->fail.count; i++) {
        const char *text = wish->fail.texts[i];
        const char *step = split (self, text, ':', &rest);
        long times = rest ? strtol (rest, &end, 10) : -1;
        if (rest && (*end || end == rest || times < 1))
            return refuse_text (reason, "--fail", text, "STEP or STEP:TIMES");
        guess_of (self, step)->failures = times;
    }
    for (size_t i = 0; i < wish->never.count; i++)
        guess_of (self, wish->never.texts[i])->never = true;
    for (size_t i = 0; i < wish->value.count; i++) {
        const char *text = wish->value.texts[i];
        const char *step = split (self, text, '=', &rest);
        if (!rest)
            return refuse_text (reason, "--value", text, "STEP=FILE");
        struct flow_guess *guess = guess_of (self, step);
        json_decref (guess->value);
        guess->value = read_json_file (rest, reason);
        if (!guess->value)
            return false;
    }
    return true;
}

// "02:00" to seconds of the day; -1: it is none.
static int64_t time_of_day (const char *text, size_t size)
{
    int hour, minute, used = 0;
    char room[8];
    if (size >= sizeof room)
        return -1;
    snprintf (room, sizeof room, "%.*s", (int)size, text);
    if (sscanf (room, "%2d:%2d%n", &hour, &minute, &used) != 2 || room[used] || hour > 23 ||
        minute > 59 || hour < 0 || minute < 0)
        return -1;
    return hour * 3600 + minute * 60;
}

static bool read_outages (struct rehearsal *self, struct reason *reason)
{
    for (size_t i = 0; i < self->wish->outage.count; i++) {
        const char *text = self->wish->outage.texts[i], *equals = strchr (text, '='),
                   *dots = equals ? strstr (equals, "..") : NULL;
        int64_t from = dots ? time_of_day (equals + 1, (size_t)(dots - equals - 1)) : -1;
        int64_t to = dots ? time_of_day (dots + 2, strlen (dots + 2)) : -1;
        if (from < 0 || to < 0)
            return refuse_text (reason, "--outage", text, "TARGET=HH:MM..HH:MM");
        self->outages[i] = (struct flow_outage){
            .target = split (self, text, '=', &(const char *){NULL}), .from_s = from, .to_s = to};
    }
    return true;
}

static bool read_all (struct rehearsal *self, int64_t *ret_at, struct reason *reason)
{
    const struct flow_wish *wish = self->wish;
    self->zone = zonefile_load (wish->timezone ? wish->timezone : "UTC", reason);
    *ret_at = clock_wall_us () / 1000000;
    if (!self->zone || (wish->at && instant_parse (wish->at, self->zone, ret_at, reason) < 0))
        return false;
    if (wish->cron) {
        struct span text = span_text (wish->cron);
        self->cron = cron_new (&text, 1, reason);
        if (!self->cron)
            return false;
    } else if (wish->runs > 1) {
        reason_set (reason, "--runs needs --cron");
        return false;
    }
    self->last_s = 1;
    if (wish->each && !duration_seconds (wish->each, &self->last_s))
        return refuse_text (reason, "--each", wish->each, "a duration");
    if (wish->input && !(self->input = read_json_file (wish->input, reason)))
        return false;
    if (wish->input && !json_is_object (self->input))
        return refuse_text (reason, "--input", wish->input, "an object");
    return read_outages (self, reason) && read_steps (self, reason) && check_steps (self, reason);
}

static void print_moment (const struct rehearsal *self, int64_t ms)
{
    int64_t local = ms / 1000 + zone_offset (self->zone, ms / 1000);
    struct civil_date date = civil_date (civil_day_of (local));
    int64_t second = civil_time_of_day (local);
    printf ("%04d-%02d-%02d %02d:%02d:%02d", (int)date.year, date.month, date.day,
            (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));
}

static int64_t number (const json_t *row, const char *name)
{
    return json_integer_value (json_object_get (row, name));
}

static void print_events (const struct rehearsal *self, const json_t *events)
{
    size_t index;
    json_t *row;
    json_array_foreach (events, index, row)
    {
        print_moment (self, number (row, "at"));
        printf ("  %-9s ", json_string_value (json_object_get (row, "what")));
        print_bytes (text_of (json_object_get (row, "step")));
        if (json_object_get (row, "item"))
            printf (".%" PRId64, number (row, "item"));
        if (json_object_get (row, "why")) {
            printf (": ");
            print_bytes (text_of (json_object_get (row, "why")));
        }
        putchar ('\n');
    }
}

static void print_end (const struct rehearsal *self, const json_t *result)
{
    char text[DURATION_SIZE];
    const json_t *ended = json_object_get (result, "ended");
    size_t index;
    json_t *row;
    print_moment (self, ended ? json_integer_value (ended) : number (result, "until"));
    printf ("  %s", json_string_value (json_object_get (result, "outcome")));
    if (ended)
        printf (
            " after %s",
            duration_text ((json_integer_value (ended) - number (result, "began")) / 1000, text));
    json_array_foreach (json_object_get (result, "waits"), index, row)
    {
        printf (index ? ", " : " for ever for ");
        print_bytes (text_of (row));
    }
    if (json_object_get (result, "error")) {
        printf (": ");
        print_bytes (text_of (json_object_get (result, "error")));
    }
    printf ("\ncritical path:");
    json_array_foreach (json_object_get (result, "critical"), index, row)
    {
        printf (index ? " -> " : " ");
        print_bytes (text_of (json_object_get (row, "step")));
        printf (" (%s", duration_text ((number (row, "to") - number (row, "from")) / 1000, text));
        if (json_object_get (row, "slot_ms"))
            printf (", %s for a free slot", duration_text (number (row, "slot_ms") / 1000, text));
        if (json_object_get (row, "target_ms"))
            printf (", %s for its target", duration_text (number (row, "target_ms") / 1000, text));
        putchar (')');
    }
    putchar ('\n');
}

// One run a call. Returns when it ended; 0: it waits for ever.
static int64_t run_once (const struct cli *cli, struct rehearsal *self, int64_t at, bool alone)
{
    const struct flow_guesses guesses = {.steps = self->steps,
                                         .step_count = self->step_count,
                                         .outages = self->outages,
                                         .outage_count = self->wish->outage.count,
                                         .last_ms = self->last_s * 1000,
                                         .find = find_flow,
                                         .context = &self->sources,
                                         .zone = self->zone};
    json_t *result = flow_simulate (self->sources.rows[0].flow, &guesses, at * 1000, self->input);
    if (cli->json) {
        print_json (result);
    } else {
        if (alone)
            print_events (self, json_object_get (result, "events"));
        print_end (self, result);
    }
    int64_t ended = number (result, "ended") / 1000;
    json_decref (result);
    return ended;
}

static void print_missed (const struct cli *cli, const struct rehearsal *self, int64_t at)
{
    if (cli->json) {
        json_t *row = json_pack ("{s:s, s:I, s:s}", "flow", self->sources.rows[0].flow->name,
                                 "began", (json_int_t)at * 1000, "outcome", "missed");
        print_json (row);
        json_decref (row);
        return;
    }
    print_moment (self, at * 1000);
    printf ("  missed: the run before it is in progress\n");
}

// A plan never has two runs: what is due before the last one has ended is missed.
static void run_all (const struct cli *cli, struct rehearsal *self, int64_t at)
{
    int64_t ended = 0;
    for (int64_t i = 0; i < self->wish->runs; i++) {
        if (self->cron &&
            !cron_next (self->cron, self->zone, ZONE_GAP_SHIFT, ZONE_OVERLAP_FIRST, at, &at))
            break;
        if (at < ended)
            print_missed (cli, self, at);
        if (at >= ended && !(ended = run_once (cli, self, at, self->wish->runs == 1)))
            break;
        at++;
    }
}

int flow_rehearse (const struct cli *cli, char **paths, int count, const struct flow_wish *wish)
{
    struct rehearsal self = {.wish = wish};
    struct reason reason;
    int64_t at;
    int code = EXIT_REFUSED;
    bool read = flow_sources_read (&self.sources, paths, count);
    for (int i = 0; i < self.sources.count; i++) {
        flow_source_judge (&self.sources, &self.sources.rows[i]);
        if (!self.sources.rows[i].flow)
            flow_source_complain (&self.sources.rows[i]);
        read = read && self.sources.rows[i].flow;
    }
    if (read && read_all (&self, &at, &reason)) {
        run_all (cli, &self, at);
        code = EXIT_DONE;
    } else if (read) {
        code = usage_error (cli->argv[0], &reason);
    }
    for (size_t i = 0; i < self.step_count; i++)
        json_decref (self.steps[i].value);
    for (size_t i = 0; i < self.name_count; i++)
        free (self.names[i]);
    json_decref (self.input);
    cron_destroy (&self.cron);
    zone_destroy (&self.zone);
    flow_sources_clear (&self.sources);
    return code;
}
