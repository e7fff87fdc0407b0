// One stream: a position in the ring, and a filter. It is in one of these states:
//
//     asking    asks which targets its user may see; repeated every five seconds
//     waiting   waits for the first read of the history
//     behind    missing events are no longer in the ring: reads them from the history
//     live      sends the events of the ring from its position
//
// The library asks for bytes; while there are none the connection is suspended. Every 15 seconds
// there is a comment, so that each end notices a lost connection. A closed page is noticed within a
// second; otherwise opening a few pages in a row would reach the limit of streams.
#include <fnmatch.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follower.h"
#include "clock.h"
#include "ident.h"
#include "memory.h"
#include "server.h"
#include "settings.h"
#include "users.h"

enum {
    BLOCK = 4096,
    PAGE = 100,
    OWNER_STREAMS_MAX = 16, // streams of one user or, without users, of one address
    BEHIND_MAX = 4,
    COMMENT_US = 15000000,
    PERMISSION_CHECK_US = 5000000,
    PROGRESS_MS = 30000
};

static size_t history_requests; // history requests in flight, for all streams that are behind

// -- output

static void follower_append (struct follower *self, const char *text, size_t size)
{
    self->pending = memory_resize (self->pending, self->size + size);
    memcpy (self->pending + self->size, text, size);
    self->size += size;
}

static void append_event (struct follower *self, const char *name, json_t *data)
{
    size_t size;
    char *text = stream_event_text (NULL, name, data, &size);
    follower_append (self, text, size);
    free (text);
    json_decref (data);
}

static void append_gap (struct follower *self)
{
    const struct ring *ring = &self->stream->ring;
    append_event (self, "gap",
                  json_pack ("{s:s, s:I}", "epoch", ring->epoch, "last", (json_int_t)ring->last));
}

static bool follower_sees (const struct follower *self, const struct ring_event *event)
{
    struct span target = span_text (event->target);
    if (event->kind == RING_STATION)
        return true;
    if (!(self->wants >> event->kind & 1))
        return false;
    if (event->kind == RING_STATS)
        return !self->stations[0]; // statistics cover all targets
    if (event->kind == RING_PLAN && !event->plan)
        return true; // the event reload
    return curve_stations_have (self->stations, target) &&
           (!self->target[0] || span_is (target, self->target)) &&
           (!self->plan || self->plan == event->plan) &&
           (!self->title[0] || fnmatch (self->title, event->title, 0) == 0);
}

static void send_greeting (struct follower *self)
{
    const struct ring *ring = &self->stream->ring;
    self->greeted = true;
    follower_append (self, "retry: 2000\n", 12);
    append_event (self, "hello",
                  json_pack ("{s:s, s:I, s:s}", "epoch", ring->epoch, "last",
                             (json_int_t)ring->last, "station", stream_state (self->stream)));
    bool other = self->has_id && (strcmp (self->epoch, ring->epoch) != 0 || self->seq > ring->last);
    if (other)
        append_gap (self);
    snprintf (self->epoch, sizeof self->epoch, "%s", ring->epoch);
    self->place = ring->end;
    if (!self->has_id || other) {
        self->seq = ring->last;
    } else {
        append_event (self, "reload", json_object ()); // events of plans are not kept
        self->place = ring->first;
    }
}

// -- reading the history

static void follower_free (struct follower *self)
{
    free (self->pending);
    free (self);
}

static void on_missed_runs (void *owner, const struct station_answer *answer)
{
    struct follower *self = owner;
    struct ring_event event;
    size_t i;
    const json_t *run;
    history_requests--;
    self->question_in_flight = false;
    if (!self->exchange) {
        follower_free (self);
        return;
    }
    const char *epoch = json_string_value (json_object_get (answer->json, "epoch"));
    if (!epoch || answer->status >= ZERO_STATUS_ERROR_FLAG)
        return; // retried at the next tick
    const struct ring *ring = &self->stream->ring;
    if (strcmp (epoch, self->epoch) != 0 ||
        json_is_true (json_object_get (answer->json, "missed"))) {
        append_gap (self);
        snprintf (self->epoch, sizeof self->epoch, "%s", ring->epoch);
        self->seq = ring->last;
    }
    const json_t *runs = json_object_get (answer->json, "runs");
    json_array_foreach (runs, i, run)
    {
        if (json_integer_value (json_object_get (run, "seq")) <= self->seq ||
            !stream_run_event (epoch, run, &event))
            continue;
        self->seq = event.seq;
        if (follower_sees (self, &event))
            follower_append (self, event.text, event.size);
        free (event.text);
        free (event.title);
    }
    const char *next = json_string_value (json_object_get (answer->json, "next"));
    if (!next && self->seq < ring->base)
        self->seq = ring->base;
    snprintf (self->after, sizeof self->after, "%s", next && self->seq < ring->base ? next : "");
    exchange_resume (self->exchange);
}

