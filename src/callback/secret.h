// Parse the operator's files in the sender's folders: a secret, or the URL of a receiver. They have
// lines NAME = VALUE; a line that begins with '#' is a comment. Pure.
#pragma once

#include <stdbool.h>

#include "callback_url.h"
#include "signature.h"

enum { SECRET_VALUE_SIZE = 512, SECRET_LIST_SIZE = 1024, SECRET_KEYS_MAX = 2 };

enum secret_type { SECRET_NONE, SECRET_AKSK, SECRET_STANDARD, SECRET_HEADER };

struct secret_key {
    uint8_t bytes[STANDARD_KEY_MAX];
    size_t size;
};

struct secret {
    enum secret_type type;
    char ak[SECRET_VALUE_SIZE], sk[SECRET_VALUE_SIZE]; // for SECRET_AKSK
    struct secret_key keys[SECRET_KEYS_MAX]; // for SECRET_STANDARD: two while they are rotated
    size_t key_count;
    char name[SECRET_VALUE_SIZE], value[SECRET_VALUE_SIZE]; // for SECRET_HEADER
    char hosts[SECRET_LIST_SIZE];   // separated by spaces; with the port unless it is the default
    char targets[SECRET_LIST_SIZE]; // names of targets, or prefixes followed by '*'
};

// Parse the file of a secret to `secret`, a struct secret; wipe it with secret_wipe. 0, or -1 with
// a reason that quotes no value.
int secret_read (struct span text, void *secret, struct reason *reason);

// Whether plans of the target `source` may use the secret for this URL: both lists must match.
bool secret_is_allowed (const struct secret *self, const struct callback_url *url,
                        const char *source);

void secret_wipe (struct secret *self);

// A receiver that plans name as @NAME: `url` and, unless all targets may use it, `targets`.
struct receiver {
    char url[CALLBACK_URL_MAX + 1];
    char targets[SECRET_LIST_SIZE];
};

// Parse the file of a receiver to `receiver`, a struct receiver. 0, or -1 with a reason.
int receiver_read (struct span text, void *receiver, struct reason *reason);

// Whether the list, separated by blanks or commas, contains this name, or a prefix of it followed
// by '*'.
bool target_list_matches (const char *list, const char *name);
