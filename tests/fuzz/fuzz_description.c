// Description frames: input is the number of frames that follow, and the frame.
#include "desc.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    size_t following = feed_byte (&feed);
    struct span frame = feed_take (&feed, feed.left.size);
    struct reason reason = {""};
    struct desc desc = {0}, again;
    uint8_t out[DESC_SIZE_MAX];

    bool fits = desc_fits (frame, following);
    if (desc_parse (frame, following, &desc, &reason)) {
        check_reason (&reason);
    } else {
        HOLDS (fits && desc.count == following && desc.count <= DESC_FRAMES_MAX);
        size_t written = desc_write (&desc, out);
        HOLDS (written == following + 3 && memcmp (out, frame.data, following + 2) == 0);
        HOLDS (desc_parse (span_of (out, written), following, &again, &reason) == 0);
        HOLDS (again.count == desc.count && again.code == desc.code &&
               memcmp (again.types, desc.types, desc.count) == 0);
    }
    feed_free (&feed);
    return 0;
}
