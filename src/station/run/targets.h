// The set of target stations: those of the settings, those that were added while the station runs
// (kept in Redis), and those of a MicroZero center. A name stands for one target; where two name
// it, the settings win over what was added, and that over the center.
#pragma once

#include "station_state.h"

// Of type pull: the default of a station that was given no targets.
#define TARGET_DEFAULT "jobs"

// Those of the settings start to connect, and the center is asked for its own; once.
void targets_start (struct station *self);
void targets_stop (struct station *self);

// Check what no text of a target can show: one with a key needs the station's own. 0, or -1 with a
// reason.
int targets_check (const struct station *self, const struct target_settings *settings,
                   struct reason *reason);

// Put a target in, or in the place of the one with its name. 0, or -1 with a reason: there are too
// many, the name is one of the settings, or targets_check refuses it.
int targets_put (struct station *self, const struct target_settings *settings,
                 struct reason *reason);

// Take the target with this name out, if it is of this origin. Its runs in flight are kept: their
// results may still come to the request socket.
bool targets_take (struct station *self, const char *name, enum origin origin);

// Have a pull target of this name: one that is missing is put in, and kept as `station add` does.
// 0, or -1 with a reason: there are too many, or it is of another type.
int targets_need_pull (struct station *self, const char *name, struct reason *reason);

// Redis is up: read the targets that were added, and put them in; without any target at all add the
// default one. The station serves when they are
// read: before, a plan for one of them would be rejected as if there were none.
void targets_load (struct station *self);

// The plans that wait for a target that is connected here are due at once: those that another
// station claimed which does not reach it.
void targets_wake (struct station *self);

// The targets of this origin that are not in the list are taken out, the others put in.
void targets_replace (struct station *self, enum origin origin, const struct target_settings *list,
                      size_t count);
