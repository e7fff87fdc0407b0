// zplan flow simulate: runs of a definition on a virtual clock.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "civil.h"
#include "clock.h"
#include "duration.h"
#include "flow_command.h"
#include "flow_file.h"
#include "instant.h"
#include "memory.h"
#include "plan.h"
#include "print.h"
#include "simulation.h"
#include "zone.h"
#include "zonefile.h"

enum { GUESSES_MAX = 4 * OPTION_TEXTS_MAX, TEXTS_MAX = 9 * OPTION_TEXTS_MAX, WORKERS_MAX = 1000 };

struct rehearsal {
    const struct cli *cli;
    const struct flow_options *options;
    struct flow_sources sources;
    struct flow_guess steps[GUESSES_MAX];
    struct flow_outage outages[OPTION_TEXTS_MAX];
    struct flow_limit limits[2 * OPTION_TEXTS_MAX];
    struct flow_workers workers[OPTION_TEXTS_MAX];
    char *names[TEXTS_MAX]; // owned texts
    size_t step_count, name_count, limit_count;
    struct zone *zone;
    json_t *plan; // members of the PLAN frame
    json_t *input;
    int64_t last_s;
};

static const struct flow *find_flow (void *context, const char *name)
{
    struct flow_source *source = flow_source_named (context, name);
    return source ? source->flow : NULL;
}

// Copy the text up to the last separator, and return the copy; `ret` is the text after it, or NULL.
static char *split_name (struct rehearsal *self, const char *text, char separator, const char **ret)
{
    char *name = self->names[self->name_count++] = memory_text (text);
    char *at = strrchr (name, separator);
    *ret = at ? at + 1 : NULL;
    if (at)
        *at = '\0';
    return name;
}

static struct flow_guess *find_or_add_guess (struct rehearsal *self, const char *step)
{
    for (size_t i = 0; i < self->step_count; i++)
        if (strcmp (self->steps[i].step, step) == 0)
            return &self->steps[i];
    self->steps[self->step_count] = (struct flow_guess){.step = step, .last_ms = -1};
    return &self->steps[self->step_count++];
}

// As flow_file_json, but the reason names the option and the file.
static json_t *read_file (const char *option, const char *file, struct reason *reason)
{
    struct reason why;
    json_t *json = flow_file_json (file, &why);
    if (!json)
        reason_set (reason, "%s: %s: %s", option, quoted (span_text (file)), why.text);
    return json;
}

static bool refuse_text (struct reason *reason, const char *option, const char *text,
                         const char *rule)
{
    reason_set (reason, "%s %s: want %s", option, quoted (span_text (text)), rule);
    return false;
}

// Whether the flow has this step: "load", or "etl/load" in a sub-flow.
static bool step_exists (const struct rehearsal *self, const char *step)
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
        if (!step_exists (self, self->steps[i].step)) {
            reason_set (reason, "%s: no such step", quoted (span_text (self->steps[i].step)));
            return false;
        }
    return true;
}

static bool calls_target (const struct flow *flow, const char *target)
{
    for (uint32_t i = 0; i < flow->step_count; i++) {
        const struct flow_step *step = &flow->steps[i];
        if ((step->call.target && strcmp (step->call.target, target) == 0) ||
            (step->undo.target && strcmp (step->undo.target, target) == 0))
            return true;
    }
    return false;
}

// Warn about an option for a target that no step calls: it has no effect, and is most likely a
// mistake.
static void warn_of_target (const struct rehearsal *self, const char *option, const char *target)
{
    struct reason reason;
    for (int i = 0; i < self->sources.count; i++)
        if (calls_target (self->sources.rows[i].flow, target))
            return;
    reason_set (&reason, "no step has the target %s", quoted (span_text (target)));
    complain (option, span_text (reason.text));
}

static void warn_of_targets (const struct rehearsal *self)
{
    for (size_t i = 0; i < self->options->outage.count; i++)
        warn_of_target (self, "--outage", self->outages[i].target);
    for (size_t i = 0; i < self->limit_count; i++)
        if (self->limits[i].name[0] == 's')
            warn_of_target (self, self->limits[i].limit.rate > 0 ? "--rate" : "--limit",
                            self->limits[i].name + 2);
    for (size_t i = 0; i < self->options->workers.count; i++)
        warn_of_target (self, "--workers", self->workers[i].target);
}

