// A callback passes through these states, each of which ends in bounded time:
//
//     resolving   until the resolver has answered
//     ready       until its host has a free slot: callbacks to the host end by their timeout
//     sending     until the transfer has ended, by its timeout at the latest
//     reporting   until the station has answered the report, which is resent each second, or the
//                 lease has expired; the station ignores duplicate reports
//
// A callback that cannot be sent is reported at once. `alive` extends the lease of a callback; if
// the station answers `stop` it is dropped. When a sender dies, its callbacks are given to others
// after their leases expire.
#include "sender_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "clock.h"
#include "interfaces.h"
#include "json.h"
#include "log.h"
#include "memory.h"

enum {
    TAKE_MAX = 100,
    TAKE_WAIT_S = 5,
    ANSWER_MS = 5000,
    TICK_MS = 1000,
    RESEND_US = 1000000,
    ALIVE_US = 10000000, // maximum interval between two heartbeats of a job
    INTERFACES_US = 60000000,
    RELEASE_S = 1,      // after a stop: callbacks that were not begun are due again after this time
    STOP_US = 20000000, // time to finish callbacks in progress
    LEAVE_US = 1000000  // maximum wait of a stop for the answer to the last take
};

static size_t count_busy (const struct sender *self)
{
    size_t count = 0;
    for (size_t i = 0; i < CALLBACKS_MAX; i++)
        count += self->jobs[i].state != JOB_FREE;
    return count;
}

// -- the station

static bool is_busy_status (uint8_t status)
{
    return status == ZERO_STATUS_BUSY_ID || status == ZERO_STATUS_NET_ERROR_ID;
}

static json_t *read_answer_json (const struct zplan_reply *reply)
{
    size_t size = 0;
    struct reason ignored;
    const void *text = zplan_reply_frame (reply, ZERO_FRAME_JSON, &size);
    return text ? json_read_object (span_of (text, size), &ignored) : NULL;
}

// Send a command with these fields as JSON; takes their reference. False: it cannot be sent now.
static bool send_command (struct sender *self, const char *command, json_t *fields,
                          zplan_reply_fn *fn, void *context)
{
    char *text = json_write (fields);
    const char *args[] = {text};
    json_decref (fields);
    int error = zplan_client_send_word (self->client, command, args, 1, fn, context);
    free (text);
    return error == ZPLAN_OK;
}

static json_t *job_fields (const struct delivery *job)
{
    return json_pack ("{s:s, s:s, s:s}", "plan", job->callback.plan, "worker", job->sender->name,
                      "exec_id", job->callback.exec);
}

// Note that an alive or report request has ended. False: the job is dropped or free, so its answer
// is ignored.
static bool note_request_answered (struct delivery *job, int64_t now_us)
{
    job->request_in_flight = false;
    job->due_us = now_us + RESEND_US;
    if (job->dropped && job->state != JOB_RESOLVING)
        job_clear (job);
    return !job->dropped && job->state != JOB_FREE;
}

static void on_reported (void *context, int error, const struct zplan_reply *reply)
{
    struct delivery *job = context;
    char words[REASON_MAX];
    if (!note_request_answered (job, clock_mono_us ()) || error != ZPLAN_OK ||
        is_busy_status (reply->status))
        return;
    if (reply->status >= ZERO_STATUS_ERROR_FLAG)
        log_event (LEVEL_WARN, "report.rejected", "callback=%s reason=%s", job->callback.plan,
                   quoted (span_text (zplan_reply_words (reply, words, sizeof words))));
    job_clear (job);
}

static void report_delivery (struct delivery *job)
{
    if (job->request_in_flight)
        return;
    json_t *fields = job_fields (job);
    outcome_write (&job->outcome, fields);
    job->request_in_flight = send_command (job->sender, "report", fields, on_reported, job);
    job->due_us = clock_mono_us () + RESEND_US;
}

void job_finish (struct delivery *job, const struct delivery_outcome *outcome)
{
    const struct callback *callback = &job->callback;
    job->outcome = *outcome;
    job->state = JOB_REPORTING;
    log_event (outcome->success ? LEVEL_DEBUG : LEVEL_INFO,
               outcome->success     ? "callback.delivered"
               : outcome->release_s ? "callback.postponed"
                                    : "callback.failed",
               "callback=%s plan=%s run=%s host=%s took_ms=%" PRId64 " final=%d reason=%s",
               callback->plan, callback->about_plan, callback->about_exec,
               callback->url.host[0] ? callback->url.host : "-",
               (clock_mono_us () - job->begun_us) / 1000, outcome->final,
               quoted (span_text (outcome->reason)));
    report_delivery (job);
}

