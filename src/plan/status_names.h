// The words that people and programs read for the numbers of the wire: a plan's state, the status
// of a run, a verdict. Pure.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

// Each takes a number of the wire, or its name there, and returns the word for it; NULL: unknown.
const char *json_state_name (const json_t *state);     // queued, running, ...
const char *json_status_name (const json_t *status);   // ok, failed, ...; NULL before the first run
const char *json_verdict_name (const json_t *verdict); // failure, pending, manual, cancelled

// Whether a plan's `last_state` shows how a run ended: it is not 0, and no heartbeat. `runs`: a run
// is in progress; a success then returns false too, as it belongs to the previous run.
bool json_status_ends (const json_t *status, bool runs);

// The status with which a plan's last run ended, borrowed from `plan`. NULL: no run has ended, or
// the status is that of a run in progress.
const json_t *json_last_status (const json_t *plan);

// The number of a status that is given as a number or as its word on the wire; 0: it is neither.
int64_t json_status_number (const json_t *status);

// Whether json_status_name has a word for just this status; it calls all other errors "failed".
bool json_status_has_name (int64_t status);

// The name of an error status in lower case ("not_find"); "error" if it has none. Returns `out`.
enum { JSON_CODE_SIZE = 40 };
const char *json_status_code (uint8_t status, char out[JSON_CODE_SIZE]);
