// The teams of plans as Redis would store them, for the core to read when it offers a plan.
#include <stdlib.h>

#include "core_pull.h"
#include "ident.h"
#include "memory.h"
#include "redis_keys.h"
#include "sim_station.h"

static struct sim_plan *plan_of_team_key (const struct sim_station *self, struct span key)
{
    static const char prefix[] = KEY_TEAM;
    uint64_t id;
    if (key.size < sizeof prefix || memcmp (key.data, prefix, sizeof prefix - 1) != 0)
        return NULL;
    const uint8_t *colon = memrchr (key.data, ':', key.size), *end = key.data + key.size;
    return ident_parse (span_of (colon + 1, (size_t)(end - colon - 1)), &id)
               ? sim_plan_of (self, id)
               : NULL;
}

static json_t *copy_value (struct span value)
{
    return json_stringn_nocheck (value.size ? (const char *)value.data : "", value.size);
}

void sim_teams_write (struct sim_station *self, const struct rows *rows)
{
    const struct span *word = rows->commands.words;
    for (size_t i = 0; i < rows->commands.commands; word += rows->commands.sizes[i++]) {
        struct sim_plan *plan = plan_of_team_key (self, word[1]);
        bool sets = span_is (word[0], "HSET");
        if (plan && span_is (word[0], "DEL"))
            json_object_clear (plan->team);
        for (size_t k = 2; plan && k < rows->commands.sizes[i]; k += 1U + sets) {
            const char *name = (const char *)word[k].data;
            json_object_deln (plan->team, name, word[k].size);
            if (sets)
                json_object_setn_new_nocheck (plan->team, name, word[k].size,
                                              copy_value (word[k + 1]));
        }
    }
}

enum core_result sim_team_offer (struct sim_plan *plan, struct core_offer *offer,
                                 struct core_offered *ret)
{
    struct sim_station *station = plan->station;
    enum core_result result = core_pull_offer (station->core, offer, station->now * 1000, ret);
    if (result != CORE_UNREAD)
        return result;
    size_t count = 2 * json_object_size (plan->team), at = count;
    struct span *fields = memory_new ((count + 1) * sizeof *fields);
    const char *name;
    json_t *value;
    json_object_foreach (plan->team, name, value) // the newest field first
    {
        at -= 2;
        fields[at] = span_text (name);
        fields[at + 1] = span_of (json_string_value (value), json_string_length (value));
    }
    const struct core_found found = {.target = span_text (plan->target),
                                     .score_us = -1, // the core has claimed the plan
                                     .team = fields,
                                     .team_count = count,
                                     .report = -1};
    offer->found = &found;
    result = core_pull_offer (station->core, offer, station->now * 1000, ret);
    offer->found = NULL;
    free (fields);
    return result;
}
