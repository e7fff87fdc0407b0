// A plan as a line of JSON: what `zplan add --from` takes, and what `zplan export` writes. Pure.
//
// A line may have the options of `zplan add` as fields, without the leading dashes: strings,
// numbers, true for a flag, an array for a repeatable option. Instead of a kind of time it may have
// the fields of the PLAN frame (plan_type, plan_value, ...). `id` is the plan's id.
//
// A line that has `messages` is a plan as the station stores it. The plan continues where it was:
// the same id, target, frames and schedule, with the remaining repeats. The station's counters
// restart at 0.
#pragma once

#include <jansson.h>

#include "ident.h"
#include "action_frame.h"
#include "zplan.h"

enum entry_state {
    ENTRY_RUNS,
    ENTRY_PAUSED, // it was paused, or parked after an error
    ENTRY_OVER    // it was closed, or has no repeats left
};

struct entry {
    enum entry_state state;
    char id[IDENT_SIZE]; // "" = none is given
    const char *station;
    char *plan; // the PLAN frame
    size_t count;
    struct zplan_frame frames[ZPLAN_FRAMES_MAX]; // what the target gets; no PLAN or STATION_ID
    json_t *object;                              // owns the texts above
    uint8_t *bytes; // owns frame data that the object does not have as text
};

// A zone, and its name if one was given, which plans that name no zone then get.
struct entry_zone {
    const struct zone *zone;
    const char *name; // NULL: none was given, it is UTC
};

// Read a line. Local times are in this zone, unless the line names one. 0: free the entry with
// entry_clear; -1 with a reason that names the field, and the entry is empty. The object is
// borrowed and may be changed.
int entry_read (json_t *object, struct entry_zone zone, int64_t now_us, struct entry *ret,
                struct reason *reason);
void entry_clear (struct entry *self);

// Read a plan that the station stored, for entry_read: what remains of it at `now_us`. 0, or -1
// with a reason.
int entry_read_stored (json_t *object, const struct zone *zone, int64_t now_us, struct entry *ret,
                       struct reason *reason);

// Whether both have the same target and the same frames, apart from GLOBAL_ID and REQUEST_ID.
bool entry_equals (const struct entry *a, const struct entry *b);
