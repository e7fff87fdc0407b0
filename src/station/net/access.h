// The allow-list: the public keys that may connect, and what each may do. Pure: reading the folder
// is access_folder.c, asking about a request permit.c.
#pragma once

#include "curve.h"

enum { ACCESS_KEYS_MAX = 10000, ROLES_TEXT_MAX = 40 };

// For commands that every listed key may send: any role is sufficient.
enum {
    ROLES_ANY = CURVE_ROLE_SUBMIT | CURVE_ROLE_OBSERVE | CURVE_ROLE_MANAGE | CURVE_ROLE_RESULT |
                CURVE_ROLE_SIGNAL
};

struct access;

// A key on the list. The key identifies its owner; the name is only a label.
struct access_key {
    char public_key[CURVE_KEY_SIZE];
    char name[CURVE_NAME_SIZE];         // for display: in logs and reasons
    unsigned roles;                     // a bit set of enum curve_role, not empty
    char stations[CURVE_STATIONS_SIZE]; // "" = all
    bool speaks;                        // its commands may name the user they are sent for
};

// An empty list: no key may connect.
struct access *access_new (void);
void access_destroy (struct access **self);

// Add a certificate to the list. 0, or -1 with a reason: it has no role or an invalid one, or its
// key is a duplicate.
int access_add (struct access *self, const struct curve_cert *cert, struct reason *reason);

size_t access_size (const struct access *self);

// The entry of this public key; NULL: the key is not on the list.
const struct access_key *access_find (const struct access *self, const char *public_key);

// Whether the key has one of these roles.
bool access_has_role (const struct access_key *key, unsigned roles);

// Whether the key may touch plans of this target.
bool access_has_station (const struct access_key *key, struct span station);

// Whether the key may connect to the socket of this ZAP domain. Every key may connect to "request".
// "publish" and "events" carry the plans of all targets: they need the role observe, and a key that
// is not bound to some targets.
bool access_may_connect (const struct access_key *key, struct span domain);

// Whether some key may connect to the socket of this domain by the old list, but not by the new
// one.
bool access_shuts_out (const struct access *old, const struct access *list, struct span domain);

// Each role and its name.
enum { ROLES = 5 };
extern const struct role_name {
    unsigned role;
    const char *name;
} role_names[ROLES];

// "submit,observe". Returns `out`.
const char *roles_text (unsigned roles, char out[ROLES_TEXT_MAX]);