static void on_alive (void *context, int error, const struct zplan_reply *reply)
{
    struct delivery *job = context;
    int64_t now_us = clock_mono_us ();
    if (!note_request_answered (job, now_us) || error != ZPLAN_OK || is_busy_status (reply->status))
        return;
    json_t *answer = reply->status < ZERO_STATUS_ERROR_FLAG ? read_answer_json (reply) : NULL;
    if (json_object_get (answer, "stop") || reply->status == ZERO_STATUS_NOT_FIND_ID) {
        log_event (LEVEL_INFO, "callback.stopped", "callback=%s", job->callback.plan);
        job_drop (job);
    } else if (answer) {
        job->lease_us = now_us + job->callback.worker_timeout_s * 1000000;
        job->due_us =
            now_us +
            (job->callback.ping_s * 1000000 < ALIVE_US ? job->callback.ping_s * 1000000 : ALIVE_US);
        if (job->state == JOB_REPORTING)
            report_delivery (job);
    }
    json_decref (answer);
}

static void send_alive (struct delivery *job)
{
    job->request_in_flight = send_command (job->sender, "alive", job_fields (job), on_alive, job);
    job->due_us = clock_mono_us () + RESEND_US;
}

static void accept_callback (struct sender *self, const json_t *taken, int64_t now_us)
{
    struct callback callback = {0};
    struct delivery *job = NULL;
    for (size_t i = 0; i < CALLBACKS_MAX && !job; i++)
        if (self->jobs[i].state == JOB_FREE)
            job = &self->jobs[i];
    if (!job || !callback_read_ids (taken, &callback))
        return; // more than was requested: its lease expires
    *job = (struct delivery){.sender = self, .callback = callback, .begun_us = now_us};
    job->lease_us = now_us + callback.worker_timeout_s * 1000000;
    job->due_us = now_us + RESEND_US;
    if (self->stop_us) {
        json_t *fields = job_fields (job);
        json_object_set_new (fields, "release", json_true ());
        send_command (self, "alive", fields, NULL, NULL);
        return;
    }
    job_begin (job, taken);
}

static void handle_callbacks (struct sender *self);

static void on_taken (void *context, int error, const struct zplan_reply *reply)
{
    struct sender *self = context;
    int64_t now_us = clock_mono_us ();
    char words[REASON_MAX];
    json_t *answer = error == ZPLAN_OK && reply->status < ZERO_STATUS_ERROR_FLAG
                         ? read_answer_json (reply)
                         : NULL;
    const json_t *jobs = json_object_get (answer, "jobs"), *job;
    const char *name = json_string_value (json_object_get (answer, "worker"));
    size_t i;
    self->taking = false;
    if (!json_is_array (jobs)) {
        self->take_us = error == ZPLAN_OK ? now_us + RESEND_US : now_us;
        if (error == ZPLAN_OK && !self->stop_us)
            log_event (LEVEL_WARN, "take.rejected", "target=%s reason=%s", self->settings->target,
                       quoted (span_text (zplan_reply_words (reply, words, sizeof words))));
        self->joined = false;
    } else {
        if (name)
            snprintf (self->name, sizeof self->name, "%s", name);
        if (!self->joined)
            log_event (LEVEL_INFO, "serving", "station=%s target=%s name=%s",
                       zplan_client_endpoint (self->client), self->settings->target, self->name);
        if (!self->ready) {
            puts ("ready");
            fflush (stdout);
        }
        if (json_array_size (jobs) || !self->joined)
            self->take_us = now_us;
        self->joined = self->ready = true;
        json_array_foreach (jobs, i, job) accept_callback (self, job, now_us);
    }
    json_decref (answer);
    handle_callbacks (self);
}

static json_t *take_fields (const struct sender *self, int64_t limit, int wait_s)
{
    json_t *fields = json_pack ("{s:s, s:I, s:i}", "station", self->settings->target, "limit",
                                (json_int_t)limit, "wait", wait_s);
    if (self->name[0])
        json_object_set_new (fields, "worker", json_string (self->name));
    return fields;
}

