// The table of transitions applies up to its last entry, and after it the rule of the footer. The
// counts in the file are checked against its size before anything is read or allocated.
#include "zone.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tzrule.h"
#include "nearest.h"

enum {
    HEADER_SIZE = 44,
    TYPE_SIZE = 6,
    TYPES_MAX = 256, // a transition has the number of its type in one byte
    FOOTER_MAX = 256
};

// No instant is more seconds from 1970 than this: some 280,000 years.
#define INSTANT_MAX (INT64_C (1) << 43)

struct zone {
    int64_t *times;             // transitions, ascending; NULL when there are none
    uint8_t *types;             // the number of the local time type from each transition on
    size_t count;               // number of transitions
    int32_t offsets[TYPES_MAX]; // offset of each local time type, seconds east of UTC
    struct tzrule rule;         // valid if has_rule
    bool has_rule;
};

// A data block: the counts of its header, and where its parts are.
struct block {
    uint32_t utc_count, standard_count, leap_count, time_count, type_count, char_count;
    uint8_t version;
    size_t time_size;     // bytes of a time: 4 or 8
    const uint8_t *times; // then the type numbers, then the types
    struct span rest;     // what follows the block
};

// Set the reason. Returns -1.
static int reject_file (struct reason *reason, const char *what)
{
    return reason_set (reason, "not a time zone file: %s", what);
}

