#include "desc.h"

#include <assert.h>

#include "codes.h"

enum { TAG_FIRST = 0xFE }; // after the types only END and bytes from this one on are allowed

// Frame types that may occur only once: a bit for each. Of several duplicates, the one with the
// lowest bit is reported.
static const uint8_t once_only[256] = {
    [ZERO_FRAME_GLOBAL_ID] = 1, [ZERO_FRAME_STATION_ID] = 2, [ZERO_FRAME_REQUEST_ID] = 4,
    [ZERO_FRAME_REQUESTER] = 8, [ZERO_FRAME_PLAN] = 16,      [ZERO_FRAME_COMMAND] = 32};

bool desc_fits (struct span frame, size_t following)
{
    return following <= DESC_FRAMES_MAX && frame.size >= following + 2 &&
           frame.data[0] == following;
}

static void report_duplicate (struct span types, unsigned doubled, struct reason *reason)
{
    size_t i = 0;
    while (once_only[types.data[i]] != (doubled & -doubled))
        i++;
    reason_set (reason, "%s: may occur only once", frame_name (types.data[i]));
}

int desc_parse (struct span frame, size_t following, struct desc *ret, struct reason *reason)
{
    if (!desc_fits (frame, following))
        return reason_error (reason, ZPLAN_EFRAME,
                             "description: does not match the %zu frames after it", following);
    for (size_t i = following + 2; i < frame.size; i++) {
        if (frame.data[i] != ZERO_FRAME_END && frame.data[i] < TAG_FIRST)
            return reason_error (reason, ZPLAN_EFRAME, "description: byte %zu is not END", i);
    }
    struct span types = span_of (frame.data + 2, following);
    unsigned seen = 0, doubled = 0;
    for (size_t i = 0; i < types.size; i++) {
        unsigned once = once_only[types.data[i]];
        doubled |= seen & once;
        seen |= once;
        if (types.data[i] == ZERO_FRAME_END)
            return reason_error (reason, ZPLAN_EFRAME, "frame %zu has the type END", i + 1);
    }
    if (doubled) {
        report_duplicate (types, doubled, reason);
        return ZPLAN_EFRAME;
    }
    ret->count = frame.data[0];
    ret->code = frame.data[1];
    memcpy (ret->types, types.data, types.size);
    return 0;
}

void desc_add (struct desc *self, uint8_t type)
{
    assert (self->count < DESC_FRAMES_MAX);
    self->types[self->count++] = type;
}

size_t desc_write (const struct desc *self, uint8_t out[DESC_SIZE_MAX])
{
    out[0] = self->count;
    out[1] = self->code;
    memcpy (out + 2, self->types, self->count);
    out[self->count + 2] = ZERO_FRAME_END;
    return (size_t)self->count + 3;
}
