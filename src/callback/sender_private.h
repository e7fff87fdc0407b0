// What the files of the sender share.
#pragma once

#include "breaker.h"
#include "callback.h"
#include "outcome.h"
#include "sender.h"
#include "transfer.h"

struct delivery {
    struct sender *sender;
    enum { JOB_FREE, JOB_RESOLVING, JOB_READY, JOB_SENDING, JOB_REPORTING } state;
    bool dropped; // nothing is reported any more
    bool asking;  // an alive or a report is in flight
    bool probes;  // it is the one that tries a host that failed; its end is reported to the breaker
    struct callback callback;
    struct secret secret;
    struct resolved resolved;
    struct transfer *transfer;
    int64_t begun_us, due_us, lease_us; // the last two: of the next word, and of the lease
    struct delivery_outcome outcome;
};

struct sender {
    struct reactor *reactor;
    struct sender_settings *settings;
    struct zplan_client *client;
    struct transfers *transfers;
    struct source source;
    struct timer tick;
    struct breakers breakers;
    char name[SETTING_TEXT_MAX]; // as the station knows it
    bool joined, taking, ready;
    int64_t take_us, interfaces_us;
    int64_t stop_us; // 0 = it goes on
    struct delivery jobs[CALLBACKS_MAX];
};

// ---- sending, sender_send.c

// Send what was taken, or finish it with the reason why not. Its ids are read already.
void job_begin (struct delivery *job, const json_t *taken);

// Start those that wait for a place at their host.
void sender_start_ready (struct sender *self);

// Report that it is due again in `seconds`.
void job_hold_back (struct delivery *job, int64_t seconds, const char *why);

// It is over for this sender. What somebody still calls back about stays until then.
void job_drop (struct delivery *job);

void job_clear (struct delivery *job);

// ---- the station, sender.c

// It was sent, or will not be: log it, and report it.
void job_finish (struct delivery *job, const struct delivery_outcome *outcome);
