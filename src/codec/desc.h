// The description frame: [count][code][type of each frame...][END]. It is the first frame of every
// message after its envelope. Source: plan document 3.1; proto 3.1.
#pragma once

#include "reason.h"
#include "span.h"

enum {
    DESC_FRAMES_MAX = 32, // hence '*' (42) is never the first byte of a description
    DESC_SIZE_MAX = DESC_FRAMES_MAX + 3
};

struct desc {
    uint8_t code;  // a command in a request, a status in a reply
    uint8_t count; // frames that follow
    uint8_t types[DESC_FRAMES_MAX];
};

// Whether this frame can be the description of a message with `following` more frames.
bool desc_fits (struct span frame, size_t following);

// Parse the description, and check every rule that needs no frame content. 0, or ZPLAN_EFRAME with
// the reason.
int desc_parse (struct span frame, size_t following, struct desc *ret, struct reason *reason);

// The index of the first frame of this type; `count`: there is none.
static inline size_t desc_find (const struct desc *self, uint8_t type)
{
    size_t at = 0;
    while (at < self->count && self->types[at] != type)
        at++;
    return at;
}

// Append a frame type. The caller keeps count below DESC_FRAMES_MAX.
void desc_add (struct desc *self, uint8_t type);

// Write the description, END included; returns the size.
size_t desc_write (const struct desc *self, uint8_t out[DESC_SIZE_MAX]);
