// The words that people and programs read for the numbers of the wire: a plan's state, the status
// of a run, a verdict. Pure.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

// The word for a number of the wire, or for its word there; NULL: unknown.
const char *json_state_name (const json_t *state);     // queued, running, ...
const char *json_status_name (const json_t *status);   // ok, failed, ...; NULL before the first run
const char *json_verdict_name (const json_t *verdict); // failure, pending, manual, cancelled

// Whether this is the status of a run that has ended. `runs`: another one is in progress.
bool json_status_ends (const json_t *status, bool runs);

// The status of a plan's last run; NULL: there was none, or how it ended is not known, as a run in
// progress has taken its place.
const json_t *json_last_status (const json_t *plan);

// The number of a status, or of its word on the wire; 0: none.
int64_t json_status_number (const json_t *status);

// Whether a status has a word of its own; any other error is "failed".
bool json_status_has_name (int64_t status);

// The name of an error status in lower case ("not_find"); "error" where it has none.
enum { JSON_CODE_SIZE = 40 };
const char *json_status_code (uint8_t status, char out[JSON_CODE_SIZE]);
