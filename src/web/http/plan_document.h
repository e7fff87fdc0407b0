// The metadata of a plan besides its fields: versions, times. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"

enum { PLAN_ETAG_SIZE = 64 };

// Write the strong ETag of a plan that `message` returned. `frames`: with its frames. Returns
// `out`.
const char *plan_etag (const json_t *plan, bool frames, char out[PLAN_ETAG_SIZE]);

// Read the revision in an If-Match, which may be weak. 0, or -1: not valid.
int plan_etag_read (const char *text, int64_t *ret_revision);

// Convert the station's answer to `next`: {next: [instant, ...], never}. A new object.
json_t *plan_next_document (const json_t *answer);

// The plan as its submitter would write it, without fields that only matter when submitting:
// {target, title, command, args, frames, spec, hold, id}. NULL: it is closed. A new object.
json_t *plan_submitted (const json_t *plan);

// Whether two lines of an export describe the same plan, ignoring `hold` and `id`.
bool plan_submitted_same (const json_t *a, const json_t *b);

// Derive the id of a submission from the user ("" without users), the Idempotency-Key and the line.
// `line` counts the lines of an import from 1; else 0. 0, or -1 with a reason: the key is not
// valid.
int plan_id_of_key (const char *user, const char *key, size_t line, char out[17],
                    struct reason *reason);
