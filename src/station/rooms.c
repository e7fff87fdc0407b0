#include "rooms.h"

#include "clock.h"
#include "unresponsive.h"

enum {
    AWAY_ROOM = 64, // plans a claim of a target that is not connected: each is a failed send
    AWAY_PAUSE_US = 20000,
    BORN_US = 200000, // for its first connection
    AGAIN_US = 50000, // when plans are due that nobody takes: a time-out may make room
    MANY_PART = 3,    // of its room: so much is free that a claim is worth it
};

static int64_t room_of (struct station *self, const struct target *target, int64_t now_us)
{
    const struct target_load *load = target_load (target);
    if (target_connection (target))
        return unresponsive_room (self, target);
    return now_us >= load->pause_us && now_us >= load->born_us + BORN_US ? AWAY_ROOM : 0;
}

// Whether plans of it are due and wait for their turn.
static bool has_ready (struct station *self, const struct target *target)
{
    return store_ready (self->store, target_name (target)) > 0;
}

// Whether the target takes so many again that a claim is worth it. The others are under way
// meanwhile: at a half the target would run dry before the next plans come.
static bool takes_many (struct station *self, const struct target *target, int64_t now_us)
{
    int64_t most = response_credit (target_response (target), self->settings->limits.runs_target);
    int64_t room = room_of (self, target, now_us);
    return target_response (target)->unresponsive ? room > 0 : room * MANY_PART >= most;
}

size_t rooms_of (struct station *self, struct claim_target out[TARGETS_MAX])
{
    int64_t now_us = clock_mono_us ();
    for (size_t i = 0; i < self->target_count; i++) {
        struct target *target = self->targets[i];
        int64_t room = room_of (self, target, now_us);
        bool away = !target_connection (target), fetched = target_type (target) == TARGET_PULL;
        if (away && room > 0)
            target_load (target)->pause_us = now_us + AWAY_PAUSE_US;
        out[i] = (struct claim_target){.name = target_name (target),
                                       .room = room,
                                       .fetched = fetched,
                                       .probe = away ? 0 : unresponsive_probe (self, target),
                                       .limit = target_settings (target)->limit};
    }
    return self->target_count;
}

bool rooms_any (const struct claim_target *targets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (targets[i].room > 0 || targets[i].probe)
            return true;
    return count == 0;
}

void rooms_learn (struct station *self, const struct store_claim *claim)
{
    self->more_due = claim->more;
    self->claimed_any = claim->count > 0;
    self->limits_full = claim->full;
}

int64_t rooms_next_us (struct station *self)
{
    int64_t now_us = clock_mono_us ();
    int64_t pause_us = self->more_due ? AGAIN_US : INT64_MAX;
    bool many = self->more_due;
    for (size_t i = 0; i < self->target_count; i++) {
        const struct target *target = self->targets[i];
        int64_t again_us = target_connection (target) ? AGAIN_US : AWAY_PAUSE_US;
        if (!has_ready (self, target))
            continue;
        pause_us = again_us < pause_us ? again_us : pause_us;
        many = many || takes_many (self, target, now_us);
    }
    if (pause_us == INT64_MAX)
        return INT64_MAX;
    return self->claimed_any && many ? now_us : now_us + pause_us;
}

bool rooms_opened (struct station *self, const struct target *target)
{
    return has_ready (self, target) && takes_many (self, target, clock_mono_us ());
}

bool rooms_full (struct station *self, const struct target *target)
{
    return room_of (self, target, clock_mono_us ()) <= 0;
}
