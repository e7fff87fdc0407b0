// What zplan status found, and its screen.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { STATUS_SHOWN = 5, STATUS_FAILED_SHOWN = 10 };

struct status {
    json_t *health;  // NULL: not known
    json_t *running; // plans, STATUS_FAILED_SHOWN at most
    json_t *failed;  // of each plan its newest failed run, with `failures`: how many; and
                     // `recovered`: it succeeded since
    json_t *next;    // plans, the soonest first
    json_t *targets; // of stats
    json_t *hidden;  // reason -> names of the parts that are not known because of it
    int64_t running_count, failed_count, retrying, paused, dead;
    int64_t plans; // that were looked at; -1: they are not known
    bool more;     // plans than were looked at
};

// Print it, as wide as the terminal at most.
void status_print (const struct status *self);
