// The station's settings: contract chapter 8, one row each.
#pragma once

#include "address.h"
#include "center.h"
#include "settings.h"
#include "target_settings.h"

struct station_settings {
    char request[SETTING_TEXT_MAX];
    char publish[SETTING_TEXT_MAX];
    char events[SETTING_TEXT_MAX];
    char redis_addr[SETTING_TEXT_MAX];
    int64_t redis_defdb;
    bool accept_loss;
    char data[SETTING_TEXT_MAX];   // empty: $XDG_STATE_HOME/zplan, else ~/.local/state/zplan
    struct center_settings center; // its host is empty: none
    int64_t history_count;
    int64_t history_age_s;
    int64_t exec_timeout_s;
    int64_t send_timeout_ms;
    char dialect[SETTING_TEXT_MAX];
    char timezone[SETTING_TEXT_MAX];
    char log_level[SETTING_TEXT_MAX];

    struct target_settings targets[TARGETS_MAX];
    size_t target_count;
};

extern const struct setting_table station_setting_table;

// What no single row can check. 0, or -1 with a reason.
int station_settings_check (const struct station_settings *self, struct reason *reason);
