#include "core.h"

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

int64_t station_revision (void)
{
    enum { BITS = 26 };
    return (int64_t)(process_random () >> (64 - BITS));
}
