// The report of one attempt to send a callback. Pure.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "breaker.h"
#include "callback_url.h"
#include "span.h"

enum { OUTCOME_ANSWER_MAX = 512 };

// How an attempt ended.
struct attempt {
    int status;                    // HTTP status; 0 = there was no complete answer
    const char *fault;             // why there was no complete answer
    bool denied;                   // the rules do not allow the address, so there was no request
    int64_t retry_after_s;         // from Retry-After; 0 = none
    struct span answer;            // start of the body; empty if it must not be kept
    const char *masked_secrets[3]; // secrets to mask in `answer`; NULL and "" are none
    const struct callback_url *masked_url; // mask its path and query, and parts; NULL: none
};

struct delivery_outcome {
    bool success, final;
    int64_t retry_after_s; // 0 = as the plan says
    int64_t release_s;     // not 0: no attempt was made; due again after this time
    char reason[OUTCOME_ANSWER_MAX + 1];
};

// Classify an attempt: 2xx is success; 410 and an address that is not allowed end the callback;
// everything else is retried.
void outcome_of_attempt (const struct attempt *attempt, struct delivery_outcome *ret);

// What the attempt means for the breaker of the host: BREAKER_FAILED for no answer, HTTP 429 and
// 5xx.
enum breaker_end outcome_of_host (const struct attempt *attempt);

// Add the fields of the report to `report`, except plan, worker and exec_id.
void outcome_write (const struct delivery_outcome *self, json_t *report);
