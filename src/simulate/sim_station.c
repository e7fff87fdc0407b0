// The clock, the core, and the outages of targets.
#include "sim_station.h"

#include <stdio.h>
#include <stdlib.h>

#include "civil.h"
#include "plan_json.h"

enum { OUTAGES_MAX = 1000, CHOICES = 64, TARGETS_MAX = 64 };

// -- the clock

void sim_timer_set (struct sim_station *self, struct sim_timer *timer, int64_t at,
                    void (*on_expiry) (void *owner), void *owner)
{
    timer->on_expiry = on_expiry;
    timer->owner = owner;
    if (at != SIM_NEVER)
        heap_set (&self->timers, &timer->node, at);
}

void sim_timer_stop (struct sim_station *self, struct sim_timer *timer)
{
    heap_remove (&self->timers, &timer->node);
}

// -- targets that are away

static int64_t instant_ms_of (const struct sim_station *self, int64_t local)
{
    return zone_instant (self->zone, local) * 1000;
}

// When an outage that covers this instant ends, in ms; the instant itself if it is outside.
static int64_t outage_end (const struct sim_station *self, const struct flow_outage *outage,
                           int64_t at)
{
    int64_t local = at / 1000 + zone_offset (self->zone, at / 1000);
    int64_t today = civil_day_of (local) * CIVIL_DAY;
    int64_t over = outage->to_s <= outage->from_s ? CIVIL_DAY : 0;
    for (int64_t day = today - over; day <= today; day += CIVIL_DAY) {
        int64_t to = instant_ms_of (self, day + over + outage->to_s);
        if (at >= instant_ms_of (self, day + outage->from_s) && at < to)
            return to;
    }
    return at;
}

int64_t sim_target_available_ms (const struct sim_station *self, const char *target, int64_t at)
{
    const struct flow_guesses *guesses = self->guesses;
    for (size_t i = 0, moves = 0; i < guesses->outage_count; i++) {
        int64_t back = strcmp (guesses->outages[i].target, target) == 0
                           ? outage_end (self, &guesses->outages[i], at)
                           : at;
        if (back > at && ++moves > OUTAGES_MAX)
            return SIM_NEVER;
        if (back > at)
            at = back, i = SIZE_MAX;
    }
    return at;
}

static bool target_is_away (const struct sim_station *self, const char *target)
{
    return sim_target_available_ms (self, target, self->now) > self->now;
}

// -- claims

// Write the rows of the core at once: the simulated Redis has no latency.
static void write_core_rows (struct sim_station *self)
{
    if (!core_has_rows (self->core))
        return;
    sim_teams_write (self, core_close_batch (self->core));
    core_batch_acked (self->core, self->now * 1000);
}

static size_t collect_free_slots (const struct sim_station *self, struct core_slots *out)
{
    const struct flow_guesses *guesses = self->guesses;
    size_t count = 0;
    for (size_t i = 0; i < guesses->worker_count; i++)
        out[count++] = (struct core_slots){
            .target = span_text (guesses->workers[i].target),
            .free_slots = target_is_away (self, guesses->workers[i].target) ? 0 : INT64_MAX,
            .pull = true};
    for (size_t i = 0; i < guesses->outage_count && count < TARGETS_MAX; i++)
        if (!sim_team_of (self, guesses->outages[i].target) &&
            target_is_away (self, guesses->outages[i].target))
            out[count++] = (struct core_slots){.target = span_text (guesses->outages[i].target),
                                               .free_slots = 0};
    return count;
}

// Let the core claim a run that it has chosen, and start it.
static void claim_choice (struct sim_station *self, const struct core_choice *choice,
                          const struct core_wish *wish)
{
    struct sim_plan *plan = sim_plan_of (self, core_choice_id (choice));
    struct core_taken taken;
    if (choice->needs_read) {
        size_t size;
        char *text = plan ? plan_stored_text (plan->plan, &size) : NULL;
        core_found_message (choice, text ? span_of (text, size) : (struct span){0});
        core_found_score (choice, plan && plan->queued ? plan->due_us : -1);
        core_found_run (choice, (struct span){0});
        free (text);
    }
    if (core_begin_run (self->core, choice, wish, self->now * 1000, &taken) == CORE_DONE)
        sim_plan_claimed (plan, &taken);
}

// Claim and start all plans that are due, as far as there are free slots.
static void claim_due_plans (struct sim_station *self)
{
    struct core_slots targets[TARGETS_MAX];
    struct core_choice choices[CHOICES];
    const struct core_wish wish = {.limit = CHOICES,
                                   .lease_us = SIM_LEASE_US,
                                   .targets = targets,
                                   .target_count = collect_free_slots (self, targets)};
    size_t count;
    do {
        write_core_rows (self);
        count = core_choose (self->core, &wish, self->now * 1000, choices, CHOICES);
        for (size_t i = 0; i < count; i++)
            claim_choice (self, &choices[i], &wish);
    } while (count > 0);
    sim_workers_fetch (self);
    write_core_rows (self);
}

// -- who waits

