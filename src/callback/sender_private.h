// Declarations shared by the files of the sender.
#pragma once

#include "breaker.h"
#include "callback.h"
#include "outcome.h"
#include "sender.h"
#include "transfer.h"

struct delivery {
    struct sender *sender;
    enum { JOB_FREE, JOB_RESOLVING, JOB_READY, JOB_SENDING, JOB_REPORTING } state;
    bool dropped;           // ended for this sender: nothing is reported any more
    bool request_in_flight; // alive or report
    bool probes;            // it probes a host that failed; its outcome is reported to the breaker
    struct callback callback;
    char place[CALLBACK_HOST_SIZE + 8]; // HOST:PORT of its URL, for the breaker
    struct secret secret;
    struct resolved_addresses resolved;
    struct transfer *transfer;
    int64_t begun_us, due_us, lease_us; // due_us: next message; lease_us: end of the lease
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
    char name[SETTING_TEXT_MAX]; // the name under which the station knows this sender
    bool joined, taking, ready;
    int64_t take_us, interfaces_us;
    int64_t stop_us; // monotonic; when a stop ends at the latest; 0 = not stopping
    struct delivery jobs[CALLBACKS_MAX];
};

// ---- sending, sender_send.c

// Send the callback that was taken, or finish it with the reason why it cannot be sent. Its ids are
// read already.
void job_begin (struct delivery *job, const json_t *taken);

// Start callbacks that wait for a free slot of their host.
void sender_start_ready_callbacks (struct sender *self);

// Report that the callback was not sent, and is due again in `seconds`.
void job_postpone (struct delivery *job, int64_t seconds, const char *why);

// End the callback for this sender. It is freed later if the resolver or a request still refers to
// it.
void job_drop (struct delivery *job);

void job_clear (struct delivery *job);

// ---- the station, sender.c

// The callback was sent, or will not be: log and report the outcome.
void job_finish (struct delivery *job, const struct delivery_outcome *outcome);
