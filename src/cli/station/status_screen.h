// The data of zplan status, and its screen.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "call.h"

enum { STATUS_SHOWN = 5, STATUS_FAILED_SHOWN = 10 };

struct status {
    // How the parts are requested.
    const struct cli *cli;
    struct zplan_client *client;
    int64_t since_ms; // older failures are not shown; Unix milliseconds
    json_t *seen;     // plan -> whether its newest outcome is a success
    json_t *failing;  // plan -> its row of `failed`
    // The parts.
    json_t *health;  // NULL: not known
    json_t *running; // plans, at most STATUS_FAILED_SHOWN
    json_t *failed;  // the newest failed run of each plan, with `failures`, the number of failures,
                     // and `recovered`: the plan succeeded since
    json_t *next;    // plans, the soonest first
    json_t *targets; // as `stats` returns them
    json_t *hidden;  // reason -> names of the parts that are unknown for this reason
    int64_t running_count, failed_count, retrying, paused, dead;
    int64_t plans; // 0: there are none; -1: unknown; else above 0
    bool more;     // there are more plans than were read
};

// Print the screen, at most as wide as the terminal.
void status_print (const struct status *self);
