// What admin commands do to a plan. Pure: each command changes the plan and returns its place in
// the queue; the station stores it if the stored revision is unchanged. Source: proto 9.2. States
// are compared with sets, never by order.
#pragma once

#include "misses.h"

enum manage_command {
    MANAGE_PAUSE,
    MANAGE_RESET,
    MANAGE_AT_ONCE, // as MANAGE_RESET, for a callback or flow: also while it waits for a retry
    MANAGE_CLOSE,
    MANAGE_SKIP,
    MANAGE_RUN,
    MANAGE_UPDATE,
    MANAGE_DONE,
    MANAGE_COMMANDS
};

struct manage_request {
    enum manage_command command;
    bool running;                     // a run of the plan is in flight
    int64_t count;                    // MANAGE_SKIP: occurrences, at least 1
    const struct plan_fields *fields; // MANAGE_UPDATE: the complete new plan
    struct span who;                  // the requester; empty = not known
    struct span remark;               // MANAGE_DONE: the operator's remark, UTF-8; may be empty
    struct span with;                 // MANAGE_RUN: the input of a flow's run; may be empty
    const struct zone *zone;
    int64_t now;               // Unix seconds
    struct misses *ret_misses; // MANAGE_DONE: the skipped occurrences; NULL = not wanted
};

// The plan's place in the queue afterwards.
enum requeue {
    REQUEUE_KEEP, // unchanged
    REQUEUE_TIME, // at its plan_time
    REQUEUE_NOW,
    REQUEUE_LEASE, // at the end of a new lease: its run is in flight
    REQUEUE_OUT    // not in the queue
};

// Change the plan, and return its place in the queue. 0; or ZPLAN_EARGUMENT with a reason, if its
// state or the arguments do not allow it.
int engine_handle_command (struct plan *plan, const struct manage_request *request,
                           enum requeue *ret, struct reason *reason);