// The first take of a connection does not wait: its reply shows that the station answers.
static void handle_callbacks (struct sender *self)
{
    int64_t free_slots = self->settings->in_flight - (int64_t)count_busy (self);
    if (self->taking || self->stop_us || free_slots <= 0 || clock_mono_us () < self->take_us)
        return;
    int wait_s = self->joined ? TAKE_WAIT_S : 0;
    zplan_client_set_timeout (self->client, ANSWER_MS + wait_s * 1000);
    self->taking = send_command (
        self, "take", take_fields (self, free_slots < TAKE_MAX ? free_slots : TAKE_MAX, wait_s),
        on_taken, self);
    zplan_client_set_timeout (self->client, ANSWER_MS);
    self->take_us = clock_mono_us () + RESEND_US;
}

// -- the loop

static void stop_reactor_if_done (struct sender *self)
{
    int64_t now_us = clock_mono_us ();
    bool taking = self->taking && now_us < self->stop_us - STOP_US + LEAVE_US;
    if (self->stop_us && ((count_busy (self) == 0 && !taking) || now_us >= self->stop_us))
        reactor_stop (self->reactor);
}

static void on_client (void *owner, uint32_t events)
{
    struct sender *self = owner;
    (void)events;
    zplan_client_process (self->client);
    handle_callbacks (self);
    stop_reactor_if_done (self);
}

static void on_tick (void *owner)
{
    struct sender *self = owner;
    int64_t now_us = clock_mono_us ();
    timer_set (&self->tick, self->reactor, TICK_MS);
    if (now_us >= self->interfaces_us) {
        interfaces_read (&self->settings->rules.own);
        self->interfaces_us = now_us + INTERFACES_US;
    }
    for (size_t i = 0; i < CALLBACKS_MAX; i++) {
        struct delivery *job = &self->jobs[i];
        if (job->state == JOB_FREE || job->dropped)
            continue;
        if (now_us >= job->lease_us)
            job_drop (job);
        else if (job->request_in_flight || now_us < job->due_us)
            continue;
        else if (job->state == JOB_REPORTING)
            report_delivery (job);
        else
            send_alive (job);
    }
    sender_start_ready_callbacks (self);
    handle_callbacks (self);
    stop_reactor_if_done (self);
}

struct sender *sender_new (struct reactor *reactor, struct sender_settings *settings,
                           struct zplan_client *client)
{
    struct sender *self = memory_new (sizeof *self);
    self->reactor = reactor;
    self->settings = settings;
    self->client = client;
    self->transfers = transfers_new (reactor, &settings->rules, settings->ca_file);
    if (!resolver_start (reactor) || !self->transfers) {
        sender_destroy (&self);
        return NULL;
    }
    snprintf (self->name, sizeof self->name, "%s", settings->name);
    zplan_client_set_timeout (client, ANSWER_MS);
    self->source = (struct source){.call = on_client, .owner = self};
    source_set (&self->source, reactor, zplan_client_fd (client), EPOLLIN);
    self->tick = (struct timer){.call = on_tick, .owner = self};
    timer_set (&self->tick, reactor, 0);
    return self;
}

void sender_stop (struct sender *self)
{
    if (self->stop_us)
        reactor_stop (self->reactor);
    else
        self->stop_us = clock_mono_us () + STOP_US;
    if (self->taking)
        send_command (self, "take", take_fields (self, 0, 0), NULL, NULL);
    for (size_t i = 0; i < CALLBACKS_MAX; i++)
        if (self->jobs[i].state == JOB_READY && !self->jobs[i].dropped)
            job_postpone (&self->jobs[i], RELEASE_S, "it ends");
    stop_reactor_if_done (self);
}

void sender_destroy (struct sender **self_p)
{
    struct sender *self = *self_p;
    if (!self)
        return;
    source_end (&self->source);
    timer_end (&self->tick);
    zplan_client_destroy (&self->client); // ends its requests, and calls their callbacks
    resolver_stop ();
    for (size_t i = 0; i < CALLBACKS_MAX; i++)
        job_clear (&self->jobs[i]);
    transfers_destroy (&self->transfers);
    breakers_free (&self->breakers);
    free (self);
    *self_p = NULL;
}
