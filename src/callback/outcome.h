// The report of a try. Pure.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "breaker.h"
#include "callback_url.h"
#include "span.h"

enum { OUTCOME_ANSWER_MAX = 512 };

// How a try ended.
struct attempt {
    int status;             // of HTTP; 0 = there was no whole answer
    const char *fault;      // why not
    bool denied;            // the rules do not allow the address, so there was no request
    int64_t retry_after_s;  // 0 = not asked for
    struct span answer;     // begin of the body; empty if it is not to be kept
    const char *blotted[3]; // texts that are replaced in it; NULL and "" are none
    const struct callback_url *blotted_url; // its path and query, and parts of them; NULL: none
};

struct delivery_outcome {
    bool success, final;
    int64_t retry_after_s; // 0 = as the plan says
    int64_t release_s;     // not 0: it was not tried; due again then
    char reason[OUTCOME_ANSWER_MAX + 1];
};

// 2xx is success; 410 and an address that is not allowed end the callback; everything else is tried
// again.
void outcome_of_attempt (const struct attempt *attempt, struct delivery_outcome *ret);

// What the try says of the host.
enum breaker_end outcome_of_host (const struct attempt *attempt);

// The fields of the report besides plan, worker and exec_id.
void outcome_write (const struct delivery_outcome *self, json_t *report);