static bool read_steps (struct rehearsal *self, struct reason *reason)
{
    const struct flow_options *options = self->options;
    const char *rest;
    char *end;
    for (size_t i = 0; i < options->last.count; i++) {
        const char *text = options->last.texts[i];
        int64_t seconds;
        const char *step = split_name (self, text, '=', &rest);
        if (!rest || !duration_seconds (rest, &seconds))
            return refuse_text (reason, "--last", text, "STEP=DURATION");
        find_or_add_guess (self, step)->last_ms = seconds * 1000;
    }
    for (size_t i = 0; i < options->fail.count; i++) {
        const char *text = options->fail.texts[i];
        const char *step = split_name (self, text, ':', &rest);
        long times = rest ? strtol (rest, &end, 10) : -1;
        if (rest && (*end || end == rest || times < 1))
            return refuse_text (reason, "--fail", text, "STEP or STEP:TIMES");
        find_or_add_guess (self, step)->failures = times;
    }
    for (size_t i = 0; i < options->never.count; i++)
        find_or_add_guess (self, options->never.texts[i])->never = true;
    for (size_t i = 0; i < options->value.count; i++) {
        const char *text = options->value.texts[i];
        const char *step = split_name (self, text, '=', &rest);
        if (!rest)
            return refuse_text (reason, "--value", text, "STEP=FILE");
        struct flow_guess *guess = find_or_add_guess (self, step);
        json_decref (guess->value);
        guess->value = read_file ("--value", rest, reason);
        if (!guess->value)
            return false;
    }
    return true;
}

static bool read_outages (struct rehearsal *self, struct reason *reason)
{
    for (size_t i = 0; i < self->options->outage.count; i++) {
        const char *text = self->options->outage.texts[i], *times;
        struct flow_outage *outage = &self->outages[i];
        outage->target = split_name (self, text, '=', &times);
        char *dots = times ? strstr (times, "..") : NULL;
        if (dots)
            *dots = '\0';
        if (!dots || !clock_time_of_day (times, &outage->from_s) ||
            !clock_time_of_day (dots + 2, &outage->to_s))
            return refuse_text (reason, "--outage", text, "TARGET=HH:MM..HH:MM");
    }
    return true;
}

// Convert "TARGET" or "group:NAME", as in `zplan limit`, to a limit's name; NULL: invalid.
static const char *limit_name (struct rehearsal *self, const char *name)
{
    char full[LIMIT_NAME_MAX + 1];
    bool group = strncmp (name, "group:", 6) == 0;
    name += group ? 6 : 0;
    if (!station_name_valid (span_text (name)))
        return NULL;
    snprintf (full, sizeof full, "%c:%s", group ? 'g' : 's', name);
    return self->names[self->name_count++] = memory_text (full);
}

static struct limit *find_or_add_limit (struct rehearsal *self, const char *name)
{
    for (size_t i = 0; i < self->limit_count; i++)
        if (strcmp (self->limits[i].name, name) == 0)
            return &self->limits[i].limit;
    self->limits[self->limit_count] = (struct flow_limit){.name = name};
    return &self->limits[self->limit_count++].limit;
}

static bool read_limits (struct rehearsal *self, struct reason *reason)
{
    const struct flow_options *options = self->options;
    const char *rest, *name;
    char *end;
    for (size_t i = 0; i < options->limit.count; i++) {
        name = limit_name (self, split_name (self, options->limit.texts[i], '=', &rest));
        long concurrency = rest ? strtol (rest, &end, 10) : 0;
        if (!name || concurrency < 1 || *end)
            return refuse_text (reason, "--limit", options->limit.texts[i],
                                "TARGET=N or group:NAME=N");
        find_or_add_limit (self, name)->concurrency = concurrency;
    }
    for (size_t i = 0; i < options->rate.count; i++) {
        name = limit_name (self, split_name (self, options->rate.texts[i], '=', &rest));
        double rate = rest ? strtod (rest, &end) : 0;
        if (!name || !(rate >= 1e-6 && rate <= 1e6) || *end)
            return refuse_text (reason, "--rate", options->rate.texts[i],
                                "TARGET=N or group:NAME=N, of runs a second");
        find_or_add_limit (self, name)->rate = rate;
    }
    return true;
}

