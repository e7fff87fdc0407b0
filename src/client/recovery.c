// Recovery of missed results. The subscriber subscribes to all titles and tracks the seq of each
// result it returned. When a number is missing it requests that result from `history` before it
// continues; later results wait in the socket. When nothing arrives it checks periodically whether
// the station has published more: the last result may be the lost one.
#include "subscriber_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client_private.h"
#include "clock.h"
#include "json.h"

enum {
    CHECK_INTERVAL_US = 5000000, // without a result for this long: check for missed ones
    GRACE_US = 1000000,          // missed ones may be in flight: check again after this
    CHECK_MAX_US = 60000000,     // largest interval of checks of a station that does not answer
    FILL_RETRY_US = 1000000,     // between two attempts to fill a gap
    FILL_TIMEOUT_US = 60000000,  // for all attempts to fill one gap
    TURNS = 64                   // steps or skipped messages of one call
};

// -- notices

static void call_notice_fn (struct zplan_subscriber *self, const struct zplan_notice *notice)
{
    self->calling = true;
    if (self->recovery.notice)
        self->recovery.notice (self->recovery.context, notice);
    self->calling = false;
}

static void notify_seqs (struct zplan_subscriber *self, enum zplan_notice_kind kind, int64_t after,
                         int64_t before)
{
    call_notice_fn (
        self, &(struct zplan_notice){.kind = kind, .after = after, .before = before, .words = ""});
}

// Report once that the history cannot be read.
static void notify_unreadable_history (struct zplan_subscriber *self)
{
    struct recovery *recovery = &self->recovery;
    if (!recovery->notified)
        call_notice_fn (self,
                        &(struct zplan_notice){.kind = ZPLAN_NOTICE_SILENT,
                                               .error = recovery->error,
                                               .at_start = recovery->fill.purpose == FOR_RESUME,
                                               .words = recovery->words});
    recovery->notified = true;
}

// -- requests to the history

static void schedule_check (struct recovery *self, int64_t interval_us)
{
    self->check_interval_us = interval_us;
    self->check_due_us = clock_mono_us () + interval_us;
}

// Postpone the next check, as a result arrived. If the history does not answer, the longer interval
// stays.
static void postpone_check (struct recovery *self)
{
    self->behind = false;
    schedule_check (self, self->notified ? self->check_interval_us : CHECK_INTERVAL_US);
}

// Request the first page of the history after the last result.
static void request_first_page (struct recovery *self)
{
    struct gap_fill *fill = &self->fill;
    fill->opened = false;
    fill->after[0] = '\0';
    recovery_request_page (self);
}

static void start_filling (struct recovery *self, enum fill_purpose purpose, int64_t before)
{
    int64_t patience_us = purpose == FOR_WAITING && self->answered ? FILL_TIMEOUT_US : 0;
    self->fill = (struct gap_fill){
        .purpose = purpose, .before = before, .until_us = clock_mono_us () + patience_us};
    request_first_page (self);
}

// -- reading the history

static void mark_history_answered (struct recovery *self)
{
    self->answered = true;
    self->notified = false;
}

static void open_history (struct zplan_subscriber *self, const struct history_head *head)
{
    struct recovery *recovery = &self->recovery;
    struct gap_fill *fill = &recovery->fill;
    struct gap *gap = &recovery->gap;
    fill->opened = true;
    fill->last = head->last;
    snprintf (fill->epoch, sizeof fill->epoch, "%s", head->epoch);
    if (gap_epoch_differs (gap, head->epoch)) {
        notify_seqs (self, ZPLAN_NOTICE_ANEW, gap->last, head->first);
        gap_restart (gap, head->epoch);
    } else if (head->last < gap->last) {
        notify_seqs (self, ZPLAN_NOTICE_AHEAD, gap->last, head->last);
        gap->last = head->last;
    } else if (head->missed) {
        notify_seqs (self, ZPLAN_NOTICE_GONE, gap->last, head->first);
    }
}

// Everything wanted from the history was returned.
static void end_filling (struct recovery *self)
{
    struct gap_fill *fill = &self->fill;
    int64_t before = fill->before;
    mark_history_answered (self);
    // A number without a run in the history will never get one.
    gap_skip_to (&self->gap, fill->last < before ? fill->last : before - 1, fill->epoch);
    self->phase = PHASE_LISTEN;
    if (fill->purpose != FOR_WAITING) {
        self->behind = false;
        schedule_check (self, CHECK_INTERVAL_US);
    }
    fill->purpose = FOR_CHECK;
}

