// The station's settings; one table row each.
#pragma once

#include "address.h"
#include "center.h"
#include "plan_frame.h"
#include "settings.h"
#include "target_settings.h"

// The limits, and their bounds.
struct limits {
    // Stored plans: all, of one target, of one caller; 0 = no limit.
    int64_t plans, plans_station, plans_caller;
    // Sent runs without a heartbeat: all, of one target.
    int64_t runs, runs_target;
    // Requests that wait for Redis: all, of one peer.
    int64_t requests, requests_peer;
    int64_t replies_peer; // messages in a socket's queue
    // Limits of a message: frames, bytes of one frame, bytes in all.
    int64_t frames, frame_bytes, message_bytes;
    struct plan_limits plan;
    // Stored callbacks: all, of one source.
    int64_t callbacks, callbacks_bytes;
    int64_t callbacks_station, callbacks_station_bytes;
    int64_t memory_mib;
};

struct station_settings {
    char request[SETTING_TEXT_MAX];
    char publish[SETTING_TEXT_MAX];
    char events[SETTING_TEXT_MAX];
    char redis_addr[SETTING_TEXT_MAX];
    int64_t redis_defdb;
    char redis_user[SETTING_TEXT_MAX];
    char redis_password_file[SETTING_TEXT_MAX];
    bool accept_loss;
    bool durable;
    int64_t replicas;
    int64_t replica_timeout_ms;
    char curve[SETTING_TEXT_MAX]; // file of the secret certificate; empty: no encryption
    char allow[SETTING_TEXT_MAX]; // folder of the keys that may connect
    bool insecure;                // allow a reachable address without curve
    int64_t schema; // version of the data: STORE_SCHEMA, or the previous one for a downgrade
    bool repair;    // truncate a damaged append-only file of the embedded Redis
    char data[SETTING_TEXT_MAX];   // empty: $XDG_STATE_HOME/zplan, else ~/.local/state/zplan
    struct center_settings center; // empty host: no center
    int64_t history_count;
    int64_t history_age_s;
    int64_t flow_count;       // ended runs of flows that are kept
    int64_t flow_age_s;       // how long they are kept
    int64_t flow_parallel;    // default of a flow: concurrent calls of a run
    int64_t output_bytes;     // bytes kept of the output of a run
    int64_t output_total_mib; // for the output of all runs
    int64_t output_age_s;
    int64_t sweep_interval_s;
    int64_t exec_timeout_s;
    int64_t send_timeout_ms;
    int64_t doubt_timeout_s; // 0 = send_timeout plus 3 s
    char dialect[SETTING_TEXT_MAX];
    char timezone[SETTING_TEXT_MAX];
    char user[SETTING_TEXT_MAX];
    char log_level[SETTING_TEXT_MAX];
    char log_format[SETTING_TEXT_MAX];
    struct limits limits;

    char callback_target[SETTING_TEXT_MAX];

    struct target_settings targets[TARGETS_MAX];
    size_t target_count;
};

extern const struct setting_table station_setting_table;

// Check what involves several rows. 0, or -1 with a reason.
int station_settings_check (const void *values, struct reason *reason);
