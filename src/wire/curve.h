// CURVE: keys, the certificate files that hold them, and sockets that use them.
//
// A certificate consists of two ZPL files in the format of czmq: NAME.key holds the public key and
// what its owner may do (for the allow-list folder of a station), NAME.key_secret holds both keys:
//
//     metadata
//         name = "billing"
//         roles = "submit,observe"
//         stations = "jobs,report-*"
//     curve
//         public-key = "<40 characters of Z85>"
//         secret-key = "<40 characters of Z85>"
#pragma once

#include "reason.h"

// Characters allowed in names of certificates and of targets.
#define CURVE_NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

enum {
    CURVE_KEY_SIZE = 41, // Z85 text and NUL
    CURVE_NAME_SIZE = 65,
    CURVE_ROLES_SIZE = 128,
    CURVE_STATIONS_SIZE = 1024,
    CURVE_PATH_SIZE = 4096
};

struct curve_keys {
    char public_key[CURVE_KEY_SIZE];
    char secret_key[CURVE_KEY_SIZE]; // "" = a public certificate
};

// The contents of a certificate file; "" = not given.
struct curve_cert {
    struct curve_keys keys;
    char name[CURVE_NAME_SIZE];
    char roles[CURVE_ROLES_SIZE];       // see curve_roles_read
    char stations[CURVE_STATIONS_SIZE]; // see curve_stations_check
    char speaks_for[16]; // "yes": the owner's commands may name the user they act for
};

enum curve_part {
    CURVE_PUBLIC, // a secret key in the file is rejected, as others may read the file
    CURVE_SECRET  // the secret key is required, and only the owner may have access to the file
};

// What the owner of a key may do; bits of a set.
enum curve_role {
    CURVE_ROLE_SUBMIT = 1,
    CURVE_ROLE_OBSERVE = 2,
    CURVE_ROLE_MANAGE = 4,
    CURVE_ROLE_RESULT = 8,
    CURVE_ROLE_SIGNAL = 16 // may send signals to flows
};

// Whether the text is a key for libzmq: 40 characters of Z85. NULL is not valid.
bool curve_key_valid (const char *text);

// Whether both keys are valid, and form a pair.
bool curve_keys_belong (const struct curve_keys *keys);

// Generate a pair of keys. The public one does not begin with '-', which would look like an option
// on a command line. 0, or -1 with a reason: libzmq was built without CURVE.
int curve_keys_make (struct curve_keys *ret, struct reason *reason);

// Read a certificate file. 0, or -1 with a reason that begins with the file's name and never holds
// a key; `ret` is then untouched. These are errors: an unknown line or field, a duplicate field, an
// invalid key, keys that are not a pair, an unknown role, an invalid station name, a missing public
// key. Roles may be missing: a station's own certificate needs none.
int curve_cert_load (const char *path, enum curve_part part, struct curve_cert *ret,
                     struct reason *reason);

// Check that a certificate with this name, these roles and stations can be written: the name is
// 1..64 of A-Z a-z 0-9 _ . - with no dot at the start. 0, or -1 with a reason that names what is
// wrong.
int curve_cert_check (const struct curve_cert *cert, struct reason *reason);

// Write FOLDER/NAME.key, mode 0644 (the station may be another user), and FOLDER/NAME.key_secret,
// mode 0600, with the keys of `cert`, and return their paths. The umask applies. The keys must be a
// pair. 0, or -1 with a reason and no file written: a file of that name exists (it is left
// unchanged), or curve_cert_check fails.
int curve_cert_save (const char *folder, const struct curve_cert *cert,
                     char ret_public[CURVE_PATH_SIZE], char ret_secret[CURVE_PATH_SIZE],
                     struct reason *reason);

// Parse roles such as "submit,observe" into a set of enum curve_role; "" is the empty set. 0, or -1
// with a reason that names the unknown role.
int curve_roles_read (const char *text, unsigned *ret, struct reason *reason);

// Check that `text` is a comma-separated list of station names, or of prefixes followed by '*'; ""
// means all stations. 0, or -1 with a reason.
int curve_stations_check (const char *text, struct reason *reason);

// Whether a valid list includes this station; "" includes all.
bool curve_stations_have (const char *text, struct span station);

// Make the socket a CURVE client with these keys, for the server with `server_key`, which must be
// valid. Call before zmq_connect.
void curve_make_client (void *socket, const struct curve_keys *own, const char *server_key);

// Make the socket a CURVE server; call before zmq_bind. The ZAP handler decides under `domain` who
// may connect; without a handler nobody may (ZMQ_ZAP_ENFORCE_DOMAIN: by default libzmq would then
// accept every key).
void curve_make_server (void *socket, const struct curve_keys *own, const char *domain);
