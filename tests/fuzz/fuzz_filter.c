// Arguments of list, history and skip: input is a kind and frames.
#include "filters.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct arguments arguments = {0};
    uint8_t kind = feed_byte (&feed);
    arguments.count = feed_frames (&feed, arguments.at, 2);
    int64_t number;
    if (kind % 4 == 0)
        fuzz_list (arguments.at[0], arguments.at[1]);
    else
        fuzz_history (&arguments);
    if (argument_number (arguments.at[0], -5, 500, &number))
        HOLDS (number >= -5 && number <= 500 && arguments.at[0].size);
    feed_free (&feed);
    return 0;
}
