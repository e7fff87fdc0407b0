// Send one callback: resolve its address, make the request, classify the answer.
#include "sender_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "folder.h"
#include "log.h"

enum {
    TARGET_MAX_PART = 4, // one target has at most a quarter of all slots
    NO_SLOT_S = 1        // until a callback that found no free slot is due again
};

void job_clear (struct delivery *job)
{
    transfer_end (&job->transfer);
    callback_clear (&job->callback);
    secret_wipe (&job->secret);
    job->state = JOB_FREE;
}

// Check the breaker of the host. True: the callback may be sent. False: the breaker is open, and
// the callback was postponed.
static bool check_breaker (struct delivery *job)
{
    int64_t now_ms = clock_mono_us () / 1000;
    int64_t wait_ms = breaker_wait (&job->sender->breakers, job->place, now_ms, &job->probes);
    if (wait_ms)
        job_postpone (job, (wait_ms + 999) / 1000, "its host failed many times in a row");
    return wait_ms == 0;
}

static void report_to_breaker (struct delivery *job, enum breaker_end end)
{
    breaker_end (&job->sender->breakers, job->place, end, clock_mono_us () / 1000);
    job->probes = false;
}

void job_drop (struct delivery *job)
{
    if (job->state == JOB_SENDING || job->probes)
        report_to_breaker (job, BREAKER_UNKNOWN);
    transfer_end (&job->transfer);
    job->dropped = job->state == JOB_RESOLVING || job->request_in_flight;
    if (!job->dropped)
        job_clear (job);
    else if (job->state != JOB_RESOLVING)
        job->state = JOB_REPORTING; // frees its slot
}

void job_postpone (struct delivery *job, int64_t seconds, const char *why)
{
    struct delivery_outcome outcome = {.release_s = seconds};
    snprintf (outcome.reason, sizeof outcome.reason,
              "held back by zplan-callback for %" PRId64 " s: %s", seconds, why);
    job_finish (job, &outcome);
}

// -- sending

// The secret part of "Bearer abc123"; NULL: masking the whole value is enough.
static const char *credentials_of (const char *value)
{
    enum { SECRET_MIN = 8 };
    const char *blank = strrchr (value, ' ');
    return blank && strlen (blank + 1) >= SECRET_MIN ? blank + 1 : NULL;
}

static void on_sent (void *owner, const struct attempt *sent, bool listed)
{
    struct delivery *job = owner;
    struct sender *self = job->sender;
    struct attempt attempt = *sent;
    struct delivery_outcome outcome;
    job->transfer = NULL;
    if (listed && !self->settings->keep_answers)
        attempt.answer = (struct span){0};
    attempt.masked_secrets[0] = job->secret.sk;
    attempt.masked_secrets[1] = job->secret.value;
    attempt.masked_secrets[2] = credentials_of (job->secret.value);
    attempt.masked_url = &job->callback.url;
    outcome_of_attempt (&attempt, &outcome);
    report_to_breaker (job, outcome_of_host (&attempt));
    job_finish (job, &outcome);
    sender_start_ready_callbacks (self);
}

static void send_callback (struct delivery *job)
{
    const struct callback *callback = &job->callback;
    char lines[CALLBACK_LINES_MAX][CALLBACK_LINE_SIZE];
    size_t count = callback_write_headers (callback, callback->secret[0] ? &job->secret : NULL,
                                           clock_wall_us () / 1000000, lines);
    const struct transfer_request request = {.url = callback->url.text,
                                             .host = callback->url.host,
                                             .port = callback->url.port,
                                             .is_put = callback->is_put,
                                             .lines = (const char (*)[CALLBACK_LINE_SIZE])lines,
                                             .line_count = count,
                                             .body = span_of (callback->body, callback->body_size),
                                             .resolved =
                                                 callback->url.literal ? NULL : &job->resolved,
                                             .timeout_ms = callback->timeout_s * 1000};
    job->state = JOB_SENDING;
    job->transfer = transfer_start (job->sender->transfers, &request, on_sent, job);
    explicit_bzero (lines, sizeof lines);
    if (!job->transfer)
        on_sent (job, &(struct attempt){.fault = "out of memory"}, false);
}

static size_t count_sending_to_host (const struct delivery *job)
{
    size_t count = 0;
    const struct delivery *jobs = job->sender->jobs;
    for (size_t i = 0; i < CALLBACKS_MAX; i++)
        count += jobs[i].state == JOB_SENDING && strcmp (jobs[i].place, job->place) == 0;
    return count;
}

// Start a callback if its host has a free slot and has not failed since it was taken.
static void start_delivery (struct delivery *job)
{
    if (count_sending_to_host (job) < TRANSFERS_HOST_MAX && check_breaker (job))
        send_callback (job);
}

