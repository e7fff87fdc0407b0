// A plan that an outcome calls: the station creates it and writes it in the same batch as the
// outcome. It runs once, as soon as it is stored.
#pragma once

#include "station_state.h"

enum { CALLED_FRAMES_MAX = 5 };

struct plan_call {
    uint64_t id;
    const struct plan *source; // the plan of the outcome; its caller, tenant and creator are copied
    struct span target;
    const char *prefix;   // begins the title, before the title of `source`
    const char *title;    // replaces prefix and title; NULL = none
    const json_t *fields; // other fields of the PLAN frame; borrowed
    struct {
        uint8_t type;
        struct span bytes;
    } frames[CALLED_FRAMES_MAX];
    size_t frame_count;
};

// Create the plan. NULL: its fields are invalid, or the engine rejects it. The caller owns it.
struct plan *called_plan (struct station *self, const struct plan_call *call);

// Values of an outcome in JSON for people and programs: an id as hex text, an instant by RFC 3339
// with milliseconds, the name of a status in lower case (NULL: it has none).
json_t *called_hex (uint64_t id);
json_t *called_instant (int64_t time_us);
json_t *called_status (uint8_t status);
