// What is published: results and events. Source: plan document 3.5; proto 8; for the
// dialect microzero the layout that its own monitor reads.
#pragma once

#include "station_state.h"
#include "zplan_codes.h"

// Track the subscriptions of a socket: nothing is built without a subscriber. Call it as soon as
// the socket is bound.
void publish_watch (struct station *self, struct outlet *outlet, const char *endpoint);

// Nothing happens when it is closed.
void publish_close (struct outlet *outlet);

// Whether results, and events, have subscribers: only then their JSON is needed.
bool publish_has_subscribers (const struct station *self);
bool publish_has_event_subscribers (const struct station *self);

struct publication {
    struct span title; // the plan's description
    uint8_t status;
    uint64_t plan_id;
    const char *json;          // the plan, with seq and epoch; NULL without subscribers
    const struct desc *desc;   // of the result
    const struct span *frames; // of the result, desc->count of them
};

// [title][desc][plan id][plan JSON][result frames...]. At most BROADCAST_FRAMES_MAX result frames
// have room; the rest is omitted, and is in plan:work as long as the plan is there. Nothing is sent
// in the dialect microzero: there the event of the result carries it.
void publish_result (struct station *self, const struct publication *publication);

struct notice {
    enum zplan_event_code event;
    uint64_t plan_id;    // ZPLAN_EVENT_FLOW: of the flow plan
    struct span station; // ZPLAN_EVENT_FLOW: the flow
    struct span title;
    const char *json;    // the plan's public JSON, an object with at least one field; NULL
                         // without subscribers (publish_has_event_subscribers)
    struct span command; // ZPLAN_EVENT_ADD: of what is to be sent, empty = none
    // Of ZPLAN_EVENT_RESULT:
    int64_t result_seq;        // of the broadcast, 0 = there was none
    uint8_t status;            // of the run
    const struct desc *desc;   // of the answer
    const struct span *frames; // the answer's description, then its frames; NULL = no answer
};

// [plan.EVENT.STATION][desc][plan id][state JSON]: the plan with seq and epoch of the events. An
// event without subscribers has its number as well.
void publish_event (struct station *self, const struct notice *notice);

// A plan with all fields, as MicroZero's monitor reads them (proto 8.3, ADD). A new object.
json_t *publish_monitor_plan (struct station *self, const struct plan *plan, struct span command);

// Publish that a new plan was stored, to who subscribes to events.
void publish_added (struct station *self, const struct plan *plan);