void sender_start_ready_callbacks (struct sender *self)
{
    for (size_t i = 0; i < CALLBACKS_MAX; i++)
        if (self->jobs[i].state == JOB_READY)
            start_delivery (&self->jobs[i]);
}

// -- before sending

static void on_resolved (void *owner, const struct resolved_addresses *resolved)
{
    struct delivery *job = owner;
    struct resolved_addresses *kept = &job->resolved;
    if (job->dropped) {
        job->state = JOB_REPORTING;
        job_drop (job);
        return;
    }
    kept->count = 0;
    for (size_t i = 0; i < resolved->count; i++)
        if (address_check (&job->sender->settings->rules, resolved->addresses[i]) != ADDRESS_DENIED)
            memcpy (kept->addresses[kept->count++], resolved->addresses[i], 16);
    job->state = JOB_READY;
    if (kept->count) {
        start_delivery (job);
        return;
    }
    if (!resolved->count && !check_breaker (job))
        return; // callbacks that waited for the same name have opened the breaker
    struct delivery_outcome outcome;
    const struct attempt attempt = {.fault = "the host's name is not known",
                                    .denied = resolved->count > 0};
    report_to_breaker (job, outcome_of_host (&attempt));
    outcome_of_attempt (&attempt, &outcome);
    job_finish (job, &outcome);
}

// Set the URL, from the receiver if one is named. 0, or -1 with the reason.
static int read_callback_url (struct delivery *job, struct reason *reason)
{
    const struct sender_settings *settings = job->sender->settings;
    struct callback *callback = &job->callback;
    struct receiver receiver;
    struct reason why;
    if (settings->only_named && !callback->named)
        return reason_set (reason, "url: only receivers that are named as @NAME are allowed");
    if (!callback->named)
        return callback_set_url (callback, NULL, reason);
    int rc = folder_read (settings->receivers, callback->where + 1, receiver_read, &receiver, &why);
    if (rc)
        log_event (LEVEL_WARN, "receiver.unknown", "receiver=%s reason=%s",
                   quoted (span_text (callback->where + 1)), quoted (span_text (why.text)));
    if (rc || (receiver.targets[0] && !target_list_matches (receiver.targets, callback->source)))
        return reason_set (reason, "receiver not allowed");
    return callback_set_url (callback, &receiver, reason);
}

// Load the secret of the callback, if it names one. 0, or -1; all failures have the same reason, so
// that nobody learns which secrets exist.
static int load_secret (struct delivery *job, struct reason *reason)
{
    const struct callback *callback = &job->callback;
    struct reason why = {"not for this target or host"};
    if (!callback->secret[0] ||
        (folder_read (job->sender->settings->secrets, callback->secret, secret_read, &job->secret,
                      &why) == 0 &&
         secret_is_allowed (&job->secret, &callback->url, callback->source)))
        return 0;
    log_event (LEVEL_WARN, "secret.not_allowed", "callback=%s secret=%s target=%s reason=%s",
               callback->plan, callback->secret, quoted (span_text (callback->source)),
               quoted (span_text (why.text)));
    return reason_set (reason, "secret not allowed");
}

static size_t count_unsent_of_target (const struct delivery *job)
{
    size_t count = 0;
    const struct delivery *jobs = job->sender->jobs;
    for (size_t i = 0; i < CALLBACKS_MAX; i++)
        count += jobs[i].state != JOB_FREE && jobs[i].state != JOB_REPORTING &&
                 strcmp (jobs[i].callback.source, job->callback.source) == 0;
    return count;
}

void job_begin (struct delivery *job, const json_t *taken)
{
    struct callback *callback = &job->callback;
    const struct sender_settings *settings = job->sender->settings;
    struct reason reason;
    struct resolved_addresses resolved = {.count = 1}; // the address in the URL, if it has one
    job->state = JOB_READY;
    if (callback_read (taken, callback, &reason) || read_callback_url (job, &reason) ||
        sender_url_check (settings, &callback->url, &reason) || load_secret (job, &reason)) {
        struct delivery_outcome outcome = {.final = true};
        snprintf (outcome.reason, sizeof outcome.reason, "%s", reason.text);
        job_finish (job, &outcome);
        return;
    }
    snprintf (job->place, sizeof job->place, "%s:%d", callback->url.host, callback->url.port);
    int64_t most = (settings->in_flight + TARGET_MAX_PART - 1) / TARGET_MAX_PART;
    if ((int64_t)count_unsent_of_target (job) > most) {
        job_postpone (job, NO_SLOT_S, "the target uses all its slots");
        return;
    }
    if (!check_breaker (job))
        return;
    job->state = JOB_RESOLVING;
    if ((callback->url.literal &&
         ip_read (span_text (callback->url.host), resolved.addresses[0])) ||
        resolver_find (callback->url.host, callback->source, &resolved, on_resolved, job))
        on_resolved (job, &resolved);
}
