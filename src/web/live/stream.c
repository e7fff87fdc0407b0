#include "follower.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "codes.h"
#include "daemon.h"
#include "ident.h"
#include "json.h"
#include "json_names.h"
#include "json_values.h"
#include "memory.h"
#include "server.h"
#include "zplan_events.h"

enum {
    READ_DELAY_MS = 20,
    READ_EVERY_US = 2000000,
    KEEP_SELECTION_US = 60000000, // before a smaller selection: the station limits changes
    SELECTION_DELAY_US = 1000000, // until a selection has usually reached the station
    TICK_MS = 1000,
    EVENTS_PER_TURN = 64,
    PAGE = 500
};

// -- events as they are sent

char *stream_event_text (const char *id, const char *name, const json_t *data, size_t *ret_size)
{
    char *text = NULL, *json = json_write ((json_t *)(uintptr_t)data);
    FILE *out = open_memstream (&text, ret_size);
    if (id)
        fprintf (out, "id: %s\n", id);
    fprintf (out, "event: %s\ndata: %s\n\n", name, json);
    fclose (out);
    free (json);
    return text;
}

static void set_target_and_title (struct ring_event *event, const json_t *target,
                                  const json_t *title)
{
    const char *name = json_string_value (target), *words = json_string_value (title);
    snprintf (event->target, sizeof event->target, "%s", name ? name : "");
    event->title = memory_text (words ? words : "");
}

bool stream_run_event (const char *epoch, const json_t *run, struct ring_event *ret)
{
    char id[RING_EPOCH_SIZE + 24];
    const char *plan = json_string_value (json_object_get (run, "plan"));
    int64_t seq = json_integer_value (json_object_get (run, "seq"));
    if (seq <= 0)
        return false;
    *ret = (struct ring_event){.kind = RING_RUN, .seq = seq};
    if (plan)
        ident_parse (span_text (plan), &ret->plan);
    set_target_and_title (ret, json_object_get (run, "station"), json_object_get (run, "title"));
    snprintf (id, sizeof id, "%s-%" PRId64, epoch, seq);
    json_t *names = json_names (JSON_RUN, run);
    ret->text = stream_event_text (id, "run", names, &ret->size);
    json_decref (names);
    return true;
}

static void wake_followers (struct stream *self)
{
    for (const struct follower *at = self->first; at; at = at->next)
        exchange_resume (at->exchange);
}

// Append an event to the ring and wake the followers; the reference of `data` is taken. `plan` may
// be NULL.
static void ring_add_event (struct stream *self, enum ring_kind kind, const char *name,
                            json_t *data, const json_t *plan)
{
    struct ring_event event = {.kind = kind};
    const json_t *id = json_object_get (plan, "plan_id");
    event.plan = (uint64_t)json_integer_value (id);
    set_target_and_title (&event, json_object_get (plan, "station"),
                          json_object_get (plan, "description"));
    event.text = stream_event_text (NULL, name, data, &event.size);
    json_decref (data);
    ring_put (&self->ring, &event);
    wake_followers (self);
}

// Append the event reload, as events may have been missed: pages reload their list of plans.
static void add_reload_event (struct stream *self)
{
    ring_add_event (self, RING_PLAN, "reload", json_object (), NULL);
}

static void set_station_down (struct stream *self, bool down)
{
    if (self->down == down)
        return;
    self->down = down;
    ring_add_event (self, RING_STATION, "station",
                    json_pack ("{s:s, s:o}", "state", down ? "down" : "up", "since_at",
                               json_instant_ms (clock_wall_us () / 1000)),
                    NULL);
    if (!down) // the events of the station may arrive later
        add_reload_event (self);
}

// -- the history

// Reset the ring to the current last run: the station has restarted its numbering, or runs in
// between are gone.
static void restart_after_gap (struct stream *self, const json_t *answer, const char *epoch)
{
    int64_t last = json_integer_value (json_object_get (answer, "last"));
    bool first = !self->known;
    self->after[0] = '\0';
    ring_reset (&self->ring, epoch, last);
    self->known = true;
    if (!first)
        ring_add_event (self, RING_STATION, "gap",
                        json_pack ("{s:s, s:I}", "epoch", epoch, "last", last), NULL);
}

