// The result broadcast. Source: plan document 3.5; contract chapter 7.
#pragma once

#include "core.h"

struct publication {
    struct span title; // the plan's description
    uint8_t status;
    uint64_t plan_id;
    const char *json;          // the plan, with seq and epoch
    const struct desc *desc;   // of the result
    const struct span *frames; // of the result, desc->count of them
};

// [title][desc][plan id][plan JSON][result frames...]. At most BROADCAST_FRAMES_MAX result frames
// have room; the rest is left out, and is in plan:work as long as the plan is there.
void publish_result (struct station *self, const struct publication *publication);
