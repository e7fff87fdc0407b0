// Convert a job of the callback target to an HTTP request. Pure.
//
// The frames of its plan are COMMAND (POST or PUT), ARG (the URL, or @NAME), ARG (name of a secret,
// or nothing), ARG (headers, a JSON object), JSON (the body). Its `ext` names the run that it
// reports: {"plan", "exec_id", "nominal", "status"}.
#pragma once

#include <jansson.h>

#include "callback_header.h"
#include "callback_url.h"
#include "ident.h"
#include "secret.h"

enum {
    CALLBACK_TIMEOUT_S = 15,
    CALLBACK_TIMEOUT_MAX_S = 60,
    CALLBACK_ID_SIZE = 2 * IDENT_SIZE + 4,
    CALLBACK_SOURCE_SIZE = 256,
    CALLBACK_TRACE_SIZE = 64,
    CALLBACK_LINE_SIZE = 1280, // longest header line, with its NUL
    CALLBACK_LINES_MAX = CALLBACK_HEADERS_MAX + 12
};

struct callback {
    char plan[IDENT_SIZE], exec[IDENT_SIZE]; // ids of the job's plan and run
    int64_t ping_s, worker_timeout_s;
    bool is_put;
    char where[CALLBACK_URL_MAX + 1]; // the URL or @NAME, as in the plan
    bool named;                       // `where` is @NAME
    struct callback_url url;          // set by callback_set_url
    char secret[CALLBACK_NAME_MAX + 1];
    json_t *headers; // names and values, checked; NULL: none
    uint8_t *body;
    size_t body_size;
    int64_t timeout_s;
    char source[CALLBACK_SOURCE_SIZE];                   // target of the run
    char about_plan[IDENT_SIZE], about_exec[IDENT_SIZE]; // ids of the run that it reports
    char id[CALLBACK_ID_SIZE];                           // webhook-id
    char trace[CALLBACK_TRACE_SIZE];                     // "" = none
};

// Read the ids of the job, which every report needs, and its intervals. False: an id is invalid.
bool callback_read_ids (const json_t *taken, struct callback *ret);

// Read the rest of the job. 0, or -1 with the reason why it can never be sent. Call callback_clear
// in any case.
int callback_read (const json_t *taken, struct callback *self, struct reason *reason);

// Set `url` from `where`, or from the receiver that it names; `receiver` is NULL for a URL. 0, or
// -1 with the reason.
int callback_set_url (struct callback *self, const struct receiver *receiver,
                      struct reason *reason);

// Write the header lines of one attempt, each "Name: value"; `secret` may be NULL. Returns their
// number.
size_t callback_write_headers (const struct callback *self, const struct secret *secret,
                               int64_t now_s, char out[CALLBACK_LINES_MAX][CALLBACK_LINE_SIZE]);

void callback_clear (struct callback *self);
