// What the station does when it becomes the owner of the plans, and when it ceases to be: it
// serves, is a standby, or drops what it knows of them. Source: proto/operations.md, 12.4.
#pragma once

#include "station_state.h"

// The state of the store has changed.
void owning_changed (void *owner, enum store_state state);

// Bind the request socket and print `ready`; it is tried again by the caller while the socket is
// in use.
void owning_serve (struct station *self);

// Log why Redis is down: once, and again when it is for another reason. It is called several times
// a second.
void owning_note_down (struct station *self, const char *trouble);

// With each tick: a station that served and finds the plans with another one forgets what it knows
// of them.
void owning_watch (struct station *self, int64_t now_us);
