#include "load.h"

#include <stdio.h>

#include "clock.h"
#include "producers.h"

int load_intake (const struct options *options)
{
    static struct producers producers;
    zmq_pollitem_t items[PRODUCERS_MAX];
    int64_t patience_us = options->patience_s * 1000000;
    producers_open (&producers, options);
    producers_plan_time (&producers, clock_wall_us () / 1000000 + options->due_in_s);
    double cpu = cpu_seconds ();
    producers_want (&producers, options->plans);
    int count = (int)producers_items (&producers, items);
    int64_t last_us = clock_mono_us (), answered = 0;
    for (;;) {
        int64_t again_us = producers_work (&producers), now = clock_mono_us ();
        if (producers_done (&producers))
            break;
        // BUSY is no answer: it may be so for ever.
        if (producers.answered != answered) {
            answered = producers.answered;
            last_us = now;
        } else if (now - last_us > patience_us) {
            fprintf (stderr, "zplan-bench: no answer for %lld s\n", (long long)options->patience_s);
            break;
        }
        zmq_poll (items, count, traffic_wait_ms (again_us, now));
    }
    bool done = producers_done (&producers);
    result_begin ("intake");
    producers_result (&producers);
    result_real ("own_cpu_s", cpu_seconds () - cpu);
    result_end ();
    producers_close (&producers);
    return done && producers.accepted_count == options->plans ? 0 : 1;
}