static void request_missed_runs (struct follower *self)
{
    if (self->question_in_flight || history_requests >= BEHIND_MAX)
        return;
    self->question_in_flight = true;
    history_requests++;
    stream_write_filter (self->filter, self->seq, self->epoch, self->after, PAGE);
    const struct question question = {.command = "history", .args = {self->filter}, .repeat = true};
    gateway_ask (self->exchange->server->gateway, &question, on_missed_runs, self);
}

// -- the ring

// Append events of the ring to the pending output, up to about a block.
static void append_pending_events (struct follower *self)
{
    const struct ring *ring = &self->stream->ring;
    const struct ring_event *event;
    if (!self->greeted && self->stream->known)
        send_greeting (self);
    if (!self->greeted) {
        if (!self->down_sent && strcmp (stream_state (self->stream), "down") == 0)
            append_event (self, "station", json_pack ("{s:s}", "state", "down"));
        self->down_sent = self->size > 0;
        return;
    }
    if (strcmp (self->epoch, ring->epoch) != 0) { // restarted: a gap event is in the ring
        snprintf (self->epoch, sizeof self->epoch, "%s", ring->epoch);
        self->seq = ring->base;
        self->after[0] = '\0';
    }
    if (self->place < ring->first) {
        self->place = ring->first;
        if (self->wants >> RING_PLAN & 1)
            append_event (self, "reload", json_object ());
    }
    if (self->seq < ring->base) {
        request_missed_runs (self);
        return;
    }
    while (self->size < BLOCK && (event = ring_at (ring, self->place))) {
        self->place++;
        if (event->seq && event->seq <= self->seq)
            continue;
        if (event->seq)
            self->seq = event->seq;
        if (follower_sees (self, event))
            follower_append (self, event->text, event->size);
    }
}

static ssize_t on_bytes (void *cls, uint64_t position, char *out, size_t most)
{
    struct follower *self = cls;
    (void)position;
    if (self->left)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (self->sent == self->size) {
        self->sent = self->size = 0;
        if (!self->ending)
            append_pending_events (self);
    }
    int64_t now_us = clock_mono_us ();
    if (!self->size && now_us - self->comment_us >= COMMENT_US)
        follower_append (self, ":\n\n", 3);
    if (self->size) {
        size_t size = self->size - self->sent < most ? self->size - self->sent : most;
        memcpy (out, self->pending + self->sent, size);
        self->sent += size;
        self->comment_us = now_us;
        peer_set_deadline (self->exchange->peer, PROGRESS_MS);
        return (ssize_t)size;
    }
    if (self->ending)
        return MHD_CONTENT_READER_END_OF_STREAM;
    exchange_suspend (self->exchange);
    return 0;
}

// -- permissions of the user

// Set which targets the user may see, from the answer to whoami. True: the role observe is among
// the roles. False: the user may see nothing.
static bool set_permissions (struct follower *self, const json_t *answer)
{
    const char *stations = json_string_value (json_object_get (answer, "stations"));
    snprintf (self->stations, sizeof self->stations, "%s", stations ? stations : "");
    return exchange_observes (answer);
}

static void send_bye (struct follower *self)
{
    self->ending = true;
    append_event (self, "bye", json_object ());
    exchange_resume (self->exchange);
}

static void on_permissions (void *owner, const struct station_answer *answer)
{
    struct follower *self = owner;
    self->question_in_flight = false;
    if (!self->exchange) {
        follower_free (self);
        return;
    }
    bool denied = answer->error == ZPLAN_OK && answer->status == ZERO_STATUS_DENY_ID;
    if (!self->ending && (denied || (answer->json && !set_permissions (self, answer->json))))
        send_bye (self);
    exchange_resume (self->exchange);
}

