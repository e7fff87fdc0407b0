// Arguments of list, history and skip: input is a kind and frames.
#include "filters.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct request request = {0};
    uint8_t kind = feed_byte (&feed);
    request.arg_count = feed_frames (&feed, request.args, 2);
    int64_t number;
    if (kind % 4 == 0)
        fuzz_list (request.args[0], request.args[1]);
    else
        fuzz_history (&request);
    if (argument_number (request.args[0], -5, 500, &number))
        HOLDS (number >= -5 && number <= 500 && request.args[0].size);
    feed_free (&feed);
    return 0;
}