// Whether a limit allows no further run now.
static bool is_limited (const struct sim_station *self, char kind, const char *name)
{
    char full[LIMIT_NAME_MAX + 1];
    int64_t wake_us = INT64_MAX;
    int size = snprintf (full, sizeof full, "%c:%s", kind, name);
    const struct limit_state *limit = core_limit (self->core, span_of (full, (size_t)size));
    return limit && limit_left (limit, self->now * 1000, &wake_us) == 0;
}

// Find what keeps a due plan from running, as text in `why`.
static enum sim_block find_block (const struct sim_station *self, const struct sim_plan *plan,
                                  char *why, size_t size)
{
    const char *name = plan->target;
    const char *group = plan->plan->policy ? plan->plan->policy->group : "";
    if (target_is_away (self, name)) {
        snprintf (why, size, "target %s is away", name);
        return SIM_AWAY;
    }
    if (is_limited (self, 's', name) || (*group && is_limited (self, 'g', group))) {
        bool own = is_limited (self, 's', name);
        snprintf (why, size, "the limit of %s%s", own ? "" : "group ", own ? name : group);
        return SIM_LIMIT;
    }
    snprintf (why, size, "a free worker of %s", name);
    return plan->offered ? SIM_WORKERS : SIM_NOT_BLOCKED;
}

// Whether an offered run still needs workers.
static bool lacks_workers (const struct sim_station *self, const struct sim_plan *plan)
{
    const struct sim_team *team = plan->offered ? sim_team_of (self, plan->target) : NULL;
    int32_t wanted = plan->plan->policy ? plan->plan->policy->workers.count : 1, working = 0;
    for (size_t i = 0; team && i < team->count; i++)
        working += team->workers[i].plan == plan;
    return team && working < (wanted ? wanted : 1);
}

// Report why plans that became due wait; skip those that run.
static void report_waits (struct sim_station *self)
{
    char why[160];
    for (struct sim_plan *plan; (plan = self->examine);) {
        self->examine = plan->next_to_examine;
        if (!self->examine)
            self->examine_end = &self->examine;
        plan->to_examine = false;
        if (!plan->queued && !lacks_workers (self, plan))
            continue;
        if (plan->begun) {
            sim_call_waits (plan->call, "more workers");
            continue;
        }
        plan->block = find_block (self, plan, why, sizeof why);
        plan->blocked_since_ms = self->now;
        if (plan->block != SIM_NOT_BLOCKED)
            sim_call_waits (plan->call, why);
    }
}

// -- what is next

static void take_earlier_wake (void *owner, const char *name, int64_t left, int64_t wake_us)
{
    int64_t *next = owner;
    (void)name;
    if (left == 0 && wake_us != INT64_MAX && (wake_us + 999) / 1000 < *next)
        *next = (wake_us + 999) / 1000;
}

// The next time at which a rate allows a run, or a target that plans wait for is available;
// SIM_NEVER: none.
static int64_t next_wake_ms (const struct sim_station *self)
{
    int64_t next = SIM_NEVER;
    core_each_limit (self->core, self->now * 1000, take_earlier_wake, &next);
    for (size_t i = 0; i < self->guesses->outage_count; i++) {
        const char *target = self->guesses->outages[i].target;
        int64_t back = sim_target_available_ms (self, target, self->now);
        bool waits = core_ready (self->core, span_text (target)) > 0 ||
                     core_pull_offers (self->core, span_text (target)) > 0;
        if (waits && back > self->now && back < next)
            next = back;
    }
    return next != SIM_NEVER && next <= self->now ? self->now + 1 : next;
}

bool sim_station_step (struct sim_station *self)
{
    claim_due_plans (self);
    report_waits (self);
    int64_t wake = next_wake_ms (self);
    struct heap_node *node = heap_first (&self->timers);
    if (wake == SIM_NEVER && self->timers.count == self->beats)
        return false;
    if (!node || wake < node->at) {
        self->now = wake;
        return true;
    }
    struct sim_timer *timer = (struct sim_timer *)node;
    self->now = node->at;
    heap_remove (&self->timers, node);
    timer->on_expiry (timer->owner);
    return true;
}

// -- life

void sim_station_begin (struct sim_station *self, const struct flow_guesses *guesses, int64_t now)
{
    *self = (struct sim_station){.guesses = guesses, .now = now, .zone = guesses->zone};
    self->examine_end = &self->examine;
    if (!self->zone)
        self->zone = self->utc = zone_new_utc ();
    self->core = core_new (&(struct core_bounds){.ready_bytes = INT64_MAX});
    // An empty page, up to the end of time: the core then keeps all later plans in memory.
    core_load_page (self->core, NULL, 0, 0, INT64_MAX / 2);
    core_load_numbers (self->core, &(struct core_numbers){.classes = true});
    for (size_t i = 0; i < guesses->limit_count; i++)
        core_set_limit (self->core, span_text (guesses->limits[i].name), &guesses->limits[i].limit);
    sim_workers_begin (self);
}

void sim_station_end (struct sim_station *self)
{
    sim_workers_end (self);
    core_destroy (&self->core);
    table_free (&self->plans);
    heap_free (&self->timers);
    zone_destroy (&self->utc);
}
