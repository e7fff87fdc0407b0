// Convert plans from the JSON of this interface to frames for the station: {target, title, command,
// args, frames, spec, hold, id}. Pure.
#pragma once

#include <jansson.h>

#include "reason.h"
#include "zplan_client.h"

// Frames point into `object` and `bytes`.
struct submission_body {
    json_t *object;          // owned
    char *plan;              // the text of the PLAN frame; owned
    uint8_t *bytes;          // decoded from base64; owned
    const char *target, *id; // borrowed from `object`; NULL: not given
    struct zplan_frame frames[ZPLAN_FRAMES_MAX];
    size_t count;
};

// Read a plan. 0, or -1 with a reason that names the field; `ret` is then empty.
int submission_read (json_t *object, struct submission_body *ret, struct reason *reason);
void submission_clear (struct submission_body *self);

// Check a PLAN frame by the rules of the station. 0, or -1 with a reason.
int submission_check (const char *plan, struct reason *reason);

// Convert a merge patch, {title, spec}, to the changes that `update` takes: a new object. NULL with
// a reason.
json_t *submission_changes (const json_t *patch, struct reason *reason);
