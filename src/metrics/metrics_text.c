#include "metrics_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

enum { BUCKETS_MAX = 64 };

static const char other[] = "other";

static int64_t member_integer (const json_t *object, const char *name)
{
    return json_integer_value (json_object_get (object, name));
}

static void write_metric_head (FILE *out, const char *name, const char *type, const char *help)
{
    fprintf (out, "# HELP zplan_%s %s\n# TYPE zplan_%s %s\n", name, help, name, type);
}

static void write_gauge (FILE *out, const char *name, const char *help, double value)
{
    write_metric_head (out, name, "gauge", help);
    fprintf (out, "zplan_%s %.15g\n", name, value);
}

// Write the value of a label, quoted and escaped.
static void write_label (FILE *out, const char *text)
{
    fputc ('"', out);
    for (; *text; text++) {
        if (*text == '\n')
            fputs ("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf (out, "\\%c", *text);
        else
            fputc (*text, out);
    }
    fputc ('"', out);
}

// Write the name of a metric and, unless `target` is NULL, the first of its labels.
static void write_name (FILE *out, const char *name, const char *part, const char *target)
{
    fprintf (out, "zplan_%s%s", name, part);
    if (target) {
        fputs ("{target=", out);
        write_label (out, target);
    }
}

// -- metrics of the station

static void write_info (FILE *out, const json_t *health)
{
    const json_t *redis = json_object_get (health, "redis");
    const struct {
        const char *label;
        const json_t *value;
    } labels[] = {{"version", json_object_get (health, "version")},
                  {"fsync", json_object_get (redis, "fsync")},
                  {"redis_version", json_object_get (redis, "version")}};
    write_metric_head (out, "info", "gauge", "The station.");
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        const char *value = json_string_value (labels[i].value);
        fprintf (out, "%s%s=", i ? "," : "zplan_info{", labels[i].label);
        write_label (out, value ? value : "");
    }
    fputs ("} 1\n", out);
}

static void write_health (FILE *out, const json_t *health)
{
    const json_t *redis = json_object_get (health, "redis");
    const char *state = json_string_value (json_object_get (redis, "state"));
    const json_t *ahead = json_object_get (redis, "clock_ahead_ms");
    write_info (out, health);
    write_gauge (out, "owner_since_seconds",
                 "Since when it owns the plans, Unix seconds; counters began then or later.",
                 (double)member_integer (health, "owner_since"));
    write_gauge (out, "standbys", "Other stations on its Redis.",
                 (double)member_integer (health, "standbys"));
    write_gauge (out, "problems", "What prevents it from working (zplan doctor).",
                 (double)json_array_size (json_object_get (health, "problems")));
    write_gauge (out, "warnings", "What an operator should know (zplan doctor).",
                 (double)json_array_size (json_object_get (health, "warnings")));
    write_gauge (out, "redis_up", "Redis is connected.", state && strcmp (state, "up") == 0);
    write_gauge (out, "redis_used_bytes", "Memory that Redis uses.",
                 (double)member_integer (redis, "used_memory"));
    write_gauge (out, "redis_limit_bytes", "maxmemory of Redis; 0: none.",
                 (double)member_integer (redis, "maxmemory"));
    if (json_is_integer (ahead))
        write_gauge (out, "redis_clock_ahead_seconds",
                     "How far the clock of Redis is before the station's.",
                     (double)json_integer_value (ahead) / 1000);
}

static void write_plans (FILE *out, const json_t *stats)
{
    static const struct {
        const char *name, *help;
    } gauges[] = {{"plans", "Plans stored."},
                  {"queued", "Plans in the queue."},
                  {"due", "Plans that are due and not sent yet."},
                  {"running", "Plans with a run in progress."},
                  {"stopped", "Plans out of the queue: paused, closed or failed permanently."},
                  {"dead", "Plans that failed permanently, and nobody has looked at."}};
    for (size_t i = 0; i < sizeof gauges / sizeof *gauges; i++)
        write_gauge (out, gauges[i].name, gauges[i].help,
                     (double)member_integer (stats, gauges[i].name));
    int64_t oldest = member_integer (stats, "oldest_due");
    double age = (double)member_integer (stats, "now_ms") / 1000 - (double)oldest;
    write_gauge (out, "overdue_seconds", "Age of the oldest plan that is due.",
                 oldest && age > 0 ? age : 0);
}