// Read a number of workers, or their names. False: invalid.
static bool read_team (struct flow_workers *team, char *text)
{
    char *end;
    long count = strtol (text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end) {
        team->count = count < 0 || count > WORKERS_MAX ? 0 : (size_t)count;
        return team->count;
    }
    size_t max_count = 1;
    for (const char *at = text; *at; at++)
        max_count += *at == ',';
    const char **names = memory_new (max_count * sizeof *names);
    team->names = names;
    for (char *name = text; name; name = end) {
        end = strchr (name, ',');
        if (end)
            *end++ = '\0';
        names[team->count++] = name;
        if (!worker_name_valid (span_text (name)))
            return false;
        for (size_t i = 0; i + 1 < team->count; i++)
            if (strcmp (names[i], name) == 0)
                return false;
    }
    return true;
}

static bool read_workers (struct rehearsal *self, struct reason *reason)
{
    for (size_t i = 0; i < self->options->workers.count; i++) {
        const char *text = self->options->workers.texts[i], *rest;
        struct flow_workers *team = &self->workers[i];
        team->target = split_name (self, text, '=', &rest);
        if (!station_name_valid (span_text (team->target)) || !rest ||
            !read_team (team, (char *)rest))
            return refuse_text (reason, "--workers", text, "TARGET=N or TARGET=NAME,NAME...");
        for (size_t j = 0; j < i; j++)
            if (strcmp (self->workers[j].target, team->target) == 0)
                return refuse_text (reason, "--workers", text, "a target once");
    }
    return true;
}

// Read the flow plan from the options that `zplan add` has too.
static bool read_plan (struct rehearsal *self, struct reason *reason)
{
    const struct flow_options *options = self->options;
    const struct terms_context context = {.zone = self->zone, .step = 1};
    self->plan = json_object ();
    if (options->cron) {
        json_object_set_new (self->plan, "plan_type", json_string ("cron"));
        if (terms_put (self->plan, "cron", json_string (options->cron), reason) < 0)
            return false;
    } else if (options->runs > 1) {
        reason_set (reason, "--runs needs --cron");
        return false;
    }
    return terms_read (&options->terms, &context, self->plan, reason) == 0;
}

static bool read_rehearsal (struct rehearsal *self, int64_t *ret_at, struct reason *reason)
{
    const struct flow_options *options = self->options;
    self->zone = zonefile_load (options->timezone ? options->timezone : "UTC", reason);
    *ret_at = clock_wall_us () / 1000000;
    if (!self->zone || (options->at && instant_parse (options->at, self->zone, ret_at, reason) < 0))
        return false;
    self->last_s = 1;
    if (options->each && !duration_seconds (options->each, &self->last_s))
        return refuse_text (reason, "--each", options->each, "a duration");
    if (options->input && !(self->input = read_file ("--input", options->input, reason)))
        return false;
    if (options->input && !json_is_object (self->input))
        return refuse_text (reason, "--input", options->input, "an object");
    return read_plan (self, reason) && read_outages (self, reason) && read_limits (self, reason) &&
           read_workers (self, reason) && read_steps (self, reason) && check_steps (self, reason);
}

// -- what a simulation reports, for people

static void print_moment (const struct zone *zone, int64_t ms)
{
    int64_t local = ms / 1000 + zone_offset (zone, ms / 1000);
    struct civil_date date = civil_date (civil_day_of (local));
    int64_t second = civil_time_of_day (local);
    printf ("%04d-%02d-%02d %02d:%02d:%02d", (int)date.year, date.month, date.day,
            (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60));
}

static void print_events (const struct zone *zone, const json_t *events)
{
    size_t index;
    json_t *row;
    json_array_foreach (events, index, row)
    {
        print_moment (zone, field_number (row, "at"));
        printf ("  %-9s ", json_string_value (json_object_get (row, "what")));
        print_bytes (field_text (row, "step"));
        if (json_object_get (row, "item"))
            printf (".%" JSON_INTEGER_FORMAT, field_number (row, "item"));
        if (json_object_get (row, "why")) {
            printf (": ");
            write_error (stdout, field_text (row, "why"));
        }
        putchar ('\n');
    }
}

static void print_waits (const json_t *row)
{
    static const struct {
        const char *name, *text;
    } waits[] = {{"slot_ms", "a free slot"},
                 {"target_ms", "its target"},
                 {"limit_ms", "a limit"},
                 {"worker_ms", "a worker"}};
    char text[DURATION_SIZE];
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (json_object_get (row, waits[i].name))
            printf (", %s for %s", duration_text (field_number (row, waits[i].name) / 1000, text),
                    waits[i].text);
}

