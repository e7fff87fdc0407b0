#include "station_state.h"

#include "process.h"

bool station_store_up (const struct station *self)
{
    return store_state (self->store) == STORE_SERVING;
}

const char *station_store_trouble (const struct station *self)
{
    if (self->redis_trouble.text[0])
        return self->redis_trouble.text;
    if (store_state (self->store) == STORE_STANDBY && !store_owns (self->store))
        return "another station owns the plans, or did until a moment ago";
    return store_trouble (self->store);
}

int64_t station_now (const struct station *self)
{
    return store_now_us (self->store) / 1000000;
}

struct store_bounds station_bounds (const struct station *self)
{
    const struct station_settings *settings = self->settings;
    return (struct store_bounds){
        .history_count = settings->history_count,
        .history_age_s = settings->history_age_s,
        .output_bytes = settings->output_total_mib * 1048576,
        .output_age_s = settings->output_age_s,
        .plans = settings->limits.plans,
        .plans_station = settings->limits.plans_station,
        .plans_caller = settings->limits.plans_caller,
    };
}

struct target *station_target (struct station *self, struct span name)
{
    for (size_t i = 0; i < self->target_count; i++)
        if (span_is (name, target_name (self->targets[i])))
            return self->targets[i];
    return NULL;
}

bool station_is_callbacks (const struct station *self, struct span name)
{
    return span_is (name, self->settings->callback_target);
}

uint64_t station_new_id (struct station *self)
{
    // The pages of MicroZero's monitor hold ids as doubles: 41 and 12 bits are exact there until
    // 2039.
    const int low_bits = self->dialect == DIALECT_MICROZERO ? 12 : 20;
    uint64_t now_ms = (uint64_t)(store_now_us (self->store) / 1000);
    uint64_t id = now_ms << low_bits | (process_random () & ((1U << low_bits) - 1));
    id &= INT64_MAX;
    uint64_t last = core_last_id (store_core (self->store)); // the last id of any owner
    last = self->last_id > last ? self->last_id : last;
    self->last_id = id > last ? id : last + 1;
    return self->last_id;
}

int64_t station_revision (void)
{
    enum { BITS = 26 };
    return (int64_t)(process_random () >> (64 - BITS));
}