static void add_runs (struct stream *self, const json_t *answer)
{
    const char *epoch = json_string_value (json_object_get (answer, "epoch"));
    const json_t *runs = json_object_get (answer, "runs"), *run;
    struct ring_event event;
    size_t i;
    if (!epoch)
        return;
    if (self->known && !self->ring.epoch[0] && epoch[0]) { // the first run ever has ended
        ring_reset (&self->ring, epoch, 0);
        self->read_again = true;
        return;
    }
    if (!self->known || strcmp (epoch, self->ring.epoch) != 0 ||
        json_is_true (json_object_get (answer, "missed"))) {
        restart_after_gap (self, answer, epoch);
        wake_followers (self);
        return;
    }
    int64_t before = self->ring.last;
    json_array_foreach (runs, i, run)
    {
        bool is_new = json_integer_value (json_object_get (run, "seq")) > self->ring.last;
        if (is_new && stream_run_event (epoch, run, &event))
            ring_put (&self->ring, &event);
    }
    const char *next = json_string_value (json_object_get (answer, "next"));
    snprintf (self->after, sizeof self->after, "%s", next ? next : "");
    self->read_again = self->read_again || next;
    if (self->ring.last > before)
        wake_followers (self);
}

static void on_history (void *owner, const struct station_answer *answer)
{
    struct stream *self = owner;
    bool fine = answer->error == ZPLAN_OK && answer->status < ZERO_STATUS_ERROR_FLAG;
    self->reading = false;
    if (self->stopped)
        return;
    set_station_down (self, !fine);
    if (fine)
        add_runs (self, answer->json);
    if (self->read_again && fine)
        timer_set (&self->read_timer, self->server->reactor, READ_DELAY_MS);
}

void stream_write_filter (char ret[STREAM_PAGE_SIZE], int64_t since, const char *epoch,
                          const char *after, int limit)
{
    int size =
        snprintf (ret, STREAM_PAGE_SIZE,
                  "{\"since\": %" PRId64 ", \"epoch\": \"%s\", \"limit\": %d", since, epoch, limit);
    snprintf (ret + size, (size_t)(STREAM_PAGE_SIZE - size), *after ? ", \"after\": \"%s\"}" : "}",
              after);
}

static void read_history (void *owner)
{
    struct stream *self = owner;
    self->read_again = self->reading;
    if (self->reading || self->stopped || !self->first)
        return;
    self->reading = true;
    self->read_us = clock_mono_us ();
    snprintf (self->filter, sizeof self->filter, "{\"newest\": true, \"limit\": 1}");
    if (self->known && self->ring.epoch[0])
        stream_write_filter (self->filter, self->ring.last, self->ring.epoch, self->after, PAGE);
    const struct question question = {
        .command = "history", .args = {self->filter}, .deadline_ms = 2000};
    gateway_ask (self->server->gateway, &question, on_history, self);
}

static void schedule_history_read (struct stream *self)
{
    if (self->reading)
        self->read_again = true;
    else if (self->first && !timer_is_set (&self->read_timer))
        timer_set (&self->read_timer, self->server->reactor, READ_DELAY_MS);
}

// -- the events socket

static struct zplan_events *open_events (const struct web_settings *settings, struct reason *reason)
{
    struct curve_cert cert;
    struct zplan_curve room;
    const struct zplan_curve *curve;
    const struct daemon_station station = {settings->events, settings->server_key, settings->key};
    if (daemon_curve (&station, &cert, &room, &curve, reason))
        return NULL;
    struct zplan_events *events = curve ? zplan_events_new_curve (station.endpoints, curve)
                                        : zplan_events_new (station.endpoints);
    explicit_bzero (&cert, sizeof cert);
    if (!events)
        reason_set (reason, "events: %s: want endpoints as tcp://HOST:7922",
                    quoted (span_text (station.endpoints)));
    return events;
}

// Select only the events that followers want: there may be many submissions.
static void select_events (struct stream *self)
{
    static const int choices[] = {0, 1 << ZPLAN_EVENT_RESULT, ZPLAN_EVENTS_ALL};
    size_t wanted = !self->first ? 0 : self->wanted[RING_PLAN] ? 2 : 1;
    int64_t now_us = clock_mono_us ();
    if (wanted >= self->selected)
        self->selected_us = now_us;
    bool rises = wanted > self->selected;
    if (wanted == self->selected || (!rises && now_us - self->selected_us < KEEP_SELECTION_US))
        return;
    zplan_events_select (self->events, choices[wanted]);
    self->grown_unconfirmed = rises;
    self->grown_us = rises ? now_us : 0;
    self->selected = wanted;
}

