// The teams of plans as Redis would store them, for the core to read when it offers a plan.
#include <stdlib.h>

#include "core_pull.h"
#include "ident.h"
#include "memory.h"
#include "redis_keys.h"
#include "sim_station.h"

struct sim_field {
    struct sim_field *next;
    struct span name, value; // views of `bytes`
    uint8_t bytes[];
};

static struct sim_field *field_new (struct span name, struct span value)
{
    struct sim_field *self = memory_new (sizeof *self + name.size + value.size);
    memcpy (self->bytes, name.data, name.size);
    if (value.size)
        memcpy (self->bytes + name.size, value.data, value.size);
    self->name = span_of (self->bytes, name.size);
    self->value = span_of (self->bytes + name.size, value.size);
    return self;
}

static void field_remove (struct sim_plan *plan, struct span name)
{
    for (struct sim_field **at = &plan->team; *at; at = &(*at)->next)
        if (span_equal ((*at)->name, name)) {
            struct sim_field *field = *at;
            *at = field->next;
            free (field);
            return;
        }
}

void sim_team_clear (struct sim_plan *plan)
{
    for (struct sim_field *field; (field = plan->team);) {
        plan->team = field->next;
        free (field);
    }
}

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

void sim_teams_write (struct sim_station *self, const struct rows *rows)
{
    const struct span *word = rows->words.at;
    for (size_t i = 0; i < rows->command_count; word += rows->commands[i++]) {
        struct sim_plan *plan = plan_of_team_key (self, word[1]);
        bool sets = span_is (word[0], "HSET");
        if (plan && span_is (word[0], "DEL"))
            sim_team_clear (plan);
        for (size_t k = 2; plan && k < rows->commands[i]; k += 1U + sets) {
            field_remove (plan, word[k]);
            if (!sets)
                continue;
            struct sim_field *field = field_new (word[k], word[k + 1]);
            field->next = plan->team;
            plan->team = field;
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
    size_t count = 0;
    for (const struct sim_field *field = plan->team; field; field = field->next)
        count += 2;
    struct span *fields = memory_new ((count + 1) * sizeof *fields);
    count = 0;
    for (const struct sim_field *field = plan->team; field; field = field->next) {
        fields[count++] = field->name;
        fields[count++] = field->value;
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