static void wait_before_retry (struct recovery *self)
{
    self->phase = PHASE_RETRY;
    self->next_attempt_us = clock_mono_us () + FILL_RETRY_US;
}

// The history cannot be read now. If it answered before, the subscriber waits and retries, to
// return results in order, until `until_us`.
static void handle_unreadable_history (struct zplan_subscriber *self)
{
    struct recovery *recovery = &self->recovery;
    const struct gap_fill *fill = &recovery->fill;
    notify_unreadable_history (self);
    if (fill->purpose == FOR_RESUME) {
        wait_before_retry (recovery);
    } else if (fill->purpose == FOR_CHECK) {
        recovery->behind = false;
        recovery->phase = PHASE_LISTEN;
        schedule_check (recovery, CHECK_INTERVAL_US);
    } else if (clock_mono_us () < fill->until_us) {
        wait_before_retry (recovery);
    } else {
        bool other_epoch = gap_epoch_differs (&recovery->gap, self->mark.epoch);
        notify_seqs (self, ZPLAN_NOTICE_MISSED, other_epoch ? 0 : recovery->gap.last,
                     self->mark.seq);
        recovery->phase = PHASE_LISTEN;
    }
}

// Request the page after this one. False: it was the last. A repeated cursor is an error, as it
// would cause an endless loop.
static bool request_next_page (struct zplan_subscriber *self, const json_t *page)
{
    struct gap_fill *fill = &self->recovery.fill;
    const char *next = json_string_value (json_object_get (page, "next"));
    if (!next)
        return false;
    if (strlen (next) >= sizeof fill->after || strcmp (next, fill->after) == 0) {
        struct reason reason;
        reason_set (&reason, "the history does not continue after %s", quoted (span_text (next)));
        recovery_set_reason (&self->recovery, span_text (reason.text));
        handle_unreadable_history (self);
        return true;
    }
    snprintf (fill->after, sizeof fill->after, "%s", next);
    recovery_request_page (&self->recovery);
    return true;
}

static void close_page (struct gap_fill *self)
{
    json_decref (self->page);
    self->page = NULL;
    self->next = 0;
}

static void begin_page (struct zplan_subscriber *self)
{
    struct recovery *recovery = &self->recovery;
    struct history_head head;
    json_t *page;
    if (!recovery_take_page (recovery, &page, &head)) {
        handle_unreadable_history (self);
        return;
    }
    if (!recovery->fill.opened)
        open_history (self, &head);
    recovery->fill.page = page;
    recovery->fill.next = 0;
    recovery->phase = PHASE_RETURN;
}

// Return this run of the page if it was missed and its title is wanted. True: `ret` is filled.
static bool return_if_missed (struct zplan_subscriber *self, const json_t *run,
                              const struct gap_mark *mark, struct zplan_result *ret)
{
    struct recovery *recovery = &self->recovery;
    struct zplan_result result;
    if (!gap_is_missed (&recovery->gap, mark->seq, recovery->fill.before))
        return false;
    if (!recovery_read_run (self, run, &result)) {
        recovery->error = ZPLAN_ERROR_MEMORY;
        recovery_set_reason (recovery, span_text (zplan_error_text (ZPLAN_ERROR_MEMORY)));
        close_page (&recovery->fill);
        handle_unreadable_history (self);
        return false;
    }
    gap_record_history (&recovery->gap, mark);
    if (!subscriber_wants (self, span_of (result.title, result.title_size)))
        return false;
    memcpy (self->epoch, recovery->fill.epoch, sizeof self->epoch);
    result.seq = mark->seq;
    result.exec_id = mark->exec_id;
    result.epoch = self->epoch;
    *ret = result;
    return true;
}

