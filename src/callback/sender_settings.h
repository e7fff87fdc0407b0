// The settings of zplan-callback.
#pragma once

#include "address_rules.h"
#include "callback_url.h"
#include "configure.h"

enum { PORTS_MAX = 64 };

struct sender_settings {
    char connect[SETTING_TEXT_MAX], key[SETTING_TEXT_MAX], server_key[SETTING_TEXT_MAX];
    char target[SETTING_TEXT_MAX], name[SETTING_TEXT_MAX];
    int64_t in_flight;
    char secrets[SETTING_TEXT_MAX], receivers[SETTING_TEXT_MAX]; // directories
    bool only_named, allow_http, keep_answers;
    char ca_file[SETTING_TEXT_MAX];
    char log_level[SETTING_TEXT_MAX], log_format[SETTING_TEXT_MAX];
    struct address_rules rules;
    char ports[PORTS_MAX][CALLBACK_HOST_SIZE + 8]; // HOST:PORT allowed besides the default ports
    size_t port_count;
};

extern const struct setting_table sender_setting_table;

// Check all settings together. 0, or -1 with the reason.
int sender_settings_check (const void *values, struct reason *reason);

// Check that the settings allow this scheme and port. 0, or -1 with the reason.
int sender_url_check (const struct sender_settings *self, const struct callback_url *url,
                      struct reason *reason);
