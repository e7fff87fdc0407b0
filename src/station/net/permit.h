// Permission checks. Each check reads the current allow-list, so a key that was removed is denied
// on an existing connection too. Without an allow-list everybody may do everything.
#pragma once

#include "curve.h"
#include "request.h"

// Whether the peer has any of these roles. False: the request was refused.
bool permit_roles (struct station *self, struct peer *peer, unsigned roles);

// Whether the peer may touch plans of this target. False: the request was refused.
bool permit_station (struct station *self, struct peer *peer, struct span station);

// Whether the peer may touch a `what` ("group", "kind") of this name. A key that is bound to
// targets may do so if it may touch a target of the same name. False: the request was refused.
bool permit_named (struct station *self, struct peer *peer, const char *what, struct span name);

// The allow-list entry of this user; NULL: there is none.
struct access_key;
const struct access_key *permit_key (const struct station *self, const char *user);

// The name of the peer, for display; empty without an allow-list.
struct span permit_name (const struct station *self, const char *user);

// The same, followed by the user that the key speaks for: "KEY/USER". The result may point into
// `out`.
enum { SPEAKER_SIZE = CURVE_NAME_SIZE + 65 };
struct span permit_speaker (const struct station *self, const struct peer *peer,
                            char out[SPEAKER_SIZE]);

// Whether a key that speaks for others names a valid user. False: the request was refused.
bool permit_speech (struct station *self, struct peer *peer);

// The same checks without a refusal; `user` is that of a packet or peer.
bool permits_roles (const struct station *self, const char *user, unsigned roles);
bool permits_station (const struct station *self, const char *user, struct span station);

// The same check for a plan with this stored message: a callback belongs to the target that it
// reports on.
bool permits_plan (const struct station *self, const char *user, struct span station,
                   struct span message);

// Whether the peer may work on plans of the station. Callbacks carry results of all targets, so a
// key must name the callback target explicitly; access to all targets is not enough. False: the
// request was refused.
bool permit_work (struct station *self, struct peer *peer, struct span station);
bool permits_work (const struct station *self, const char *user, struct span station);

// The error for users who try to create or change a callback: only the station may.
int permit_callback_denied (struct reason *reason);

// The target of a key that is bound to exactly one name; empty: the key is bound to none, to
// several or to a pattern.
struct span permit_sole_station (const struct station *self, const char *user);
bool permits_all_stations (const struct station *self, const char *user);
