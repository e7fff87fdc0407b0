// Reads an entry in the form that the station stores: a plan of `zplan export` with its messages
// and counters.
#include "entry.h"

#include <stdlib.h>

#include "occurrences_ahead.h"
#include "desc.h"
#include "json.h"
#include "memory.h"
#include "plan.h"
#include "zonefile.h"

// Larger than any number that a station accepts, and small enough to add and multiply.
static const int64_t NUMBER_MAX = INT64_C (1) << 45;

static int64_t bounded_number (const json_t *object, const char *field)
{
    int64_t value = json_integer_value (json_object_get (object, field));
    return value > NUMBER_MAX ? NUMBER_MAX : value < -NUMBER_MAX ? -NUMBER_MAX : value;
}

// The schedule of the stored plan; the policy, which may be NULL, is borrowed.
struct stored_schedule {
    const json_t *object;
    const struct policy *policy;
    struct schedule rule;
    bool calendar;            // its times are wall-clock times
    int64_t next, base, used; // as stored: Unix seconds, Unix seconds, number of past occurrences
};

static struct stored_schedule stored_schedule_of (const json_t *object, const struct policy *policy)
{
    int64_t type = bounded_number (object, "plan_type"),
            value = bounded_number (object, "plan_value");
    struct stored_schedule stored = {.object = object,
                                     .policy = policy,
                                     .next = bounded_number (object, "plan_time"),
                                     .base = bounded_number (object, "base_time"),
                                     .used = bounded_number (object, "real_repet") +
                                             bounded_number (object, "skip_num")};
    struct schedule *rule = &stored.rule;
    bool good = type >= 0 && type < SCHEDULE_TYPES && value >= INT32_MIN && value <= INT32_MAX;
    rule->type = good ? (enum schedule_type)type : SCHEDULE_NONE;
    rule->value = good ? (int32_t)value : 0;
    rule->repeat = SCHEDULE_FOREVER;
    policy_into_schedule (policy, rule);
    stored.calendar = schedule_is_calendar (rule);
    if (stored.calendar && rule->type == SCHEDULE_DAY && !stored.base)
        stored.base = bounded_number (object, "add_time");
    rule->base_time = stored.base;
    return stored;
}

// How many occurrences a copy of this plan must skip: a calendar rule starts at the time of
// submission, and the copy must start with the plan's pending occurrence.
static int64_t occurrences_to_skip (const struct stored_schedule *stored, const struct zone *zone,
                                    int64_t now)
{
    if (!stored->calendar)
        return 0;
    struct reason ignored;
    const char *name = stored->policy ? stored->policy->timezone : "";
    struct zone *own = *name ? zonefile_load (name, &ignored) : NULL;
    int64_t skip = occurrences_ahead (&stored->rule, own ? own : zone, now, stored->next);
    zone_destroy (&own);
    return skip;
}

// The plan_time for a copy of an interval plan, one step before the pending occurrence: the first
// occurrence is one step after plan_time.
static int64_t interval_base (const struct stored_schedule *stored)
{
    const struct cycle *cycle = stored->rule.cycle;
    int64_t steps = stored->rule.value;
    if (cycle)
        steps = cycle->durations[(size_t)(stored->used > 0 ? stored->used : 0) % cycle->count];
    return stored->next - steps * schedule_period (stored->rule.type);
}

// Add the policy of the copy: a cycle of waits continues at its position, and the iterations are
// the remaining ones.
static void add_remaining_policy (const struct stored_schedule *stored, int64_t repeats,
                                  json_t *plan)
{
    const char *name;
    json_t *value;
    const struct cycle *cycle = stored->rule.cycle;
    json_object_foreach ((json_t *)(uintptr_t)stored->object, name, value)
    {
        if (policy_field (name))
            json_object_set (plan, name, value);
    }
    policy_restore_objects (plan);       // convert objects, which are stored as texts
    json_object_del (plan, "if_exists"); // was for its submission: an import changes no plan
    if (stored->policy && stored->policy->misfire)
        json_object_del (plan, "no_keep");
    if (cycle && !stored->calendar && stored->used > 0) {
        json_t *rotated = json_array ();
        for (size_t i = 0; i < cycle->count; i++)
            json_array_append_new (
                rotated,
                json_integer (cycle->durations[((size_t)stored->used + i) % cycle->count]));
        json_object_set_new (plan, "cycle", rotated);
    }
    if (!stored->policy || !stored->policy->iteration)
        return;
    int64_t runs = policy_cycle (stored->policy);
    json_object_del (plan, repeats % runs ? "iteration" : "plan_repet");
    if (repeats % runs == 0)
        json_object_set_new (plan, "iteration", json_integer (repeats / runs));
}

