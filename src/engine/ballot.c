#include "ballot.h"

#include <stdlib.h>

#include "codes.h"
#include "json.h"
#include "memory.h"

struct ballot *ballot_new (void)
{
    return memory_new (sizeof (struct ballot));
}

void ballot_destroy (struct ballot **self)
{
    if (*self)
        free ((*self)->at);
    free (*self);
    *self = NULL;
}

bool ballot_in_favour (uint8_t status)
{
    return status < ZERO_STATUS_ERROR_FLAG && status != ZERO_STATUS_VOTE_BYE_ID;
}

bool ballot_name_valid (struct span name)
{
    if (name.size < 1 || name.size > VOTER_NAME_MAX || memchr (name.data, 0, name.size))
        return false;
    json_t *text = json_stringn ((const char *)name.data, name.size);
    json_decref (text);
    return text != NULL;
}

// The voter of this name, added if needed; NULL: the name is invalid, or there are too many.
static struct voter *voter_for (struct ballot *self, struct span name)
{
    if (!ballot_name_valid (name))
        return NULL;
    for (size_t i = 0; i < self->count; i++)
        if (span_is (name, self->at[i].name))
            return &self->at[i];
    if (self->count == VOTERS_MAX)
        return NULL;
    self->at = memory_grow (self->at, self->count, &self->room, sizeof *self->at);
    struct voter *voter = &self->at[self->count++];
    *voter = (struct voter){0};
    memcpy (voter->name, name.data, name.size);
    return voter;
}

void ballot_open (struct ballot *self, struct span names)
{
    json_t *list = json_loadb ((const char *)names.data, names.size, 0, NULL);
    self->opened = true;
    self->count = self->others = self->bytes = 0;
    for (size_t i = 0; i < json_array_size (list); i++) {
        const json_t *name = json_array_get (list, i);
        struct span text = json_span (name);
        // Names beyond VOTERS_MAX are only counted.
        self->others += i >= VOTERS_MAX || !voter_for (self, text);
    }
    json_decref (list);
}

// Set the size of a voter's vote, and correct the sum.
static void set_vote_bytes (struct ballot *self, struct voter *voter, size_t bytes)
{
    self->bytes += bytes - voter->bytes;
    voter->bytes = bytes;
}

bool ballot_cast (struct ballot *self, struct span name, bool in_favour, size_t bytes)
{
    struct voter *voter = voter_for (self, name);
    if (!voter)
        return false;
    voter->voted = true;
    voter->in_favour = in_favour;
    set_vote_bytes (self, voter, bytes);
    return true;
}

void ballot_restore (struct ballot *self, struct span name, const json_t *frames,
                     enum dialect dialect)
{
    struct voter *voter = voter_for (self, name);
    uint8_t desc[64];
    size_t size = 0, bytes = 0;
    const json_t *first = json_array_get (frames, 0);
    self->opened = self->stored = true;
    if (!voter || !first)
        return;
    // A description is small, in text or in base64.
    const json_t *text = json_is_string (first) ? first : json_object_get (first, "b64");
    voter->voted =
        json_string_length (text) <= sizeof desc && json_to_frame (first, desc, &size) && size >= 2;
    voter->in_favour = voter->voted && ballot_in_favour (dialect_status_in (dialect, desc[1]));
    for (size_t i = 1; i < json_array_size (frames); i++)
        bytes += json_frame_size (json_array_get (frames, i));
    set_vote_bytes (self, voter, bytes);
}

struct vote_tally ballot_tally (const struct ballot *self, enum poll event)
{
    struct vote_tally tally = {.event = event,
                               .opened = self->opened,
                               .stored = self->stored,
                               .voters = self->count + self->others};
    for (size_t i = 0; i < self->count; i++) {
        tally.voted += self->at[i].voted;
        tally.in_favour += self->at[i].voted && self->at[i].in_favour;
    }
    return tally;
}