// Return the next run of the page. True: `ret` is filled.
static bool return_next_run (struct zplan_subscriber *self, struct zplan_result *ret)
{
    struct recovery *recovery = &self->recovery;
    struct gap_fill *fill = &recovery->fill;
    const json_t *runs = json_object_get (fill->page, "runs");
    while (recovery->phase == PHASE_RETURN && fill->next < json_array_size (runs)) {
        const json_t *run = json_array_get (runs, fill->next++);
        struct gap_mark mark = {.epoch = fill->epoch};
        json_get_integer (run, "seq", 1, INT64_MAX, &mark.seq);
        json_get_integer (run, "exec_id", 1, INT64_MAX, &mark.exec_id);
        if (mark.seq >= fill->before) {
            close_page (fill);
            end_filling (recovery);
            return false;
        }
        if (return_if_missed (self, run, &mark, ret))
            return true;
    }
    if (recovery->phase != PHASE_RETURN)
        return false;
    if (!request_next_page (self, fill->page))
        end_filling (recovery);
    close_page (fill);
    return false;
}

// -- periodic checks

// Compare the station's last result with ours. Missing results may still be in flight, so they are
// requested only when a second check misses them too.
static void compare_head (struct zplan_subscriber *self)
{
    struct recovery *recovery = &self->recovery;
    struct history_head head;
    json_t *page;
    recovery->phase = PHASE_LISTEN;
    if (!recovery_take_page (recovery, &page, &head)) {
        int64_t interval_us = 2 * recovery->check_interval_us;
        notify_unreadable_history (self);
        schedule_check (recovery, interval_us < CHECK_INTERVAL_US ? CHECK_INTERVAL_US
                                  : interval_us < CHECK_MAX_US    ? interval_us
                                                                  : CHECK_MAX_US);
        return;
    }
    mark_history_answered (recovery);
    if (!recovery->gap.known)
        gap_begin (&recovery->gap, head.last, head.epoch);
    bool behind = gap_is_behind (&recovery->gap, head.last, head.epoch);
    json_decref (page);
    if (behind && recovery->behind) {
        start_filling (recovery, FOR_CHECK, INT64_MAX);
        return;
    }
    recovery->behind = behind;
    schedule_check (recovery, behind ? GRACE_US : CHECK_INTERVAL_US);
}

// -- results

// Return the received result. True: `ret` is filled. False: its title is not wanted.
static bool return_result (struct zplan_subscriber *self, enum gap_sort sort,
                           struct zplan_result *ret)
{
    if (sort != GAP_STRAY)
        gap_record (&self->recovery.gap, &self->mark);
    if (!subscriber_wants (self, span_of (self->result.title, self->result.title_size)))
        return false;
    subscriber_return_result (self, ret);
    return true;
}

// Process received results. True: `ret` is filled.
static bool receive_result (struct zplan_subscriber *self, int *turns, struct zplan_result *ret)
{
    struct recovery *recovery = &self->recovery;
    while (subscriber_receive (self, turns)) {
        enum gap_sort sort = gap_sort (&recovery->gap, &self->mark);
        postpone_check (recovery);
        if (sort == GAP_MISSING || sort == GAP_RESTARTED) {
            recovery->result_waits = true;
            start_filling (recovery, FOR_WAITING, self->mark.seq);
            return false;
        }
        if (sort == GAP_REWOUND)
            notify_seqs (self, ZPLAN_NOTICE_BACK, recovery->gap.last, self->mark.seq);
        if (sort != GAP_DUPLICATE && return_result (self, sort, ret))
            return true;
    }
    return false;
}

// Do one step of the current phase. True: `ret` is filled.
static bool run_phase (struct zplan_subscriber *self, int *turns, struct zplan_result *ret)
{
    struct recovery *recovery = &self->recovery;
    switch (recovery->phase) {
    case PHASE_LISTEN:
        if (recovery->result_waits) {
            recovery->result_waits = false;
            postpone_check (recovery);
            return return_result (self, GAP_MISSING, ret);
        }
        if (receive_result (self, turns, ret))
            return true;
        if (recovery->phase == PHASE_LISTEN && clock_mono_us () >= recovery->check_due_us)
            recovery_request_head (recovery);
        return false;
    case PHASE_HEAD:
        compare_head (self);
        return false;
    case PHASE_PAGE:
        begin_page (self);
        return false;
    case PHASE_RETURN:
        return return_next_run (self, ret);
    case PHASE_RETRY:
        request_first_page (recovery);
        return false;
    }
    return false;
}

// Whether the phase has something to do now.
static bool is_phase_ready (const struct recovery *self)
{
    bool listens;
    return self->phase == PHASE_LISTEN || recovery_wake_us (self, &listens) <= clock_mono_us ();
}