// Write each counter of `stats` under its name, except runs_sent, which is written by target.
static void write_counters (FILE *out, const json_t *counters)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)counters, name, value)
    {
        if (strcmp (name, "runs_sent") == 0 || !json_is_integer (value) ||
            name[strspn (name, "abcdefghijklmnopqrstuvwxyz_")])
            continue;
        fprintf (out,
                 "# HELP zplan_%s_total Counter %s of stats.\n# TYPE zplan_%s_total counter\n"
                 "zplan_%s_total %" JSON_INTEGER_FORMAT "\n",
                 name, name, name, name, json_integer_value (value));
    }
}

// -- metrics of a target

// Targets that share one label.
struct label {
    const char *name;
    const json_t *const *targets; // more than one only for `other`
    size_t count;
};

struct labels {
    const json_t *targets[METRIC_TARGETS_MAX]; // labelled targets from the start, those of `other`
                                               // from the end
    struct label at[METRIC_TARGETS_MAX];
    size_t count;
};

// Group the targets: the first `most` get a label of their own, the rest share `other`.
static void label_targets (struct labels *self, const json_t *targets, size_t most)
{
    size_t rest = 0;
    self->count = 0;
    for (size_t i = 0; i < json_array_size (targets) && i < METRIC_TARGETS_MAX; i++) {
        const json_t *target = json_array_get (targets, i);
        const char *name = json_string_value (json_object_get (target, "name"));
        if (!name)
            continue;
        bool own = self->count < most && strcmp (name, other) != 0;
        const json_t **place = &self->targets[own ? self->count : METRIC_TARGETS_MAX - ++rest];
        *place = target;
        if (own)
            self->at[self->count++] = (struct label){name, place, 1};
    }
    if (rest)
        self->at[self->count++] =
            (struct label){other, &self->targets[METRIC_TARGETS_MAX - rest], rest};
}

// The value of a label: the sum of this member over its targets; for `connected` 1 if all targets
// are connected, else 0.
static int64_t sum_of_targets (const struct label *self, const char *group, const char *name)
{
    int64_t sum = 0, true_count = 0;
    for (size_t i = 0; i < self->count; i++) {
        const json_t *object = group ? json_object_get (self->targets[i], group) : self->targets[i];
        const json_t *value = json_object_get (object, name);
        sum += json_integer_value (value);
        true_count += json_is_true (value);
    }
    return strcmp (name, "connected") == 0 ? true_count == (int64_t)self->count : sum;
}

