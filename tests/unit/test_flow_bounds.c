// Flows of 10,000 steps, and 10,000 items: each call of the step function does a bounded piece of
// work, and every step is placed once. The figures are printed, of processor time: others may run
// beside it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "flow_run.h"

#ifdef __SANITIZE_ADDRESS__ // looks at each transition, and needs no figures of many
enum { RUNS = 10 };
#else
enum { RUNS = 50 };
#endif
enum { STEPS = 10000, WIDTH = 224, SLOW_MS = 3000 };

struct text {
    char *bytes;
    size_t size;
};

static void add (struct text *self, const char *format, ...)
{
    char part[128];
    va_list values;
    va_start (values, format);
    int size = vsnprintf (part, sizeof part, format, values);
    va_end (values);
    memcpy (self->bytes + self->size, part, (size_t)size + 1);
    self->size += (size_t)size;
}

static void begin_step (struct text *self, int step)
{
    add (self, "%s\"s%d\":{\"target\":\"t\"", step ? "," : "", step);
}

static void chain (struct text *self, int step)
{
    begin_step (self, step);
    add (self, step ? ",\"after\":[\"s%d\"]}" : "}", step - 1);
}

static void star (struct text *self, int step)
{
    begin_step (self, step);
    add (self, step ? ",\"after\":[\"s0\"]}" : "}");
}

// All wait for one, and one for all.
static void join (struct text *self, int step)
{
    begin_step (self, step);
    if (step == STEPS - 1) {
        add (self, ",\"after\":[");
        for (int i = 0; i < STEPS - 1; i++)
            add (self, "%s\"s%d\"", i ? "," : "", i);
        add (self, "]");
    }
    add (self, "}");
}

// Two layers, with an edge from each step of the first to each of the second; the others are alone.
static void two_layers (struct text *self, int step)
{
    begin_step (self, step);
    if (step >= WIDTH && step < 2 * WIDTH - 1) {
        add (self, ",\"after\":[");
        for (int i = 0; i < WIDTH; i++)
            add (self, "%s\"s%d\"", i ? "," : "", i);
        add (self, "]");
    }
    add (self, "}");
}

static void at_random (struct text *self, int step)
{
    begin_step (self, step);
    if (step > 3)
        add (self, ",\"after\":[\"s%d\",\"s%d\",\"s%d\"],\"if\":\"%d > 0\"}",
             step - 1 - rand () % 2, step - 3, rand () % (step - 3), step);
    else
        add (self, "}");
}

static void items (struct text *self, int step)
{
    if (step < 2)
        add (self,
             step ? ",\"count\":{\"after\":[\"each\"],\"let\":{\"n\":\"steps.each.value.size()\"}}"
                  : "\"each\":{\"target\":\"t\",\"for_each\":10000,\"args\":[\"=item\"]}");
}

static double ms_since (const struct timespec *begin)
{
    struct timespec now;
    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)(now.tv_sec - begin->tv_sec) * 1e3 +
           (double)(now.tv_nsec - begin->tv_nsec) / 1e6;
}

struct watch {
    double *ms;
    size_t count, room;
};

static void note (struct watch *self, double ms)
{
    if (self->count == self->room) {
        self->room = self->room ? 2 * self->room : 1024;
        self->ms = realloc (self->ms, self->room * sizeof *self->ms);
    }
    self->ms[self->count++] = ms;
}

static int by_size (const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

// Calls in flight, in the order in which they were placed.
struct queue {
    struct flow_event *events;
    size_t begin, end;
};

static void carry (const struct flow *flow, struct flow_run *run, const struct flow_event *event,
                   struct queue *queue, struct watch *watch)
{
    const struct flow_event more = {.kind = FLOW_CHECK, .item = -1};
    struct flow_effects effects = {.count = 0};
    do {
        struct timespec begin;
        clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &begin);
        flow_step (flow, run, effects.more ? &more : event, 1000, &effects);
        note (watch, ms_since (&begin));
        assert_true (effects.placed <= FLOW_PLACED_MAX && effects.decisions <= FLOW_DECISIONS_MAX);
    } while (effects.more);
    for (size_t i = 0; i < effects.count; i++) {
        assert_true (queue->end < STEPS); // each is placed once
        queue->events[queue->end++] =
            (struct flow_event){.kind = FLOW_CALL_ENDED,
                                .step = effects.items[i].step,
                                .item = effects.items[i].item,
                                .generation = effects.items[i].generation};
    }
    flow_effects_clear (&effects);
}

static const struct row {
    const char *name;
    void (*step) (struct text *, int);
    uint64_t calls;
} rows[] = {
    {"a chain", chain, STEPS},     {"a star", star, STEPS},         {"a join of all", join, STEPS},
    {"layers", two_layers, STEPS}, {"at random", at_random, STEPS}, {"items", items, STEPS},
};

// Some runs at once, each an event at a time.
static void play (const struct row *row, const struct flow *flow, struct watch *watch)
{
    struct flow_run *runs[RUNS];
    struct queue *queues = calloc (RUNS, sizeof *queues);
    const struct flow_event begin = {.kind = FLOW_BEGIN, .item = -1};
    size_t open = RUNS;
    for (size_t i = 0; i < RUNS; i++) {
        runs[i] = flow_run_new (flow, "1f");
        queues[i].events = calloc (STEPS, sizeof *queues[i].events);
        carry (flow, runs[i], &begin, &queues[i], watch);
    }
    while (open) {
        open = 0;
        for (size_t i = 0; i < RUNS; i++)
            if (queues[i].begin < queues[i].end) {
                const struct flow_event event = queues[i].events[queues[i].begin++];
                carry (flow, runs[i], &event, &queues[i], watch);
                open++;
            }
    }
    for (size_t i = 0; i < RUNS; i++) {
        if (runs[i]->outcome != FLOW_WELL || queues[i].end != row->calls)
            fail_msg ("%s: outcome %d after %zu calls", row->name, (int)runs[i]->outcome,
                      queues[i].end);
        flow_run_destroy (&runs[i], flow);
        free (queues[i].events);
    }
    free (queues);
}

static void test_sizes (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text text = {malloc (4000000), 0};
        struct watch watch = {NULL, 0, 0};
        struct timespec begin;
        json_t *errors = NULL;
        add (&text, "{\"flow\":\"f\",\"max_parallel\":64,\"steps\":{");
        for (int step = 0; step < STEPS; step++)
            rows[i].step (&text, step);
        add (&text, "}}");
        clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &begin);
        struct flow *flow = flow_parse (span_of (text.bytes, text.size), NULL, &errors);
        double parsed = ms_since (&begin);
        if (!flow)
            fail_msg ("%s: %s", rows[i].name, json_dumps (errors, 0));
        play (&rows[i], flow, &watch);
        qsort (watch.ms, watch.count, sizeof *watch.ms, by_size);
        printf (
            "# %s: %zu bytes, read in %.1f ms; %zu transitions, p50 %.4f ms, p99 %.4f ms, at most "
            "%.2f ms\n",
            rows[i].name, text.size, parsed, watch.count, watch.ms[watch.count / 2],
            watch.ms[watch.count * 99 / 100], watch.ms[watch.count - 1]);
        assert_true (parsed < SLOW_MS && watch.ms[watch.count * 99 / 100] < SLOW_MS / 100);
        flow_destroy (&flow);
        free (watch.ms);
        free (text.bytes);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (test_sizes)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
