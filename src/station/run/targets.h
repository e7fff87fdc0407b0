// The set of targets: those of the settings, those added at run time (stored in Redis), and those
// of a MicroZero center. Names are unique: a target of the settings wins over an added one, and
// that over one of the center.
#pragma once

#include "station_state.h"

// A pull target: the default of a station without configured targets.
#define TARGET_DEFAULT "jobs"

// Connect to the targets of the settings and start to ask the center. Called once.
void targets_start (struct station *self);
// Destroy all targets.
void targets_stop (struct station *self);

// Check what target_settings_parse cannot: a target with a public key needs a key of the station.
// 0, or -1 with a reason.
int targets_check (const struct station *self, const struct target_settings *settings,
                   struct reason *reason);

// Add a target, or replace the one with its name. 0, or -1 with a reason: there are too many, the
// name is one of the settings, or targets_check fails.
int targets_add (struct station *self, const struct target_settings *settings,
                 struct reason *reason);

// Remove the target with this name, if it has this origin. Its runs in flight are kept: their
// results may still arrive on the request socket.
bool targets_remove (struct station *self, const char *name, enum origin origin);

// Ensure that a pull target of this name exists; a missing one is added and stored, as by `station
// add`. 0, or -1 with a reason: there are too many, or it has another type.
int targets_ensure_pull (struct station *self, const char *name, struct reason *reason);

// Redis is up: load the added targets; if there is no target at all, add the default one. The
// station serves only after this, as it would reject plans for targets that are not loaded yet.
void targets_load (struct station *self);

// Make the plans due at once that wait for targets connected here: another station, which does not
// reach these targets, had claimed them.
void targets_wake (struct station *self);

// Replace the targets of this origin by the list: remove those that are not in it, add or update
// the others.
void targets_replace (struct station *self, enum origin origin, const struct target_settings *list,
                      size_t count);