static void process_event (struct stream *self, const struct zplan_event *event)
{
    struct reason ignored;
    if (event->code == ZPLAN_EVENT_RESULT)
        schedule_history_read (self);
    // A result proves nothing, since results may have been selected before.
    bool proves = self->grown_unconfirmed && event->code != ZPLAN_EVENT_RESULT;
    if (event->missed || proves)
        add_reload_event (self);
    self->grown_unconfirmed = self->grown_unconfirmed && !proves;
    if (!self->wanted[RING_PLAN] || event->code < 1 || event->code > ZPLAN_EVENT_REMOVE ||
        event->code == ZPLAN_EVENT_RESULT)
        return;
    json_t *plan = json_read_object (span_of (event->state, event->state_size), &ignored);
    if (!plan)
        return;
    json_t *data = json_names (JSON_PLAN, plan);
    json_object_set_new (data, "event", json_string (event_word (event->code)));
    ring_add_event (self, RING_PLAN, "plan", data, plan);
    json_decref (plan);
}

static void on_events (void *owner, uint32_t events)
{
    struct stream *self = owner;
    struct zplan_event event;
    (void)events;
    for (int i = 0; i < EVENTS_PER_TURN && zplan_events_recv (self->events, 0, &event) == ZPLAN_OK;
         i++)
        process_event (self, &event);
}

// -- each second

static void on_stats (void *owner, const struct station_answer *answer)
{
    struct stream *self = owner;
    self->asking_stats = false;
    if (self->stopped || !answer->json || answer->status >= ZERO_STATUS_ERROR_FLAG)
        return;
    json_t *data = json_names (JSON_ANSWER, answer->json);
    json_object_del (data, "histograms");
    ring_add_event (self, RING_STATS, "stats", data, NULL);
}

static void on_tick (void *owner)
{
    static const struct question question = {.command = "stats", .deadline_ms = TICK_MS};
    struct stream *self = owner;
    timer_set (&self->tick, self->server->reactor, TICK_MS);
    select_events (self);
    if (self->grown_us && clock_mono_us () - self->grown_us >= SELECTION_DELAY_US) {
        self->grown_us = 0;
        add_reload_event (self);
    }
    if (clock_mono_us () - self->read_us >= READ_EVERY_US)
        read_history (self);
    if (self->wanted[RING_STATS] && !self->asking_stats) {
        self->asking_stats = true;
        gateway_ask (self->server->gateway, &question, on_stats, self);
    }
    for (struct follower *at = self->first; at; at = at->next)
        follower_tick (at);
}

// -- life of the stream

struct stream *stream_new (struct server *server, struct reason *reason)
{
    struct stream *self = memory_new (sizeof *self);
    self->server = server;
    self->source = (struct source){.call = on_events, .owner = self};
    self->read_timer = (struct timer){.call = read_history, .owner = self};
    self->tick = (struct timer){.call = on_tick, .owner = self};
    self->events = open_events (server->settings, reason);
    if (!self->events) {
        stream_destroy (&self);
        return NULL;
    }
    zplan_events_select (self->events, 0);
    source_set (&self->source, server->reactor, zplan_events_fd (self->events), EPOLLIN);
    timer_set (&self->tick, server->reactor, TICK_MS);
    return self;
}

void stream_stop (struct stream *self)
{
    self->stopped = true;
    for (struct follower *at = self->first; at; at = at->next)
        at->ending = true;
    wake_followers (self);
}

void stream_destroy (struct stream **self_p)
{
    struct stream *self = *self_p;
    if (!self)
        return;
    source_end (&self->source);
    timer_end (&self->read_timer);
    timer_end (&self->tick);
    zplan_events_destroy (&self->events);
    ring_reset (&self->ring, "", 0);
    free (self);
    *self_p = NULL;
}

const char *stream_state (const struct stream *self)
{
    return self->down ? "down" : "up";
}

void stream_join (struct stream *self, struct follower *follower)
{
    if (!self->first)
        self->known = false; // the ring may be outdated, as there was no follower
    follower->next = self->first;
    self->first = follower;
    for (size_t i = 0; i < STREAM_KINDS; i++)
        self->wanted[i] += follower->wants >> i & 1;
    select_events (self);
    read_history (self);
}

void stream_leave (struct stream *self, struct follower *follower)
{
    struct follower **at = &self->first;
    while (*at && *at != follower)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = follower->next;
    for (size_t i = 0; i < STREAM_KINDS; i++)
        self->wanted[i] -= follower->wants >> i & 1;
}
