// Users, the keys they share, their tokens and sessions.
//
// Each user is a file in a folder, read again within a second when it changes: sessions of a
// removed user or token end then. Each key has its own connection to the station, so the station
// grants a user exactly the rights of that key.
#pragma once

#include "exchange.h"
#include "web_settings.h"

struct users;
struct session;

// Read the folder of users. NULL with a reason: it cannot be read. `own` is the connection of users
// without a key, for a station without CURVE.
struct users *users_new (struct reactor *reactor, const struct web_settings *settings,
                         struct gateway *own, struct reason *reason);

// Close the connections, and answer the requests that wait on them.
void users_end (struct users *self);
void users_destroy (struct users **self);

// Find the user of a request by its token. True: the request was answered, because it has no valid
// token or there were too many requests. False: its user, session and connection are set, if there
// are users.
bool users_authenticate (struct exchange *self);

// Release what users_authenticate counted for the exchange. Called when the exchange ends.
void users_leave (struct exchange *self);

// Whether the user of this exchange may still send requests; also true if there are no users.
// False: the user, the token or the session is gone, or the user has another key.
bool users_may_continue (const struct exchange *self);

// Whether a token or session with this hash is valid, and its user has this key (NULL: none).
bool users_is_valid (struct users *self, const uint8_t sum[32], const struct key *key);

// The file name of the key; NULL if `key` is NULL.
const char *users_key_name (const struct key *key);

// Keep the connection of a key, as for a bulk job; NULL is allowed. Returns the key.
struct key *users_key_hold (struct key *key);
void users_key_release (struct key *key);

// Exchange a token for a session: its text, in `out`. False: the token is invalid, or there are too
// many sessions.
bool users_sign_in (struct users *self, struct exchange *exchange, const char *token, char out[48]);
void users_sign_out (struct exchange *self);