void follower_tick (struct follower *self)
{
    static const struct question question = {.command = "whoami"};
    int64_t now_us = clock_mono_us ();
    if (!self->ending && !users_may_continue (self->exchange)) {
        send_bye (self);
        return;
    }
    if (self->exchange->user && !self->question_in_flight &&
        now_us - self->permissions_us >= PERMISSION_CHECK_US) {
        self->question_in_flight = true;
        self->permissions_us = now_us;
        gateway_ask (self->exchange->gateway, &question, on_permissions, self);
    }
    self->left = peer_has_left (self->exchange->peer);
    if (self->left || now_us - self->comment_us >= COMMENT_US ||
        (self->greeted && self->seq < self->stream->ring.base))
        exchange_resume (self->exchange);
}

// -- start and end

static void on_clear (struct exchange *exchange)
{
    struct follower *self = exchange->own;
    stream_leave (self->stream, self);
    self->exchange = NULL;
    if (!self->question_in_flight)
        follower_free (self);
}

static void begin_stream (struct exchange *exchange)
{
    struct follower *self = exchange->own;
    stream_join (self->stream, self);
    exchange_add_header (exchange, "Content-Type", "text/event-stream");
    exchange_add_header (exchange, "X-Accel-Buffering", "no");
    self->comment_us = self->permissions_us = clock_mono_us ();
    exchange_response (
        exchange, 200,
        MHD_create_response_from_callback (MHD_SIZE_UNKNOWN, BLOCK, on_bytes, self, NULL));
}

static void on_whoami (struct exchange *exchange, const struct station_answer *answer)
{
    struct follower *self = exchange->own;
    if (set_permissions (self, answer->json))
        begin_stream (exchange);
    else
        exchange_problem (exchange, 403, "deny", "wants the role observe");
}

// Read EPOCH-SEQ, the id of the last event that the client has received.
static void read_last_event_id (struct follower *self, const char *text)
{
    const char *dash = strrchr (text, '-');
    size_t size = dash ? (size_t)(dash - text) : 0;
    self->has_id = true; // an invalid one counts as another epoch
    if (!size || size >= sizeof self->epoch || !number_parse (dash + 1, &self->seq))
        return;
    memcpy (self->epoch, text, size);
}

static int read_stream_query (struct follower *self, const struct request_target *target,
                              struct reason *reason)
{
    static const char *const kinds[] = {"results", "events", "stats"};
    const char *title = request_target_field (target, "title");
    const char *name = request_target_field (target, "target");
    const char *plan = request_target_field (target, "plan");
    const char *what = request_target_field (target, "what");
    for (const char *at = what ? what : "results"; *at; at += strspn (at, ",")) {
        size_t size = strcspn (at, ","), i = 0;
        while (i < 3 && (strlen (kinds[i]) != size || memcmp (kinds[i], at, size) != 0))
            i++;
        if (i == 3)
            return reason_set (reason, "what: want results, events and stats, with commas between");
        self->wants |= 1U << i;
        at += size;
    }
    if ((title && strlen (title) >= sizeof self->title) ||
        (name && strlen (name) >= sizeof self->target))
        return reason_set (reason, "title, target: want at most 64 bytes");
    if (plan && !ident_parse (span_text (plan), &self->plan))
        return reason_set (reason, "plan: want an id");
    snprintf (self->title, sizeof self->title, "%s", title ? title : "");
    snprintf (self->target, sizeof self->target, "%s", name ? name : "");
    return 0;
}

// The number of streams of the same user as this exchange or, without users, of the same address.
static size_t count_streams_of_owner (const struct stream *self, const struct exchange *of)
{
    size_t count = 0;
    for (const struct follower *at = self->first; at; at = at->next) {
        const struct exchange *own = at->exchange;
        count += of->user ? own->user && strcmp (own->user, of->user) == 0
                          : strcmp (own->address, of->address) == 0;
    }
    return count;
}

void api_stream (struct exchange *exchange)
{
    const struct question question = {.command = "whoami", .repeat = true};
    struct reason reason;
    struct follower *self = memory_new (sizeof *self);
    const char *id = exchange_request_header (exchange, "Last-Event-ID");
    if (!id)
        id = request_target_field (&exchange->target, "after");
    self->exchange = exchange;
    self->stream = exchange->server->stream;
    exchange->own = self;
    exchange->clear = on_clear;
    if (id)
        read_last_event_id (self, id);
    if (read_stream_query (self, &exchange->target, &reason))
        exchange_problem (exchange, 400, "invalid_field", "%s", reason.text);
    else if (count_streams_of_owner (self->stream, exchange) >= OWNER_STREAMS_MAX)
        exchange_problem (exchange, 429, "too_many", "want at most 16 streams");
    else if (exchange->user)
        exchange_question (exchange, &question, on_whoami);
    else
        begin_stream (exchange);
}