bool recovery_next (struct zplan_subscriber *self, struct zplan_result *ret)
{
    struct recovery *recovery = &self->recovery;
    int turns = TURNS;
    zplan_client_process (recovery->client);
    uint64_t connections = recovery->client->dealers.turns;
    // Check at once after a reconnect: the last results of the previous connection may be missing.
    if (recovery->turns && connections != recovery->turns)
        recovery->check_due_us = 0;
    recovery->turns = connections;
    while (turns > 0 && is_phase_ready (recovery)) {
        enum subscriber_phase before = recovery->phase;
        turns--;
        if (run_phase (self, &turns, ret))
            return true;
        if (before == PHASE_LISTEN && recovery->phase == PHASE_LISTEN)
            return false; // no result, and no check is due
    }
    return false;
}

int64_t recovery_wake_us (const struct recovery *self, bool *ret_listens)
{
    *ret_listens = self->phase == PHASE_LISTEN;
    switch (self->phase) {
    case PHASE_LISTEN:
        return self->result_waits ? 0 : self->check_due_us;
    case PHASE_HEAD:
    case PHASE_PAGE:
        return self->ended ? 0 : READINESS_NEVER; // the client's descriptor signals
    case PHASE_RETURN:
        return 0;
    case PHASE_RETRY:
        return self->next_attempt_us;
    }
    return 0;
}

// -- starting and ending

static int error_of_errno (int number)
{
    return number == EINVAL   ? ZPLAN_ERROR_ARGUMENT
           : number == ENOMEM ? ZPLAN_ERROR_MEMORY
                              : ZPLAN_ERROR_SOCKET;
}

// Subscribe to every title, since the numbers of unwanted results also show what is missing;
// results are filtered by `title` here. False: out of memory.
static bool subscribe_all (struct zplan_subscriber *self, const char *title)
{
    char *prefix = strdup (title ? title : self->prefix);
    if (!prefix)
        return false;
    if (*self->prefix && zmq_setsockopt (self->listener.socket, ZMQ_SUBSCRIBE, "", 0) == 0)
        zmq_setsockopt (self->listener.socket, ZMQ_UNSUBSCRIBE, self->prefix,
                        strlen (self->prefix));
    free (self->prefix);
    self->prefix = prefix;
    return true;
}

int zplan_subscriber_recover (struct zplan_subscriber *subscriber,
                              const struct zplan_recovery *recovery)
{
    if (!subscriber || !recovery || !recovery->endpoint || subscriber->recovery.client)
        return ZPLAN_ERROR_ARGUMENT;
    struct zplan_client *client = client_new (recovery->endpoint, &subscriber->listener.keys);
    if (!client)
        return error_of_errno (errno);
    bool several = subscriber->listener.count > 1;
    bool added = readiness_add (&subscriber->listener.ready, zplan_client_fd (client)) == 0;
    struct gap_seen *seen = several && added ? calloc (GAP_SEEN_MAX, sizeof *seen) : NULL;
    if (!added || (several && !seen) || !subscribe_all (subscriber, recovery->title)) {
        zplan_client_destroy (&client); // this closes the descriptor, which removes it from `ready`
        free (seen);
        return added ? ZPLAN_ERROR_MEMORY : ZPLAN_ERROR_SOCKET;
    }
    if (recovery->timeout_ms > 0)
        zplan_client_set_timeout (client, recovery->timeout_ms);
    struct recovery *self = &subscriber->recovery;
    *self =
        (struct recovery){.client = client, .notice = recovery->fn, .context = recovery->context};
    self->gap.seen = seen;
    schedule_check (self, CHECK_INTERVAL_US);
    if (recovery->since < 0) {
        recovery_request_head (self);
    } else {
        gap_resume (&self->gap, recovery->since, recovery->epoch);
        start_filling (self, FOR_RESUME, INT64_MAX);
    }
    subscriber_update (subscriber);
    return ZPLAN_OK;
}

void recovery_end (struct recovery *self)
{
    zplan_client_destroy (&self->client);
    json_decref (self->answer);
    json_decref (self->fill.page);
    self->answer = self->fill.page = NULL;
    free (self->gap.seen);
    self->gap.seen = NULL;
}
