// A connection to the station through libzplan. Each question has a deadline. The gateway retries
// questions that the station cannot answer at the moment, as during a takeover, if they are safe to
// repeat. The number in flight is bounded, so that one connection cannot overload the station;
// others wait in order.
#pragma once

#include <jansson.h>

#include "reactor.h"
#include "reason.h"
#include "zplan_client.h"

enum { GATEWAY_DEADLINE_MS = 8000, GATEWAY_SOON_MS = 400, GATEWAY_ARGS_MAX = 4 };

struct gateway;

struct station_answer {
    int error;                // enum zplan_error; if it is not ZPLAN_OK the rest is empty
    uint8_t status;           // ZERO_STATUS_...
    const json_t *json;       // parsed; NULL: there is none, or it is wanted as text
    struct span text;         // for a question `as_text`: the JSON, not parsed; empty: none
    char reason[REASON_MAX];  // for a rejection: the text after the status word
    char id[17];              // GLOBAL_ID
    enum zplan_stored stored; // for a submission
};

// The answer is valid within the call only.
typedef void gateway_fn (void *owner, const struct station_answer *answer);

struct question {
    const char *command;                    // NULL: PING, or the submission if there is one
    const char *args[GATEWAY_ARGS_MAX + 1]; // NULL after the last one
    const struct zplan_submission *submission;
    const char *user;    // on whose behalf; NULL = none
    bool repeat;         // true: handling it twice does no harm
    bool reads;          // true: it changes nothing
    bool large;          // its answer may be large
    bool as_text;        // its answer is not parsed, unless it is a rejection
    int64_t deadline_ms; // 0: GATEWAY_DEADLINE_MS
};

// Create a gateway; `client` is owned from then on.
struct gateway *gateway_new (struct reactor *reactor, struct zplan_client *client);

// Destroy the gateway. Waiting questions end with ZPLAN_ERROR_CLOSED, those in flight with
// ZPLAN_ERROR_NO_ANSWER.
void gateway_destroy (struct gateway **self);

// Send a question. What it points to is borrowed until `fn` is called, which happens once, and
// never within this call.
void gateway_ask (struct gateway *self, const struct question *question, gateway_fn *fn,
                  void *owner);
