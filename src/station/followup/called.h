// A plan that an outcome calls: made by the station, and placed in the batch of that outcome. It
// runs once, as soon as it is stored.
#pragma once

#include "station_state.h"

enum { CALLED_FRAMES_MAX = 5 };

struct called {
    uint64_t id;
    const struct plan *of; // whose outcome it is: caller, tenant and creator are copied from it
    struct span target;
    const char *prefix;   // of the title; the title of `of` follows
    const char *title;    // instead of both; NULL = none
    const json_t *fields; // of the PLAN frame besides those; borrowed
    struct {
        uint8_t type;
        struct span bytes;
    } frames[CALLED_FRAMES_MAX];
    size_t frame_count;
};

// NULL: it would be against the settings as they are now. The caller owns it.
struct plan *called_plan (struct station *self, const struct called *called);

// The outcome's members in a JSON that people and programs read: ids are hex text, instants
// RFC 3339 with milliseconds.
void called_set_text (json_t *object, const char *name, struct span text);
void called_set_hex (json_t *object, const char *name, uint64_t id);
// Its name in lower case, if it has one.
void called_set_status (json_t *object, const char *name, uint8_t status);
void called_set_instant (json_t *object, const char *name, int64_t time_us);