static uint32_t read_u32 (const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int64_t read_time (const uint8_t *at, size_t size)
{
    if (size == 4)
        return (int32_t)read_u32 (at);
    return (int64_t)((uint64_t)read_u32 (at) << 32 | read_u32 (at + 4));
}

// Find the parts of the block at the start of `bytes`; its content is not checked.
static int block_open (struct span bytes, size_t time_size, struct block *ret,
                       struct reason *reason)
{
    if (bytes.size < HEADER_SIZE || memcmp (bytes.data, "TZif", 4) != 0)
        return reject_file (reason, "no header");
    const uint8_t *counts = bytes.data + 20;
    struct block block = {
        .utc_count = read_u32 (counts),
        .standard_count = read_u32 (counts + 4),
        .leap_count = read_u32 (counts + 8),
        .time_count = read_u32 (counts + 12),
        .type_count = read_u32 (counts + 16),
        .char_count = read_u32 (counts + 20),
        .version = bytes.data[4],
        .time_size = time_size,
        .times = bytes.data + HEADER_SIZE,
    };
    // 32-bit counts times a few bytes cannot overflow 64 bits.
    uint64_t size = (uint64_t)block.time_count * (time_size + 1) +
                    (uint64_t)block.type_count * TYPE_SIZE + block.char_count +
                    (uint64_t)block.leap_count * (time_size + 4) + block.standard_count +
                    block.utc_count;
    if (size > bytes.size - HEADER_SIZE)
        return reject_file (reason, "it is cut short");
    size_t end = HEADER_SIZE + (size_t)size;
    block.rest = span_of (bytes.data + end, bytes.size - end);
    *ret = block;
    return 0;
}

static int read_types (struct zone *self, const struct block *block, struct reason *reason)
{
    if (block->type_count == 0 || block->type_count > TYPES_MAX)
        return reject_file (reason, "the number of local time types is not 1..256");
    const uint8_t *at = block->times + (size_t)block->time_count * (block->time_size + 1);
    for (size_t i = 0; i < block->type_count; i++, at += TYPE_SIZE) {
        int32_t offset = (int32_t)read_u32 (at);
        if (offset < -ZONE_OFFSET_MAX || offset > ZONE_OFFSET_MAX)
            return reject_file (reason, "an offset from UTC of more than 26 hours");
        self->offsets[i] = offset;
    }
    return 0;
}

static int read_transitions (struct zone *self, const struct block *block, struct reason *reason)
{
    if (block->time_count == 0)
        return 0;
    self->count = block->time_count;
    self->times = calloc (self->count, sizeof *self->times);
    self->types = calloc (self->count, 1);
    if (!self->times || !self->types)
        return reason_set (reason, "not read: out of memory");
    const uint8_t *types = block->times + self->count * block->time_size;
    for (size_t i = 0; i < self->count; i++) {
        self->times[i] = read_time (block->times + i * block->time_size, block->time_size);
        self->types[i] = types[i];
        if (i > 0 && self->times[i] <= self->times[i - 1])
            return reject_file (reason, "its transitions are not ascending");
        if (self->types[i] >= block->type_count)
            return reject_file (reason, "a transition to a local time type that does not exist");
    }
    return 0;
}

// Read the footer: a newline, the TZ string, which may be empty, and a newline.
static int read_footer (struct zone *self, struct span bytes, struct reason *reason)
{
    if (bytes.size < 2 || bytes.data[0] != '\n')
        return reject_file (reason, "no footer");
    struct span text = span_of (bytes.data + 1, bytes.size - 1);
    size_t window = text.size < FOOTER_MAX ? text.size : FOOTER_MAX;
    const uint8_t *newline = memchr (text.data, '\n', window);
    if (!newline)
        return reject_file (reason, "its footer does not end");
    text.size = (size_t)(newline - text.data);
    if (text.size == 0)
        return 0;
    if (!tzrule_parse (text, &self->rule))
        return reason_set (reason, "not a time zone file: footer %s is no TZ string",
                           quoted (text));
    self->has_rule = true;
    return 0;
}

static int zone_read (struct zone *self, struct span tzif, struct reason *reason)
{
    struct block block;
    if (block_open (tzif, 4, &block, reason))
        return -1;
    bool has_footer = block.version >= '2';
    if (!has_footer && block.version != 0)
        return reject_file (reason, "an unknown version");
    // From version 2 on the first block is for old readers, the second has 64-bit times.
    if (has_footer && block_open (block.rest, 8, &block, reason))
        return -1;
    // The instants of such a zone count leap seconds; those of a schedule are POSIX time.
    if (block.leap_count > 0)
        return reject_file (reason, "one with leap seconds (\"right/\") is not supported");
    if (read_types (self, &block, reason) || read_transitions (self, &block, reason))
        return -1;
    return has_footer ? read_footer (self, block.rest, reason) : 0;
}

struct zone *zone_new (struct span tzif, struct reason *reason)
{
    struct zone *self = zone_new_utc ();
    if (!self)
        reason_set (reason, "not read: out of memory");
    else if (zone_read (self, tzif, reason))
        zone_destroy (&self);
    return self;
}

struct zone *zone_new_utc (void)
{
    return calloc (1, sizeof (struct zone)); // no transitions, one type: offset 0
}

void zone_destroy (struct zone **self)
{
    if (!*self)
        return;
    free ((*self)->times);
    free ((*self)->types);
    free (*self);
    *self = NULL;
}

// How many transitions of the table are at or before this instant.
static size_t transitions_until (const struct zone *self, int64_t instant)
{
    size_t low = 0, high = self->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->times[middle] <= instant)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t clamp_instant (int64_t instant)
{
    if (instant < -INSTANT_MAX)
        return -INSTANT_MAX;
    return instant > INSTANT_MAX ? INSTANT_MAX : instant;
}

struct zone_stretch zone_stretch (const struct zone *self, int64_t instant)
{
    assert (instant >= -INSTANT_MAX && instant <= INSTANT_MAX);
    size_t passed = transitions_until (self, instant);
    int64_t begin = passed > 0 ? self->times[passed - 1] : INT64_MIN;
    int64_t end = passed < self->count ? self->times[passed] : INT64_MAX;
    if (passed == self->count && self->has_rule) {
        struct tzrule_stretch rule = tzrule_stretch (&self->rule, instant);
        return (struct zone_stretch){clamp_instant (rule.begin > begin ? rule.begin : begin),
                                     clamp_instant (rule.end), rule.offset};
    }
    return (struct zone_stretch){clamp_instant (begin), clamp_instant (end),
                                 self->offsets[passed > 0 ? self->types[passed - 1] : 0]};
}

int32_t zone_offset (const struct zone *self, int64_t instant)
{
    return zone_stretch (self, instant).offset;
}

// A stretch contains the local time at most once. All stretches that can contain it are tried in
// order: those within the greatest offset around it. Their number is bounded: the table is finite,
// and a rule has at most four transitions a year.
size_t zone_instants (const struct zone *self, int64_t local, enum zone_gap gap,
                      enum zone_overlap overlap, int64_t ret[2])
{
    assert (local >= -INSTANT_MAX / 2 && local <= INSTANT_MAX / 2);
    struct zone_stretch stretch = zone_stretch (self, local - ZONE_OFFSET_MAX - 1);
    int64_t found[2];
    size_t count = 0;
    int64_t after_gap = INT64_MAX;
    bool ahead = false; // at the end of the previous stretch, the clock had not reached `local`
    for (;;) {
        int64_t instant = local - stretch.offset;
        // In this stretch the clock is already past `local`: it lies in the gap.
        if (after_gap == INT64_MAX && ahead && instant < stretch.begin)
            after_gap = stretch.begin;
        if (instant >= stretch.begin && instant < stretch.end) {
            found[count > 0] = instant;
            count = count > 0 ? 2 : 1;
        }
        if ((count > 0 && overlap == ZONE_OVERLAP_FIRST) || stretch.end > local + ZONE_OFFSET_MAX)
            break;
        ahead = instant >= stretch.end;
        stretch = zone_stretch (self, stretch.end);
    }
    if (count == 0) {
        assert (after_gap != INT64_MAX);
        ret[0] = after_gap;
        return gap == ZONE_GAP_SHIFT;
    }
    if (count == 2 && overlap == ZONE_OVERLAP_BOTH)
        ret[1] = found[1];
    ret[0] = overlap == ZONE_OVERLAP_LAST ? found[count - 1] : found[0];
    return overlap == ZONE_OVERLAP_BOTH ? count : 1;
}

int64_t zone_instant (const struct zone *self, int64_t local)
{
    int64_t instants[2];
    zone_instants (self, local, ZONE_GAP_SHIFT, ZONE_OVERLAP_FIRST, instants);
    return instants[0];
}

static const char *const gap_names[] = {[ZONE_GAP_SHIFT] = "shift", [ZONE_GAP_SKIP] = "skip"};
static const char *const overlap_names[] = {
    [ZONE_OVERLAP_FIRST] = "first", [ZONE_OVERLAP_LAST] = "last", [ZONE_OVERLAP_BOTH] = "both"};

enum {
    GAPS = sizeof gap_names / sizeof *gap_names,
    OVERLAPS = sizeof overlap_names / sizeof *overlap_names
};

int zone_gap_parse (const char *name)
{
    return word_index (gap_names, GAPS, name);
}

int zone_overlap_parse (const char *name)
{
    return word_index (overlap_names, OVERLAPS, name);
}
