// What happens to plans, as a station tells it on its events socket. Events are kept nowhere: what
// did not come is lost, and how many that were is told. `list` says how things stand.
#ifndef ZPLAN_EVENTS_H
#define ZPLAN_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "zplan_error.h"
#include "zplan_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum zplan_event_code {
    ZPLAN_EVENT_ADD = 1,
    ZPLAN_EVENT_UPDATE = 2,
    ZPLAN_EVENT_QUEUE = 3,
    ZPLAN_EVENT_EXEC = 4,
    ZPLAN_EVENT_RESULT = 5,
    ZPLAN_EVENT_PAUSE = 6,
    ZPLAN_EVENT_END = 7,
    ZPLAN_EVENT_REMOVE = 8
};

enum { ZPLAN_EVENTS_UNKNOWN = -1 };

// An event. Its bytes belong to the listener and last until its next zplan_events_recv or its end.
struct zplan_event {
    int code;            // enum zplan_event_code
    const void *station; // the plan's target
    size_t station_size;
    const void *id; // the plan's id, hex digits
    size_t id_size;
    const void *state; // JSON: the plan as it is now, and what else the event tells
    size_t state_size;
    int64_t seq;       // its number since the station started; 0 = it has none
    const char *epoch; // what `seq` belongs to; "" = it has none
    // Events that did not come, between the one before and this one. ZPLAN_EVENTS_UNKNOWN: the
    // station has started anew in between.
    int64_t missed;
};

struct zplan_events;

// Listen to the events that a station publishes at `endpoint`, from when the connection stands.
// NULL and errno as zplan_client_new. Give it back with zplan_events_destroy.
struct zplan_events *zplan_events_new (const char *endpoint);

// The same with CURVE, as zplan_client_new_curve.
struct zplan_events *zplan_events_new_curve (const char *endpoint, const struct zplan_curve *curve);

// Takes the listener away and sets the pointer to NULL; NULL is fine.
void zplan_events_destroy (struct zplan_events **events);

// Wait for the next event; time-out and return as zplan_subscriber_recv. What is no event is passed
// over.
int zplan_events_recv (struct zplan_events *events, int64_t timeout_ms, struct zplan_event *ret);

// A descriptor for one's own loop, as zplan_subscriber_fd.
int zplan_events_fd (const struct zplan_events *events);

#ifdef __cplusplus
}
#endif

#endif
