// How many requests of each peer wait for Redis: one that sends without reading what it is answered
// is told to wait, and takes nobody else's room.
#pragma once

#include "core.h"

// Count one in. The identity is copied.
void peers_enter (struct station *self, struct span identity);

// Count one out.
void peers_leave (struct station *self, struct span identity);

// Whether it has as many as it may.
bool peers_full (const struct station *self, struct span identity);

void peers_stop (struct station *self);
