// A stretch is a period without a clock change. In it local times and instants ascend together, so
// the rule is searched stretch by stretch. Only zone_instants decides on times in gaps and times
// that occur in two stretches; the times that it rejects are skipped in one step, not one by one.
#include "wall.h"

#include "schedule.h"

enum { OFFSETS_APART = 2 * ZONE_OFFSET_MAX }; // most seconds between two instants of a local time

// Make the stretch that contains the instant the present one.
static void set_stretch_at (struct wall *self, int64_t instant)
{
    if (instant < self->stretch.begin || instant >= self->stretch.end)
        self->stretch = zone_stretch (self->zone, instant);
}

// Whether the local time occurs in the stretch.
static bool stretch_has (const struct zone_stretch *stretch, int64_t local)
{
    int64_t instant = local - stretch->offset;
    return instant >= stretch->begin && instant < stretch->end;
}

// Whether the search returns the instant that the local time has in the present stretch: if it has
// other instants, the overlap rule selects one.
static bool is_selected_local (const struct wall *self, int64_t local)
{
    int64_t instant = local - self->stretch.offset;
    bool is_unique = instant - self->stretch.begin > OFFSETS_APART &&
                     self->stretch.end - instant > OFFSETS_APART;
    if (is_unique || self->overlap == ZONE_OVERLAP_BOTH)
        return true;
    int64_t instants[2];
    zone_instants (self->zone, local, self->gap, self->overlap, instants);
    return instants[0] == instant;
}

// The neighbouring stretch whose instants the overlap rule selects, for local times that occur in
// both.
static struct zone_stretch overlapping_stretch (const struct wall *self)
{
    bool earlier = self->overlap == ZONE_OVERLAP_FIRST;
    return zone_stretch (self->zone, earlier ? self->stretch.begin - 1 : self->stretch.end);
}

// The instant of the rule in the present stretch that is nearest to this local time. False: none.
static bool stretch_find (const struct wall *self, int64_t local, enum wall_step step, int64_t *ret)
{
    int64_t begin = self->stretch.begin + self->stretch.offset;
    int64_t end = self->stretch.end + self->stretch.offset;
    for (;;) {
        local = self->rule.find (self->rule.self, local, step);
        if (local < begin || local >= end)
            return false;
        if (is_selected_local (self, local))
            break;
        struct zone_stretch other = overlapping_stretch (self);
        if (stretch_has (&other, local))
            local = (step == WALL_AHEAD ? other.end : other.begin - 1) + other.offset;
        else
            local += step;
    }
    *ret = local - self->stretch.offset;
    return true;
}

// Whether the gap before the present stretch contains a time of the rule, which is shifted to the
// first instant of the stretch.
static bool begins_with_shifted (const struct wall *self)
{
    const struct zone_stretch *stretch = &self->stretch;
    if (self->gap != ZONE_GAP_SHIFT || stretch->begin < 0)
        return false;
    int64_t local = stretch->begin + zone_offset (self->zone, stretch->begin - 1);
    for (;; local++) {
        local = self->rule.find (self->rule.self, local, WALL_AHEAD);
        if (local >= stretch->begin + stretch->offset)
            return false;
        // The local time may exist in another stretch, and is not shifted then.
        int64_t instants[2];
        zone_instants (self->zone, local, ZONE_GAP_SHIFT, ZONE_OVERLAP_FIRST, instants);
        if (instants[0] == stretch->begin)
            return true;
    }
}

bool wall_next (struct wall *self, int64_t from, int64_t *ret)
{
    for (int stretches = 0; from <= SCHEDULE_TIME_MAX && stretches < WALL_STRETCHES_MAX;
         stretches++) {
        set_stretch_at (self, from);
        int64_t found = from;
        bool shifted = from == self->stretch.begin && begins_with_shifted (self);
        if (shifted || stretch_find (self, from + self->stretch.offset, WALL_AHEAD, &found)) {
            if (found > SCHEDULE_TIME_MAX)
                return false;
            *ret = found;
            return true;
        }
        from = self->stretch.end;
        if (from > SCHEDULE_TIME_MAX)
            return false;
        // A shortcut for rules with rare times: whatever the offset, no instant lies before this
        // one.
        int64_t local = self->rule.find (self->rule.self, from - ZONE_OFFSET_MAX, WALL_AHEAD);
        if (local - ZONE_OFFSET_MAX > from)
            from = local - ZONE_OFFSET_MAX;
    }
    return false;
}

bool wall_previous (struct wall *self, int64_t before, int64_t *ret)
{
    int64_t at = before > SCHEDULE_TIME_MAX ? SCHEDULE_TIME_MAX : before - 1;
    for (int stretches = 0; at >= 0 && stretches < WALL_STRETCHES_MAX; stretches++) {
        set_stretch_at (self, at);
        int64_t found = self->stretch.begin;
        if (stretch_find (self, at + self->stretch.offset, WALL_BACK, &found) ||
            begins_with_shifted (self)) {
            if (found < 0)
                return false;
            *ret = found;
            return true;
        }
        at = self->stretch.begin - 1;
        if (at < 0)
            return false;
        int64_t local = self->rule.find (self->rule.self, at + ZONE_OFFSET_MAX, WALL_BACK);
        if (local == INT64_MIN)
            return false;
        if (local + ZONE_OFFSET_MAX < at)
            at = local + ZONE_OFFSET_MAX;
    }
    return false;
}
