// A filter for the oracle: for each line of standard input
//   ZONE GAP OVERLAP TYPE VALUE WALL_CLOCK BASE FROM TO EXPRESSIONS
// prints the occurrences of that schedule from FROM on and before TO, found forwards, a "|", and
// those found backwards. Fields are separated by a tab, expressions by a "|".
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "zonefile.h"

enum { ZONE, GAP, OVERLAP, TYPE, VALUE, WALL_CLOCK, BASE, FROM, TO, EXPRESSIONS, FIELDS };
enum { LINE_SIZE = 4096, NAME_SIZE = 64, KEPT_MAX = 1000 };

// The zone of the line before, as lines come sorted by zone.
static struct {
    char name[NAME_SIZE];
    struct zone *zone;
} last;

static int fail (const char *what)
{
    fprintf (stderr, "schedule_dump: %s\n", what);
    return -1;
}

static int select_zone (const char *name)
{
    if (last.zone && strcmp (last.name, name) == 0)
        return 0;
    struct reason reason = {0};
    zone_destroy (&last.zone);
    last.zone = zonefile_load (name, &reason);
    snprintf (last.name, sizeof last.name, "%s", name);
    return last.zone ? 0 : fail (reason.text);
}

static int read_fields (char *line, char *fields[FIELDS])
{
    line[strcspn (line, "\n")] = '\0';
    for (int i = 0; i < FIELDS; i++)
        fields[i] = strsep (&line, "\t");
    return fields[FIELDS - 1] ? 0 : fail ("fields are missing");
}

static struct cron *read_cron (char *text)
{
    struct span spans[CRON_EXPRESSIONS_MAX];
    struct reason reason = {0};
    size_t count = 0;
    for (char *one = strsep (&text, "|"); one && count < CRON_EXPRESSIONS_MAX;
         one = strsep (&text, "|"))
        spans[count++] = span_text (one);
    struct cron *cron = cron_new (spans, count, &reason);
    if (!cron)
        fail (reason.text);
    return cron;
}

// The newest 1000 before TO are those from the first of them on, so a plan that makes up for so
// many finds them backwards.
static void print_backwards (const struct schedule *schedule, int64_t from, int64_t to)
{
    for (int64_t keep = 1; keep <= KEPT_MAX; keep++) {
        const struct occurrence current = {from - 1, 0};
        const struct catch_up catch_up = {keep, 0};
        struct missed missed;
        struct occurrence at;
        if (!schedule_after (schedule, last.zone, &current, to, &catch_up, &missed, &at) ||
            at.time >= to)
            return;
        printf (" %" PRId64, at.time);
        if (missed.count == 0)
            return;
    }
}

static int answer (char *line)
{
    char *fields[FIELDS];
    if (read_fields (line, fields) || select_zone (fields[ZONE]))
        return -1;
    struct cron *cron = fields[EXPRESSIONS][0] ? read_cron (fields[EXPRESSIONS]) : NULL;
    struct schedule schedule = {
        .type = (enum schedule_type)schedule_type_parse (fields[TYPE]),
        .value = (int32_t)strtol (fields[VALUE], NULL, 10),
        .repeat = SCHEDULE_FOREVER,
        .base_time = strtoll (fields[BASE], NULL, 10),
        .wall_clock = fields[WALL_CLOCK][0] == '1',
        .gap = (enum zone_gap)zone_gap_parse (fields[GAP]),
        .overlap = (enum zone_overlap)zone_overlap_parse (fields[OVERLAP]),
        .cron = cron,
    };
    int64_t from = strtoll (fields[FROM], NULL, 10), to = strtoll (fields[TO], NULL, 10);
    struct occurrence at;
    bool more = schedule_first (&schedule, last.zone, from, 0, &at);
    for (; more && at.time < to; more = schedule_next (&schedule, last.zone, &at, at.time, &at))
        printf ("%" PRId64 " ", at.time);
    printf ("|");
    print_backwards (&schedule, from, to);
    puts ("");
    cron_destroy (&cron);
    return 0;
}

int main (void)
{
    static char line[LINE_SIZE];
    int failed = 0;
    while (!failed && fgets (line, sizeof line, stdin))
        failed = answer (line);
    zone_destroy (&last.zone);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
