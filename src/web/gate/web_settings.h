// The settings of zplan-web.
#pragma once

#include "configure.h"

struct web_settings {
    char listen[SETTING_TEXT_MAX];
    char connect[SETTING_TEXT_MAX], events[SETTING_TEXT_MAX], server_key[SETTING_TEXT_MAX];
    char key[SETTING_TEXT_MAX];
    char users[SETTING_TEXT_MAX], audit[SETTING_TEXT_MAX];
    char host[SETTING_TEXT_MAX], root[SETTING_TEXT_MAX];
    char tls_cert[SETTING_TEXT_MAX], tls_key[SETTING_TEXT_MAX];
    char behind_proxy[SETTING_TEXT_MAX];
    bool readonly, allow_targets;
    char log_level[SETTING_TEXT_MAX], log_format[SETTING_TEXT_MAX];
};

extern const struct setting_table web_setting_table;

// Check all settings together. 0, or -1 with the reason.
int web_settings_check (const void *values, struct reason *reason);
