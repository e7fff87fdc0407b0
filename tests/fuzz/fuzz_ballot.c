// Votes: input is frames: the voters' names as JSON, then a name and an answer in turn. No count
// may exceed the one that contains it.
#include "ballot.h"
#include "fuzz.h"
#include "json.h"

enum { FRAMES = 64 };

static void check_tally (const struct ballot *ballot)
{
    struct vote_tally tally = ballot_tally (ballot, POLL_VOTE);
    HOLDS (tally.in_favour <= tally.voted && tally.voted <= ballot->count);
    HOLDS (ballot->count <= VOTERS_MAX && tally.voters == ballot->count + ballot->others);
    for (size_t i = 0; i < ballot->count; i++)
        HOLDS (ballot_name_valid (span_text (ballot->at[i].name)));
}

static void vote (struct ballot *ballot, struct span name, struct span bytes)
{
    uint8_t status = bytes.size ? bytes.data[0] : 0;
    if (ballot_cast (ballot, name, ballot_in_favour (status), bytes.size))
        HOLDS (ballot_name_valid (name));
    size_t all = 0;
    for (size_t i = 0; i < ballot->count; i++)
        all += ballot->at[i].bytes;
    HOLDS (all == ballot->bytes);
}

static void recall (struct ballot *ballot, struct span name, struct span text)
{
    struct reason reason;
    json_t *frames = json_read_array (text, &reason);
    if (frames)
        ballot_restore (ballot, name, frames, (enum dialect) (text.size % DIALECTS));
    json_decref (frames);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span frames[FRAMES];
    struct ballot *ballot = ballot_new ();
    uint8_t kinds = feed_byte (&feed);
    size_t count = feed_frames (&feed, frames, FRAMES);
    if (count && kinds & 1)
        ballot_open (ballot, frames[0]);
    check_tally (ballot);
    for (size_t i = 1; i + 1 < count; i += 2) {
        if (kinds & 2)
            recall (ballot, frames[i], frames[i + 1]);
        else
            vote (ballot, frames[i], frames[i + 1]);
        check_tally (ballot);
    }
    ballot_destroy (&ballot);
    feed_free (&feed);
    return 0;
}
