// The allow-list: the public keys that may connect, and what each may do. Pure: reading the folder
// is access_folder.c, asking about a request permit.c.
#pragma once

#include "curve.h"

enum { ACCESS_KEYS_MAX = 10000, ROLES_TEXT_MAX = 40 };

// For commands that every key on the list may give: any role is sufficient.
enum {
    ROLES_ANY = CURVE_ROLE_SUBMIT | CURVE_ROLE_OBSERVE | CURVE_ROLE_MANAGE | CURVE_ROLE_RESULT |
                CURVE_ROLE_SIGNAL
};

struct access;

// A key on the list; its owner's word is the secret key behind it, not the name.
struct access_key {
    char public_key[CURVE_KEY_SIZE];
    char name[CURVE_NAME_SIZE];         // for people: in logs and reasons
    unsigned roles;                     // a set of enum curve_role, not empty
    char stations[CURVE_STATIONS_SIZE]; // "" = all
    bool speaks;                        // its commands may name the user they are for
};

// An empty list: no key may connect.
struct access *access_new (void);
void access_destroy (struct access **self);

// Put a certificate on the list. 0, or -1 with a reason: it has no role or no sound one, or its key
// is a duplicate.
int access_add (struct access *self, const struct curve_cert *cert, struct reason *reason);

size_t access_size (const struct access *self);

// The key with this text, or NULL: it is not on the list.
const struct access_key *access_find (const struct access *self, const char *public_key);

// Whether it has one of these roles.
bool access_has_role (const struct access_key *key, unsigned roles);

// Whether it may touch plans of this target.
bool access_has_station (const struct access_key *key, struct span station);

// Whether it may connect to the socket of this ZAP domain: each key to "request"; to "publish" and
// "events", which carry the plans of all targets, a key with the role observe that is bound to
// none.
bool access_may_connect (const struct access_key *key, struct span domain);

// Whether there is a key on the old list that may connect to the socket of this domain, and may not
// by the new one.
bool access_shuts_out (const struct access *old, const struct access *list, struct span domain);

// "submit,observe". Returns `out`.
const char *roles_text (unsigned roles, char out[ROLES_TEXT_MAX]);
