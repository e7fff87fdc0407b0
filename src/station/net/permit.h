// Whether the requester may do this: each check reads the allow-list as it is now, so that a key
// that was taken off it is denied on a connection that stands. Without an allow-list everybody may
// do everything.
#pragma once

#include "curve.h"
#include "request.h"

// Whether the peer may do what any of these roles allows. False: it was refused.
bool permit_roles (struct station *self, struct peer *peer, unsigned roles);

// Whether the peer may touch plans of the station it names. False: it was refused.
bool permit_station (struct station *self, struct peer *peer, struct span station);

// Whether the peer may touch a `what` ("group", "kind") of this name. It belongs to a key bound to
// targets when a target of this name would. False: it was refused.
bool permit_named (struct station *self, struct peer *peer, const char *what, struct span name);

// The key of who this is; NULL: it is on no list.
struct access_key;
const struct access_key *permit_key (const struct station *self, const char *user);

// The name of the peer, for people; empty: unknown without an allow-list.
struct span permit_name (const struct station *self, const char *user);

// The same, and after it the user that the key speaks for: "KEY/USER". `out` lasts as long as it.
enum { SPEAKER_SIZE = CURVE_NAME_SIZE + 65 };
struct span permit_speaker (const struct station *self, const struct peer *peer,
                            char out[SPEAKER_SIZE]);

// Whether a key that speaks for others names a user as it should. False: it was refused.
bool permit_speech (struct station *self, struct peer *peer);

// The same questions without a refusal; `user` is that of a packet or peer.
bool permits_roles (const struct station *self, const char *user, unsigned roles);
bool permits_station (const struct station *self, const char *user, struct span station);

// The same of a plan with this stored message: a callback belongs to the target that it reports.
bool permits_plan (const struct station *self, const char *user, struct span station,
                   struct span message);

// Whether the peer may work on plans of the station. Callbacks carry results of all targets: a key
// has to name their target, as one of all targets does not. False: it was refused.
bool permit_work (struct station *self, struct peer *peer, struct span station);
bool permits_work (const struct station *self, const char *user, struct span station);

// The error for those who would make a callback, or change one: only the station does.
int permit_callback_denied (struct reason *reason);

// The one target of a key that is bound to a single name; empty: it is bound to none, to several or
// to a pattern.
struct span permit_sole_station (const struct station *self, const char *user);
bool permits_all_stations (const struct station *self, const char *user);
