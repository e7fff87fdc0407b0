#include "history_table.h"

#include "codes.h"
#include "outcomes.h"
#include "print.h"
#include "run_words.h"

// Occurrences that did not run: nothing was started, and nothing took any time.
static bool is_missed (const json_t *run)
{
    return json_integer_value (json_object_get (run, "status")) == ZERO_STATUS_MISSED_ID;
}

static void write_started (FILE *out, const json_t *run)
{
    char word[WORD_SIZE];
    fputs (is_missed (run) ? "-" : time_word (json_object_get (run, "fired"), word), out);
}

static void write_took (FILE *out, const json_t *run)
{
    char word[WORD_SIZE];
    if (is_missed (run))
        fputs ("-", out);
    else
        fputs (took_word (json_object_get (run, "fired"), json_object_get (run, "ended"), word),
               out);
}

static void write_outcome (FILE *out, const json_t *status)
{
    char word[WORD_SIZE];
    fputs (outcome_text (status, word), out);
}

static void write_why (FILE *out, const json_t *run)
{
    char from[WORD_SIZE], to[WORD_SIZE];
    const json_t *first = json_object_get (run, "missed_first");
    const json_t *last = json_object_get (run, "missed_last");
    write_run_reason (out, run);
    if (first && json_equal (first, last))
        fprintf (out, ", %s", time_word (first, from));
    else if (first)
        fprintf (out, ", %s to %s", time_word (first, from), time_word (last, to));
}

// The first one is omitted where all are of one plan.
static const struct column columns[] = {
    {.heading = "PLAN", .width = 16, .rule = COLUMN_SHORT, .least = 12, .write = write_plan_label},
    {.heading = "RUN", .width = 8, .is_number = true, .write = write_run_number},
    {.heading = "TARGET", .width = 12, .rule = COLUMN_SPARE, .may_go = true, .field = "station"},
    {.heading = "PLANNED", .width = 20, .may_go = true, .field = "nominal", .write = column_time},
    {.heading = "STARTED", .width = 20, .write = write_started},
    {.heading = "TOOK", .width = 11, .is_number = true, .may_go = true, .write = write_took},
    {.heading = "OUTCOME",
     .width = 9,
     .field = "status",
     .write = write_outcome,
     .colour = status_colour},
    {.heading = "REASON", .rule = COLUMN_REST, .least = 24, .write = write_why},
};

struct table *history_table (enum history_plans plans)
{
    size_t left_out = plans == HISTORY_ONE_PLAN;
    return table_new (columns + left_out, sizeof columns / sizeof *columns - left_out, stdout);
}
