#include "load.h"

#include <stdio.h>

#include "clock.h"
#include "producers.h"
#include "target.h"

enum { READ_AT_ONCE = 256 };

struct drain {
    const struct options *options;
    struct producers producers;
    struct target target;
    struct subscriber subscriber;
    struct book book;
    int64_t due_s;
    int64_t expected; // plans that are to run
};

static void open_all (struct drain *self)
{
    const struct options *options = self->options;
    book_open (&self->book, options->expect ? options->expect : options->plans);
    subscriber_open (&self->subscriber, options->publish, &self->book);
    self->subscriber.seq = options->seq;
    if (!options->skip_submit)
        producers_open (&self->producers, options);
    // Last: what is overdue comes as soon as we are there.
    target_open (&self->target, options->target, &self->book);
    if (options->skip_submit)
        return;
    self->due_s = clock_wall_us () / 1000000 + options->due_in_s;
    producers_plan_time (&self->producers, self->due_s);
    producers_want (&self->producers, options->plans);
}

static void close_all (struct drain *self)
{
    if (!self->options->skip_submit)
        producers_close (&self->producers);
    target_close (&self->target);
    subscriber_close (&self->subscriber);
    book_close (&self->book);
}

// Whether there may be more runs to take.
static bool take_runs (struct drain *self)
{
    struct run run;
    int taken = 0;
    while (taken < READ_AT_ONCE && target_take (&self->target, &run)) {
        target_answer (&self->target);
        taken++;
        if (self->options->mark && self->target.runs == self->options->mark)
            fputs ("mark\n", stderr);
    }
    return taken == READ_AT_ONCE;
}

static int64_t plans_wanted (const struct drain *self)
{
    if (self->options->expect)
        return self->options->expect;
    return producers_done (&self->producers) ? self->producers.accepted_count : INT64_MAX;
}

static bool all_done (const struct drain *self)
{
    const struct subscriber *subscriber = &self->subscriber;
    return subscriber->done + subscriber->missed >= plans_wanted (self) &&
           producers_done (&self->producers) && self->target.plans >= plans_wanted (self);
}

// Everything that ever happens counts up.
static int64_t progress (const struct drain *self)
{
    return self->producers.answered + self->target.runs + self->subscriber.heard;
}

// Nothing is expected before the plans are due.
static int64_t give_up_us (const struct drain *self, int64_t last_us)
{
    int64_t due_us = clock_mono_us () + self->due_s * 1000000 - clock_wall_us ();
    int64_t from_us = self->due_s && due_us > last_us ? due_us : last_us;
    return from_us + self->options->patience_s * 1000000;
}

static void run_all (struct drain *self)
{
    zmq_pollitem_t items[PRODUCERS_MAX + 2];
    size_t count = producers_items (&self->producers, items);
    items[count++] = (zmq_pollitem_t){.socket = self->target.socket, .events = ZMQ_POLLIN};
    items[count++] = (zmq_pollitem_t){.socket = self->subscriber.socket, .events = ZMQ_POLLIN};
    int64_t last_us = clock_mono_us (), before = 0;
    for (;;) {
        int64_t again_us = producers_work (&self->producers);
        bool more = take_runs (self);
        more |= subscriber_take (&self->subscriber, READ_AT_ONCE) == READ_AT_ONCE;
        if (all_done (self))
            return;
        int64_t now = clock_mono_us (), after = progress (self);
        if (after != before) {
            before = after;
            last_us = now;
        } else if (now > give_up_us (self, last_us)) {
            fprintf (stderr, "zplan-bench: nothing happens any more\n");
            return;
        }
        zmq_poll (items, (int)count, more ? 0 : traffic_wait_ms (again_us, now));
    }
}

static void print_result (struct drain *self, double cpu)
{
    const struct target *target = &self->target;
    const struct subscriber *subscriber = &self->subscriber;
    int64_t us = subscriber->last_us - target->first_us;
    result_begin ("drain");
    if (!self->options->skip_submit)
        producers_result (&self->producers);
    target_result (target);
    subscriber_result (subscriber);
    result_real ("runs_per_s", target->runs ? rate_of (target->plans, us) : 0);
    result_real ("drain_s", target->runs && us > 0 ? (double)us / 1e6 : 0);
    if (self->due_s && target->runs)
        result_real ("first_after_due_ms",
                     (double)(target->first_wall_us - self->due_s * 1000000) / 1000);
    result_real ("own_cpu_s", cpu);
    result_end ();
}

int load_drain (const struct options *options)
{
    static struct drain drain;
    drain.options = options;
    if (options->skip_submit && !options->expect)
        fail ("--skip-submit wants --expect N");
    open_all (&drain);
    double cpu = cpu_seconds ();
    run_all (&drain);
    bool done = all_done (&drain);
    print_result (&drain, cpu_seconds () - cpu);
    close_all (&drain);
    return done ? 0 : 1;
}
