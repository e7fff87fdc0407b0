// Publishes results and events. Source: plan document 3.5; proto 8; for the dialect microzero the
// layout that MicroZero's own monitor reads.
#pragma once

#include "station_state.h"
#include "zplan_codes.h"

// Track the subscriptions of a socket, as no message is built without a subscriber. Call it as soon
// as the socket is bound.
void publish_watch (struct station *self, struct publisher *publisher, const char *endpoint);

// Close the socket; does nothing if it is closed already.
void publish_close (struct publisher *publisher);

// Whether results (events) have subscribers: only then their JSON is needed.
bool publish_has_result_subscribers (const struct station *self);
bool publish_has_event_subscribers (const struct station *self);

struct publication {
    struct span title; // the plan's description
    uint8_t status;
    uint64_t plan_id;
    const char *json;          // the plan, with seq and epoch; NULL without subscribers
    const struct desc *desc;   // description of the result
    const struct span *frames; // its desc->count frames
};

// [title][desc][plan id][plan JSON][result frames...]. At most BROADCAST_FRAMES_MAX result frames
// are sent; the others are omitted, and are in plan:work as long as the plan exists. In the dialect
// microzero nothing is sent: there the event of the result carries the result.
void publish_result (struct station *self, const struct publication *publication);

struct notice {
    enum zplan_event_code event;
    uint64_t plan_id;    // for ZPLAN_EVENT_FLOW the flow plan
    struct span station; // for ZPLAN_EVENT_FLOW the flow
    struct span title;
    const char *json;    // the plan's public JSON, an object with at least one field; NULL
                         // without subscribers (publish_has_event_subscribers)
    struct span command; // for ZPLAN_EVENT_ADD the command to send, empty = none
    // Only for ZPLAN_EVENT_RESULT:
    int64_t result_seq;        // seq of the broadcast, 0 = there was none
    uint8_t status;            // status of the ended run
    const struct desc *desc;   // description of the target's answer
    const struct span *frames; // the answer's description, then its frames; NULL = no answer
};

// [plan.EVENT.STATION][desc][plan id][state JSON]: the plan with seq and epoch of the events. An
// event without subscribers takes a sequence number too.
void publish_event (struct station *self, const struct notice *notice);

// The plan with all fields, as MicroZero's monitor reads them (proto 8.3, ADD). Returns a new
// object.
json_t *publish_monitor_plan (struct station *self, const struct plan *plan, struct span command);

// Publish the event that a new plan was stored.
void publish_added (struct station *self, const struct plan *plan);
