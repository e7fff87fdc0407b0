#include "plan_frame_check.h"

#include <inttypes.h>

// Whether the schedule needs plan_value: it repeats, and neither cron expressions nor the durations
// of a cycle define it.
static bool needs_value (const struct schedule *schedule)
{
    return schedule_repeats (schedule->type) && schedule->type != SCHEDULE_CRON && !schedule->cycle;
}

static bool check_plan_value (struct plan_frame_reader *reader)
{
    struct schedule *schedule = &reader->fields->schedule;
    struct value_range range = schedule_value_range (schedule->type);
    if (needs_value (schedule) && !reader->has_value)
        return reason_reject (reader->reason, "plan_value: is missing, plan_type %s needs it",
                              schedule_type_name (schedule->type));
    if (schedule->type == SCHEDULE_WEEK && reader->value == 7)
        reader->value = 0; // 0 and 7 are Sunday
    if (reader->value < range.min || reader->value > range.max)
        return reason_reject (reader->reason, "plan_value: want %d..%d, got %" PRId64, range.min,
                              range.max, reader->value);
    schedule->value = (int32_t)reader->value;
    return true;
}

// Set the number of repeats from the policy: `total` is the product of iteration and cycle.
static bool check_iterations (struct plan_frame_reader *reader, int64_t total)
{
    if (total > INT32_MAX)
        return reason_reject (reader->reason,
                              "iteration: want at most %d runs in all, got %" PRId64, INT32_MAX,
                              total);
    if (reader->has_repeat && reader->repeat != total)
        return reason_reject (reader->reason,
                              "plan_repet: iteration and cycle determine it (%" PRId64 "); omit it",
                              total);
    reader->fields->schedule.repeat = (int32_t)total;
    return true;
}

static bool check_plan_repet (struct plan_frame_reader *reader)
{
    struct schedule *schedule = &reader->fields->schedule;
    const struct policy *policy = reader->fields->policy;
    if (reader->repeat < INT32_MIN || reader->repeat > INT32_MAX)
        return reason_reject (reader->reason, "plan_repet: want -1 or 1..%d, got %" PRId64,
                              INT32_MAX, reader->repeat);
    schedule->repeat = (int32_t)reader->repeat;
    if (!schedule_repeats (schedule->type))
        return true;
    if (policy && policy->iteration)
        return check_iterations (reader, policy->iteration * policy_cycle (policy));
    if (!reader->has_repeat && schedule->type == SCHEDULE_CRON)
        schedule->repeat = SCHEDULE_FOREVER;
    else if (!reader->has_repeat)
        return reason_reject (reader->reason, "plan_repet: is missing, plan_type %s needs it",
                              schedule_type_name (schedule->type));
    if (schedule->repeat < SCHEDULE_FOREVER || schedule->repeat == 0)
        return reason_reject (reader->reason, "plan_repet: want -1 (for ever) or 1..%d, got %d",
                              INT32_MAX, schedule->repeat);
    return true;
}

// Check that type time has plan_time, and that skip_set leaves an occurrence and is within its
// bound.
static bool check_time_and_skips (struct plan_frame_reader *reader)
{
    const struct schedule *schedule = &reader->fields->schedule;
    if (schedule->type == SCHEDULE_TIME && schedule->base_time == 0)
        return reason_reject (reader->reason, "plan_time: is missing, plan_type time needs it");
    int64_t runs = schedule_repeats (schedule->type) ? schedule->repeat : 1;
    if (runs != SCHEDULE_FOREVER && reader->fields->skip_set >= runs)
        return reason_reject (reader->reason,
                              "skip_set: want less than plan_repet (%" PRId64 "), got %" PRId64,
                              runs, reader->fields->skip_set);
    int64_t most = schedule_skip_max (schedule);
    if (reader->fields->skip_set > most)
        reason_set (reader->reason,
                    "skip_set: want 0..%" PRId64 " for a plan whose times are counted one by one, "
                    "got %" PRId64,
                    most, reader->fields->skip_set);
    return reader->fields->skip_set <= most;
}

// Check the fields of the policy against the others.
static bool check_policy (struct plan_frame_reader *reader)
{
    struct schedule *schedule = &reader->fields->schedule;
    const struct policy *policy = reader->fields->policy;
    bool cron = schedule->type == SCHEDULE_CRON;
    bool interval = schedule->type >= SCHEDULE_SECOND && schedule->type <= SCHEDULE_DAY;
    if (policy)
        policy_into_schedule (policy, schedule);
    if (cron != (schedule->cron != NULL))
        reason_set (reader->reason, "cron: %s",
                    cron ? "is missing, plan_type cron needs it" : "is for plan_type cron");
    else if (schedule->cycle && !interval)
        reason_set (reader->reason,
                    "cycle: durations are for second, minute, hour and day; want a number");
    else if (policy && policy_cycle (policy) && !schedule_repeats (schedule->type))
        reason_set (reader->reason, "%s: plan_type %s runs once",
                    policy->iteration ? "iteration" : "cycle", schedule_type_name (schedule->type));
    else if (policy && !policy->key[0] && policy->if_exists)
        reason_set (reader->reason, "if_exists: is for a plan with a key");
    else if (policy && policy->has_batch && schedule_repeats (schedule->type))
        reason_set (reader->reason, "batch: is for plan_type none and time");
    else if (policy && policy->misfire && reader->keep_seen)
        reason_set (reader->reason, "misfire: sets the same as no_keep; give only one");
    else
        return true;
    return false;
}

bool plan_frame_check (struct plan_frame_reader *reader)
{
    if (!reader->has_type)
        return reason_reject (reader->reason, "plan_type: is missing");
    const struct policy *policy = reader->fields->policy;
    if (!check_policy (reader) || !check_plan_value (reader) || !check_plan_repet (reader) ||
        !check_time_and_skips (reader))
        return false;
    if (policy && policy->misfire == MISFIRE_ALL)
        reader->fields->schedule.keep = true;
    return true;
}
