// Events as the station publishes them: [plan.EVENT.STATION][description][plan id][state JSON].
// Within an epoch each number is one more than the previous one, so missed events are counted
// while all events are subscribed to.
#include "zplan_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "codes.h"
#include "gap.h"
#include "json.h"
#include "listener.h"

enum { MESSAGES_A_TURN = 64, TITLE_MAX = 128 };

static const char title_start[] = "plan.";

struct zplan_events {
    struct listener listener; // its packet is the last event
    int codes;                // bit mask of the selected events
    int64_t last;             // seq of the last event; 0 = none yet
    char epoch[EPOCH_SIZE];   // epoch of the last event
};

static struct zplan_events *events_new (const char *endpoint, const struct keys *keys)
{
    struct zplan_events *self = calloc (1, sizeof *self);
    if (!self)
        return NULL;
    if (listener_open (&self->listener, endpoint, "", keys))
        zplan_events_destroy (&self);
    else
        self->codes = ZPLAN_EVENTS_ALL;
    return self;
}

struct zplan_events *zplan_events_new (const char *endpoint)
{
    return events_new (endpoint, &(struct keys){0});
}

struct zplan_events *zplan_events_new_curve (const char *endpoint, const struct zplan_curve *curve)
{
    struct keys keys = {0};
    return keys_copy (&keys, curve) ? NULL : events_new (endpoint, &keys);
}

void zplan_events_destroy (struct zplan_events **events)
{
    if (!events || !*events)
        return;
    struct zplan_events *self = *events;
    int error = errno;
    listener_close (&self->listener);
    free (self);
    *events = NULL;
    errno = error;
}

// The target's name in the title, after the second dot; NULL: not the title of an event.
static const uint8_t *target_in_title (struct span title)
{
    size_t skip = sizeof title_start - 1;
    if (title.size <= skip || title.size > TITLE_MAX || memcmp (title.data, title_start, skip) != 0)
        return NULL;
    const uint8_t *dot = memchr (title.data + skip, '.', title.size - skip);
    return dot ? dot + 1 : NULL;
}

static bool read_event (const struct packet *packet, struct zplan_event *ret)
{
    enum { FRAMES = 4 };
    struct desc desc;
    struct reason reason;
    const struct span *frames = packet->frames;
    if (packet->fault || packet->count < FRAMES ||
        desc_parse (frames[1], packet->count - 2, &desc, &reason) ||
        desc.types[0] != ZERO_FRAME_SUBTITLE || desc.types[1] != ZERO_FRAME_CONTEXT)
        return false;
    const uint8_t *station = target_in_title (frames[0]);
    if (!station)
        return false;
    *ret = (struct zplan_event){.code = desc.code,
                                .station = station,
                                .station_size = frames[0].size - (size_t)(station - frames[0].data),
                                .id = frames[2].data,
                                .id_size = frames[2].size,
                                .state = frames[3].data,
                                .state_size = frames[3].size};
    return true;
}

// Set the number of the event, and how many were missed before it.
static void number_event (struct zplan_events *self, struct zplan_event *event)
{
    struct reason reason;
    json_t *state = json_read_object (span_of (event->state, event->state_size), &reason);
    const char *text = json_string_value (json_object_get (state, "epoch"));
    char epoch[EPOCH_SIZE];
    snprintf (epoch, sizeof epoch, "%s", text ? text : "");
    json_get_integer (state, "seq", 1, INT64_MAX, &event->seq);
    json_decref (state);
    event->epoch = event->seq ? self->epoch : "";
    if (!event->seq)
        return;
    if (self->last && self->codes == ZPLAN_EVENTS_ALL) {
        bool restarted = strcmp (epoch, self->epoch) != 0 || event->seq <= self->last;
        event->missed = restarted ? ZPLAN_EVENTS_UNKNOWN : event->seq - self->last - 1;
    }
    self->last = event->seq;
    memcpy (self->epoch, epoch, sizeof self->epoch);
}

static bool receive_event (struct zplan_events *self, struct zplan_event *ret)
{
    struct zplan_event event;
    for (int i = 0; i < MESSAGES_A_TURN; i++) {
        struct packet *packet = &self->listener.packet;
        packet_clear (packet);
        if (!packet_recv (packet, self->listener.socket, &packet_of_stations))
            return false;
        if (read_event (packet, &event)) {
            number_event (self, &event);
            *ret = event;
            return true;
        }
    }
    return false;
}

int zplan_events_recv (struct zplan_events *events, int64_t timeout_ms, struct zplan_event *ret)
{
    if (!events || !ret)
        return ZPLAN_ERROR_ARGUMENT;
    int64_t start_us = clock_mono_us ();
    for (;;) {
        bool received = receive_event (events, ret);
        readiness_update (&events->listener.ready, READINESS_NEVER, true);
        if (received)
            return ZPLAN_OK;
        if (!listener_wait (&events->listener, start_us, timeout_ms))
            return ZPLAN_ERROR_NO_ANSWER;
    }
}

static void set_subscriptions (struct zplan_events *self, int option, int codes)
{
    char title[TITLE_MAX];
    if (codes == ZPLAN_EVENTS_ALL)
        zmq_setsockopt (self->listener.socket, option, "", 0);
    for (int code = 1; codes != ZPLAN_EVENTS_ALL && code <= ZPLAN_EVENT_LAST; code++) {
        int size = snprintf (title, sizeof title, "%s%s.", title_start, event_word (code));
        if (codes >> code & 1)
            zmq_setsockopt (self->listener.socket, option, title, (size_t)size);
    }
}

int zplan_events_select (struct zplan_events *events, int codes)
{
    if (!events)
        return ZPLAN_ERROR_ARGUMENT;
    if (codes == events->codes)
        return ZPLAN_OK;
    // Subscribe first, so that no event selected both before and now is missed.
    set_subscriptions (events, ZMQ_SUBSCRIBE, codes);
    set_subscriptions (events, ZMQ_UNSUBSCRIBE, events->codes);
    events->codes = codes;
    events->last = 0;
    return ZPLAN_OK;
}

int zplan_events_fd (const struct zplan_events *events)
{
    return events ? events->listener.ready.epoll_fd : -1;
}