// Make the PLAN frame of a plan that continues at this one's position. Its first occurrence is the
// pending one, or that of the run in flight.
static json_t *remaining_plan (const struct stored_schedule *stored, int64_t left, int64_t skip)
{
    const struct schedule *rule = &stored->rule;
    const json_t *object = stored->object;
    bool interval = !stored->calendar && rule->type >= SCHEDULE_SECOND;
    int64_t repeats = left > 0 ? left + skip : left;
    int64_t time = interval                      ? interval_base (stored)
                   : rule->type == SCHEDULE_TIME ? stored->next
                                                 : stored->base;
    bool keep = rule->type == SCHEDULE_TIME || json_is_true (json_object_get (object, "no_keep"));
    // Skipping consumes repeats, which are therefore added to `repeats`.
    json_t *plan = json_pack (
        "{s:O*, s:O*, s:O*, s:I, s:o*, s:o*, s:b, s:O*}", "description",
        json_object_get (object, "description"), "plan_type", json_object_get (object, "plan_type"),
        "plan_value", json_object_get (object, "plan_value"), "plan_repet", (json_int_t)repeats,
        "skip_set", skip > 0 ? json_integer (skip) : NULL, "plan_time",
        time > 0 ? json_integer (time) : NULL, "no_keep", keep, "vote",
        json_object_get (object, "vote"));
    add_remaining_policy (stored, repeats, plan);
    return plan;
}

// Read the frames of the messages: mailbox, description, frames. 0, or -1: invalid.
static int read_messages (const json_t *messages, struct entry *ret)
{
    enum { DESCRIPTION = 1, FIRST = 2 };
    struct desc desc;
    size_t i, size, count = json_array_size (messages), used = 0;
    const json_t *frame;
    char *text = json_write (messages);
    ret->bytes = memory_new (strlen (text) + 1);
    free (text);
    if (count < FIRST ||
        !json_to_desc (json_array_get (messages, DESCRIPTION), count - FIRST, &desc))
        return -1;
    json_array_foreach (messages, i, frame)
    {
        if (i < FIRST)
            continue;
        uint8_t type = desc.types[i - FIRST];
        if (!json_to_frame (frame, ret->bytes + used, &size))
            return -1;
        if (type != ZERO_FRAME_PLAN && type != ZERO_FRAME_STATION_ID &&
            type != ZERO_FRAME_GLOBAL_ID)
            ret->frames[ret->count++] = (struct zplan_frame){type, ret->bytes + used, size};
        used += size;
    }
    return 0;
}

static enum entry_state remaining_state (const json_t *object, int64_t left)
{
    int64_t state = bounded_number (object, "plan_state");
    if (state == PLAN_CLOSE || left == 0)
        return ENTRY_OVER;
    return state == PLAN_PAUSE || state == PLAN_ERROR ? ENTRY_PAUSED : ENTRY_RUNS;
}

int entry_read_stored (json_t *object, const struct zone *zone, int64_t now_us, struct entry *ret,
                       struct reason *reason)
{
    int64_t repeats = bounded_number (object, "plan_repet");
    int64_t left =
        repeats - bounded_number (object, "real_repet") - bounded_number (object, "skip_num");
    bool once = bounded_number (object, "plan_type") <= SCHEDULE_TIME;
    left = repeats < 0 || once ? repeats : left > 0 ? left : 0;
    if (read_messages (json_object_get (object, "messages"), ret))
        return reason_set (reason,
                           "messages: want mailbox, description and the frames that it describes");
    struct policy *policy;
    if (!policy_read_from (object, &policy, reason))
        return -1;
    const struct stored_schedule stored = stored_schedule_of (object, policy);
    json_t *plan =
        remaining_plan (&stored, left, occurrences_to_skip (&stored, zone, now_us / 1000000));
    ret->plan = json_write (plan);
    json_decref (plan);
    policy_destroy (&policy);
    ret->station = json_string_value (json_object_get (object, "station"));
    ret->state = remaining_state (object, once ? 1 : left);
    return 0;
}
