// The settings of a target: NAME=TYPE@ENDPOINT[,dialect=..][,mailbox=..][,key=..]
// [,curve=..][,kind=..], or NAME=pull[,kind=..] for a target whose plans workers fetch.
#pragma once

#include "curve.h"
#include "dialect.h"
#include "engine.h"
#include "limit_state.h"

enum { TARGETS_MAX = 256, TARGET_TEXT_MAX = 1024, SERVICE_KEY_MAX = 255 };

// Where a target was defined.
enum origin { ORIGIN_SETTINGS, ORIGIN_ADDED, ORIGIN_CENTER };

struct target_settings {
    char name[STATION_NAME_MAX + 1];
    enum target_type type;
    char endpoint[256];
    enum dialect dialect;
    bool by_identity; // mailbox=identity: the target takes the connection's identity as the caller
    char key[SERVICE_KEY_MAX + 1];  // a secret: never in logs, lists or answers; empty = none
    char curve[CURVE_KEY_SIZE];     // the target's public key; empty = no encryption
    char kind[POLICY_NAME_MAX + 1]; // default kind of its plans; empty = none
    struct limit limit;             // bounds its concurrent runs and starts
    enum origin origin;
};

// Parse the text above. 0, or -1 with a reason. The origin is not changed.
int target_settings_parse (const char *text, struct target_settings *ret, struct reason *reason);

// Format the text that target_settings_parse reads, without the key, which is a secret.
void target_settings_text (const struct target_settings *self, char out[TARGET_TEXT_MAX]);

bool target_settings_equal (const struct target_settings *a, const struct target_settings *b);

// "settings", "added", "center"
const char *origin_name (enum origin origin);