static void write_targets (FILE *out, const struct labels *labels)
{
    static const struct {
        const char *metric, *type, *help, *group, *field, *outcome;
    } rows[] = {
        {"target_connected", "gauge", "Whether the target is connected.", NULL, "connected", NULL},
        {"target_unanswered", "gauge", "Runs sent to it that have no status yet.", NULL,
         "unanswered", NULL},
        {"target_due", "gauge", "Its plans that are due and wait for their turn.", NULL, "ready",
         NULL},
        {"runs_sent_total", "counter", "Runs sent, or offered to workers.", NULL, "sent", NULL},
        {"runs_total", "counter", "Outcomes of runs, and occurrences that were missed.", "ends",
         "ok", "ok"},
        {"runs_total", NULL, NULL, "ends", "failed", "failed"},
        {"runs_total", NULL, NULL, "ends", "not_taken", "not_taken"},
        {"runs_total", NULL, NULL, "ends", "timeout", "timeout"},
        {"runs_total", NULL, NULL, "ends", "cancelled", "cancelled"},
        {"runs_total", NULL, NULL, "ends", "missed", "missed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].type)
            write_metric_head (out, rows[i].metric, rows[i].type, rows[i].help);
        for (size_t at = 0; at < labels->count; at++) {
            write_name (out, rows[i].metric, "", labels->at[at].name);
            if (rows[i].outcome)
                fprintf (out, ",outcome=\"%s\"", rows[i].outcome);
            fprintf (out, "} %" PRId64 "\n",
                     sum_of_targets (&labels->at[at], rows[i].group, rows[i].field));
        }
    }
}

// Write how long the oldest overdue plan of each target has waited.
static void write_overdue (FILE *out, const json_t *stats, const struct labels *labels)
{
    double now = (double)member_integer (stats, "now_ms") / 1000;
    write_metric_head (out, "target_overdue_seconds", "gauge",
                       "Age of the oldest of its plans that are due, or offered to workers.");
    for (size_t at = 0; at < labels->count; at++) {
        double age = 0;
        for (size_t i = 0; i < labels->at[at].count; i++) {
            int64_t oldest = member_integer (labels->at[at].targets[i], "oldest_due");
            age = oldest && now - (double)oldest > age ? now - (double)oldest : age;
        }
        write_name (out, "target_overdue_seconds", "", labels->at[at].name);
        fprintf (out, "} %.15g\n", age);
    }
}

// -- histograms

// Write the buckets, sum and count of one histogram. `target` NULL: without a target label.
static void write_histogram (FILE *out, const char *name, const char *target, const json_t *le_us,
                             const int64_t *counts, int64_t sum_us)
{
    int64_t below = 0;
    size_t bounds = json_array_size (le_us);
    for (size_t i = 0; i <= bounds && i < BUCKETS_MAX; i++) {
        below += counts[i];
        write_name (out, name, "_bucket", target);
        fputc (target ? ',' : '{', out);
        if (i < bounds)
            fprintf (out, "le=\"%.10g\"} %" PRId64 "\n",
                     (double)json_integer_value (json_array_get (le_us, i)) / 1e6, below);
        else
            fprintf (out, "le=\"+Inf\"} %" PRId64 "\n", below);
    }
    write_name (out, name, "_sum", target);
    fprintf (out, "%s %.15g\n", target ? "}" : "", (double)sum_us / 1e6);
    write_name (out, name, "_count", target);
    fprintf (out, "%s %" PRId64 "\n", target ? "}" : "", below);
}

static void add_counts (int64_t counts[BUCKETS_MAX], int64_t *sum_us, const json_t *one)
{
    const json_t *list = json_object_get (one, "counts");
    for (size_t i = 0; i < json_array_size (list) && i < BUCKETS_MAX; i++)
        counts[i] += json_integer_value (json_array_get (list, i));
    *sum_us += member_integer (one, "sum_us");
}

static void write_histograms (FILE *out, const json_t *histograms, const struct labels *labels)
{
    static const struct {
        const char *metric, *field, *help;
        bool by_target;
    } rows[] = {
        {"run_lateness_seconds", "lateness", "From the nominal time to the dispatch.", true},
        {"run_duration_seconds", "duration", "From the dispatch to the outcome.", true},
        {"submit_duration_seconds", "submit", "From receipt of a plan to its acknowledgement.",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const json_t *histogram = json_object_get (histograms, rows[i].field);
        const json_t *le_us = json_object_get (histogram, "le_us");
        const json_t *targets = json_object_get (histogram, "targets");
        if (!json_is_array (le_us) || json_array_size (le_us) >= BUCKETS_MAX)
            continue; // an older station without histograms
        write_metric_head (out, rows[i].metric, "histogram", rows[i].help);
        for (size_t at = 0; at < (rows[i].by_target ? labels->count : 1); at++) {
            int64_t counts[BUCKETS_MAX] = {0}, sum_us = 0;
            if (!rows[i].by_target)
                add_counts (counts, &sum_us, histogram);
            for (size_t n = 0; rows[i].by_target && n < labels->at[at].count; n++) {
                const json_t *name = json_object_get (labels->at[at].targets[n], "name");
                add_counts (counts, &sum_us, json_object_get (targets, json_string_value (name)));
            }
            write_histogram (out, rows[i].metric, rows[i].by_target ? labels->at[at].name : NULL,
                             le_us, counts, sum_us);
        }
    }
}

void metrics_write (FILE *out, const json_t *health, const json_t *stats, size_t targets)
{
    write_gauge (out, "up", "Whether the station answers.", health != NULL);
    if (health)
        write_health (out, health);
    if (!stats)
        return;
    struct labels labels;
    label_targets (&labels, json_object_get (stats, "targets"), targets);
    write_plans (out, stats);
    write_counters (out, json_object_get (stats, "counters"));
    write_targets (out, &labels);
    write_overdue (out, stats, &labels);
    write_histograms (out, json_object_get (stats, "histograms"), &labels);
}
