#include "load.h"

#include <signal.h>
#include <stdio.h>

#include "clock.h"
#include "target.h"

enum { SLOW_US = 10000, READ_AT_ONCE = 64 };

enum behaviour { GOOD, SLOW, SILENT, DEAD, BEHAVIOURS };

static const char *const behaviour_names[] = {
    [GOOD] = "good", [SLOW] = "slow", [SILENT] = "silent", [DEAD] = "dead"};

static volatile sig_atomic_t stopped;

static void on_signal (int number)
{
    (void)number;
    stopped = 1;
}

static enum behaviour behaviour_of (const char *name)
{
    for (int i = 0; i < BEHAVIOURS; i++)
        if (strcmp (name, behaviour_names[i]) == 0)
            return (enum behaviour)i;
    fail ("--behave: want good, slow, silent or dead");
}

// A slow one leaves the rest in its socket, as a target does that is busy.
static void take_runs (struct target *target, enum behaviour how, int64_t *next_us)
{
    struct run run;
    for (int i = 0; i < READ_AT_ONCE; i++) {
        if (how == SLOW && clock_mono_us () < *next_us)
            return;
        if (!target_take (target, &run))
            return;
        if (how != SILENT)
            target_answer (target);
        *next_us = run.at_us + SLOW_US;
    }
}

static void serve (struct target *target, enum behaviour how)
{
    int64_t next_us = 0;
    while (!stopped) {
        zmq_pollitem_t item = {.socket = target->socket, .events = ZMQ_POLLIN};
        int64_t now = clock_mono_us ();
        // Not polled while it may not answer yet: else it would spin.
        if (how == SLOW && now < next_us)
            zmq_poll (NULL, 0, traffic_wait_ms (next_us, now));
        else
            zmq_poll (&item, 1, 1000);
        take_runs (target, how, &next_us);
    }
}

int load_target (const struct options *options)
{
    static struct target target;
    static struct book book;
    enum behaviour how = behaviour_of (options->behave);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction (SIGTERM, &action, NULL);
    sigaction (SIGINT, &action, NULL);
    book_open (&book, 0);
    if (how != DEAD) {
        target_open (&target, options->target, &book);
        serve (&target, how);
    }
    while (!stopped)
        zmq_poll (NULL, 0, 1000);
    result_begin ("target");
    target_result (&target);
    result_real ("own_cpu_s", cpu_seconds ());
    result_end ();
    target_close (&target);
    book_close (&book);
    return 0;
}
