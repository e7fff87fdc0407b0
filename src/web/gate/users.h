// Users, the keys they share, their tokens and sessions.
//
// Each user is a file of a folder, read again within a second when it changes: sessions of a user
// or of a token that is gone end then. Each key has a connection to the station of its own, so that
// the station gives a user the rights of that key and no others.
#pragma once

#include "exchange.h"
#include "web_settings.h"

struct users;
struct session;

// NULL with a reason: the folder cannot be read. `own` is the connection of users without a key,
// where the station has no certificates.
struct users *users_new (struct reactor *reactor, const struct web_settings *settings,
                         struct gateway *own, struct reason *reason);

// End the connections: requests that wait for answers are answered.
void users_end (struct users *self);
void users_destroy (struct users **self);

// True: the request is answered already, as it needs a token that it does not have, or asks too
// often. Else its user, session and connection are set, if there are users.
bool users_judge (struct exchange *self);

// The exchange ends.
void users_leave (struct exchange *self);

// Whether the one who began this exchange may still ask: not when the user, the token or the
// session is gone, or the user has another key.
bool users_still (const struct exchange *self);

// Whether a token or a session of this sum counts, and its user has this key (NULL: none).
bool users_know (struct users *self, const uint8_t sum[32], const struct key *key);

// The name of its file; NULL if there is no key.
const char *users_key_name (const struct key *key);

// Keep the connection of a key for a job; NULL is fine. Returns it.
struct key *users_key_hold (struct key *key);
void users_key_release (struct key *key);

// Exchange a token for a session: its text, in `out`. False: the token is invalid, or there are too
// many sessions.
bool users_sign_in (struct users *self, struct exchange *exchange, const char *token, char out[48]);
void users_sign_out (struct exchange *self);