static void print_path (const json_t *path)
{
    char text[DURATION_SIZE];
    size_t index;
    json_t *row;
    if (!json_array_size (path)) // nothing has started
        return;
    printf ("critical path:");
    json_array_foreach (path, index, row)
    {
        printf (index ? " -> " : " ");
        print_bytes (field_text (row, "step"));
        printf (" (%s", duration_text (
                            (field_number (row, "to") - field_number (row, "from")) / 1000, text));
        print_waits (row);
        putchar (')');
    }
    putchar ('\n');
}

static void print_end (const struct zone *zone, const json_t *result)
{
    char text[DURATION_SIZE];
    const json_t *ended = json_object_get (result, "ended");
    size_t index;
    json_t *row;
    int64_t late = field_number (result, "began") - field_number (result, "nominal");
    print_moment (zone, ended ? json_integer_value (ended) : field_number (result, "until"));
    printf ("  %s", json_string_value (json_object_get (result, "outcome")));
    if (ended)
        printf (" after %s",
                duration_text ((json_integer_value (ended) - field_number (result, "began")) / 1000,
                               text));
    if (late >= 1000) {
        printf (", of ");
        print_moment (zone, field_number (result, "nominal"));
    }
    json_array_foreach (json_object_get (result, "waits"), index, row)
    {
        printf (index ? ", " : " for ever for ");
        print_bytes (text_of (row));
    }
    if (json_object_get (result, "parked"))
        printf ("; the plan needs an operator");
    if (json_object_get (result, "error")) {
        printf (": ");
        write_error (stdout, field_text (result, "error"));
    }
    putchar ('\n');
    print_path (json_object_get (result, "critical"));
}

// Print one run: its events and its end, or only the end if there are several runs. Times are local
// to the zone.
static void report_run (void *owner, json_t *row)
{
    const struct rehearsal *self = owner;
    if (self->cli->json) {
        print_json (row);
    } else if (span_is (field_text (row, "outcome"), "missed")) {
        print_moment (self->zone, field_number (row, "began"));
        printf ("  missed: %s\n", span_is (field_text (row, "why"), "overlap")
                                      ? "the run before it is in progress"
                                      : "it is too late for it");
    } else {
        if (self->options->runs == 1)
            print_events (self->zone, json_object_get (row, "events"));
        print_end (self->zone, row);
    }
    json_decref (row);
}

static bool simulate_runs (struct rehearsal *self, int64_t at, struct reason *reason)
{
    const struct flow_guesses guesses = {.steps = self->steps,
                                         .step_count = self->step_count,
                                         .outages = self->outages,
                                         .outage_count = self->options->outage.count,
                                         .limits = self->limits,
                                         .limit_count = self->limit_count,
                                         .workers = self->workers,
                                         .worker_count = self->options->workers.count,
                                         .last_ms = self->last_s * 1000,
                                         .find = find_flow,
                                         .context = &self->sources,
                                         .zone = self->zone,
                                         .plan = self->plan,
                                         .runs = self->options->runs};
    warn_of_targets (self);
    return flow_simulate (self->sources.rows[0].flow, &guesses, at * 1000, self->input, report_run,
                          self, reason);
}

int flow_rehearse (const struct cli *cli, const struct flow_options *options)
{
    struct rehearsal self = {.cli = cli, .options = options};
    struct reason reason;
    int64_t at;
    int code = EXIT_REFUSED;
    bool read = flow_sources_read (&self.sources, options->words, options->count);
    for (int i = 0; i < self.sources.count; i++) {
        flow_source_check (&self.sources, &self.sources.rows[i]);
        if (!self.sources.rows[i].flow)
            flow_print_errors (self.sources.rows[i].path, self.sources.rows[i].errors);
        read = read && self.sources.rows[i].flow;
    }
    if (read)
        code = read_rehearsal (&self, &at, &reason) && simulate_runs (&self, at, &reason)
                   ? EXIT_DONE
                   : usage_error (cli->argv[0], &reason);
    for (size_t i = 0; i < self.step_count; i++)
        json_decref (self.steps[i].value);
    for (size_t i = 0; i < self.name_count; i++)
        free (self.names[i]);
    for (size_t i = 0; i < options->workers.count; i++)
        free ((void *)self.workers[i].names);
    json_decref (self.input);
    json_decref (self.plan);
    zone_destroy (&self.zone);
    flow_sources_clear (&self.sources);
    return code;
}
