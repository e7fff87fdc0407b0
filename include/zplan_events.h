// Receive the events of plans and flow runs that a station publishes on its events socket. Events
// are not stored: a missed event is lost, but the number of missed events is known. `list` shows
// the current state.
#ifndef ZPLAN_EVENTS_H
#define ZPLAN_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "zplan_codes.h"
#include "zplan_error.h"
#include "zplan_frame.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ZPLAN_EVENTS_UNKNOWN = -1, ZPLAN_EVENTS_ALL = -1 };

// An event. Its bytes belong to the listener and are valid until its next zplan_events_recv or its
// end.
struct zplan_event {
    int code;            // enum zplan_event_code
    const void *station; // the plan's target; for ZPLAN_EVENT_FLOW the flow
    size_t station_size;
    const void *id; // the plan's id, hex digits; for ZPLAN_EVENT_FLOW the flow plan's id
    size_t id_size;
    const void *state; // JSON: the current plan, or that of the run; and the other data
    size_t state_size;
    int64_t seq;       // number of the event since the station started; 0 = none
    const char *epoch; // the epoch that `seq` belongs to; "" = none
    // Events missed between the previous one and this one. ZPLAN_EVENTS_UNKNOWN: the station was
    // restarted in between. 0 while only some events are selected, and for the first event after a
    // change.
    int64_t missed;
};

struct zplan_events;

// Receive the events that a station publishes at `endpoint`, from the time of the connection on.
// NULL and errno as zplan_client_new. Destroy it with zplan_events_destroy. `endpoint` may be a
// list of the events endpoints of several stations on one database, as in zplan_client_new:
// standbys publish nothing. After a takeover the events have another epoch.
struct zplan_events *zplan_events_new (const char *endpoint);

// As zplan_events_new, with CURVE: see zplan_client_new_curve.
struct zplan_events *zplan_events_new_curve (const char *endpoint, const struct zplan_curve *curve);

// Destroys the listener and sets the pointer to NULL; NULL is allowed.
void zplan_events_destroy (struct zplan_events **events);

// Wait for the next event; timeout and return as zplan_subscriber_recv. Messages that are not
// events are ignored.
int zplan_events_recv (struct zplan_events *events, int64_t timeout_ms, struct zplan_event *ret);

// Which events are received from now on: a set of 1 << enum zplan_event_code, ZPLAN_EVENTS_ALL as
// from the beginning, or 0. The station sends no others. Events that it sent before may still
// arrive. A change costs up to 20 small messages, and a station closes a connection that has sent
// 1,000: then a few events are missed. ZPLAN_OK or ZPLAN_ERROR_ARGUMENT.
int zplan_events_select (struct zplan_events *events, int codes);

// A descriptor for your own event loop, as zplan_subscriber_fd.
int zplan_events_fd (const struct zplan_events *events);

#ifdef __cplusplus
}
#endif

#endif
