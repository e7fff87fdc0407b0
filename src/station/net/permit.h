// Permission checks. Each check reads the current allow-list, so a key that was removed is denied
// on an existing connection too. Without an allow-list everybody may do everything. `user` is that
// of a packet or peer. Checks that return an int return 0, or an error with its reason.
#pragma once

#include "curve.h"
#include "request.h"

// Check that the user has any of these roles.
int permit_roles (const struct station *self, const char *user, unsigned roles,
                  struct reason *reason);

// Check that the user may touch plans of this target.
int permit_station (const struct station *self, const char *user, struct span station,
                    struct reason *reason);

// Check that the user may touch a `what` ("group", "kind") of this name. A key that is bound to
// targets may do so if it may touch a target of the same name.
int permit_named (const struct station *self, const char *user, const char *what, struct span name,
                  struct reason *reason);

// The allow-list entry of this user; NULL: there is none.
struct access_key;
const struct access_key *permit_key (const struct station *self, const char *user);

// The name of the peer, for display; empty without an allow-list.
struct span permit_name (const struct station *self, const char *user);

// The name of the peer, followed by the user that its key speaks for: "KEY/USER". The result may
// point into `out`.
enum { SPEAKER_SIZE = CURVE_NAME_SIZE + 65 };
struct span permit_user_in_effect (const struct station *self, const struct peer *peer,
                                   char out[SPEAKER_SIZE]);

// Check the user that a request names, if its key speaks for others and it names one.
int permit_check_named_user (const struct station *self, const struct peer *peer,
                             struct reason *reason);

// permit_roles and permit_station without a reason.
bool permits_roles (const struct station *self, const char *user, unsigned roles);
bool permits_station (const struct station *self, const char *user, struct span station);

// Whether the user may touch a plan of this target with this stored message: a callback belongs to
// the target that it reports on.
bool permits_plan (const struct station *self, const char *user, struct span station,
                   struct span message);

// Check that the user may work on plans of the station. Callbacks carry results of all targets, so
// a key must name the callback target explicitly; access to all targets is not enough.
int permit_work (const struct station *self, const char *user, struct span station,
                 struct reason *reason);
// permit_work without a reason.
bool permit_work_silently (const struct station *self, const char *user, struct span station);

// Returns ZPLAN_EDENY with its reason: only the station may create or change a callback.
int permit_callback_denied (struct reason *reason);

// The target of a key that is bound to exactly one name; empty: the key is bound to none, to
// several or to a pattern.
struct span permit_sole_station (const struct station *self, const char *user);
// Whether the user may touch plans of all targets.
bool permits_all_stations (const struct station *self, const char *user);
