// The records of plans that workers fetch: their teams, their positions among the offers of their
// targets, and when they are examined again.
#include <stdlib.h>

#include "core_private.h"
#include "ident.h"
#include "memory.h"
#include "redis_keys.h"

enum {
    OFFER_BYTES = 512,           // size of an offer without its message
    OFFERS_BYTES_MAX = 32 << 20, // most bytes of offers, if there are more than OFFERS_SURE
    OFFERS_SURE = 256,           // this many are offered whatever their size
    SINCE_BITS = 42              // bits of a time in milliseconds
};

// -- the offers of a target

// Order offers by `order`, then by the bytes of the id, as Redis orders members.
static bool offer_precedes (const struct pull_record *left, const struct pull_record *right)
{
    char id[IDENT_SIZE], right_id[IDENT_SIZE];
    if (left->order != right->order)
        return left->order < right->order;
    return strcmp (ident_text (left->plan->id, id), ident_text (right->plan->id, right_id)) < 0;
}

// The index of an offer, or the one where it would be inserted.
static size_t offer_index (const struct offer_list *list, const struct pull_record *pull)
{
    size_t first = list->first, end = list->end;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (offer_precedes (list->at[middle]->pull, pull))
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

void pull_withdraw (struct open_plan *plan)
{
    struct offer_list *list = &plan->target->offers;
    if (!plan->pull || !plan->pull->offered)
        return;
    size_t at = offer_index (list, plan->pull), before = at - list->first,
           after = list->end - at - 1;
    if (before < after)
        memmove (&list->at[list->first + 1], &list->at[list->first], before * sizeof *list->at);
    else
        memmove (&list->at[at], &list->at[at + 1], after * sizeof *list->at);
    list->first += before < after;
    list->end -= before >= after;
    list->bytes -= plan->pull->bytes;
    plan->pull->offered = false;
}

// Add a plan to the offers of its target, or move it to the position of `order`.
static void insert_offer (struct open_plan *plan, int64_t order)
{
    struct offer_list *list = &plan->target->offers;
    struct pull_record *pull = plan->pull;
    if (pull->offered && pull->order == order)
        return;
    pull_withdraw (plan);
    pull->order = order;
    pull->bytes = OFFER_BYTES + plan->message_size;
    list->bytes += pull->bytes;
    if (list->end == list->room && list->first > list->room / 2) {
        memmove (list->at, &list->at[list->first], (list->end - list->first) * sizeof *list->at);
        list->end -= list->first;
        list->first = 0;
    } else if (list->end == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->at = memory_resize (list->at, list->room * sizeof *list->at);
    }
    size_t at = offer_index (list, pull);
    memmove (&list->at[at + 1], &list->at[at], (list->end++ - at) * sizeof *list->at);
    list->at[at] = plan;
    pull->offered = true;
}

// The position of an offer: the highest priority first; within it plans restricted to named workers
// before the others; then the oldest first.
static int64_t offer_order (const struct team *team)
{
    int64_t class = (MAX_PRIORITY - team->rule.priority) * 2 + (team->rule.only ? 0 : 1);
    return class * ((int64_t)1 << SINCE_BITS) + (int64_t)(team->since / 1000);
}

// How many plans of this priority and above are offered.
static size_t count_offered_from (const struct offer_list *list, int priority)
{
    // The least order of a lower priority: see offer_order.
    int64_t next_order = (int64_t)(MAX_PRIORITY - priority + 1) * 2 * ((int64_t)1 << SINCE_BITS);
    struct open_plan none = {0};
    return offer_index (list, &(struct pull_record){.plan = &none, .order = next_order}) -
           list->first;
}

// Offers are limited in number and memory. Further plans remain ready plans, which need less
// memory.
int offers_lowest_priority (const struct core *self, const struct core_target *target)
{
    const struct offer_list *list = &target->offers;
    size_t most = (size_t)(self->bounds.offers ? self->bounds.offers : CORE_OFFERS);
    bool large = list->bytes >= OFFERS_BYTES_MAX;
    int floor = MAX_PRIORITY + 1, priority;
    for (size_t i = 0; (priority = ready_priority (&target->ready, i)) >= 0; i++) {
        size_t above = count_offered_from (list, priority);
        if (above >= most || (large && above >= OFFERS_SURE))
            break;
        floor = priority;
    }
    return floor;
}

int64_t core_pull_offers (const struct core *self, struct span target)
{
    const struct core_target *known = core_find_target (self, target);
    return known ? (int64_t)(known->offers.end - known->offers.first) : 0;
}

int64_t core_oldest_us (const struct core *self, struct span name)
{
    const struct core_target *target = core_find_target (self, name);
    int64_t oldest_us = target ? ready_oldest_us (&target->ready) : INT64_MAX;
    for (size_t i = target ? target->offers.first : 0; target && i < target->offers.end; i++) {
        // An exec_id is the time of the claim in microseconds.
        int64_t since_us = (int64_t)target->offers.at[i]->exec_id;
        oldest_us = since_us < oldest_us ? since_us : oldest_us;
    }
    return oldest_us == INT64_MAX ? 0 : oldest_us;
}

void core_each_offer (const struct core *self, core_offer_fn *call, void *owner)
{
    for (const struct core_target *target = self->first_target; target;
         target = target->next_target) {
        const struct offer_list *list = &target->offers;
        for (size_t i = list->first; i < list->end; i++)
            call (owner, core_target_name (target), list->at[i]->id, list->at[i]->pull->order);
    }
}

// -- records

struct pull_record *pull_record_for (struct open_plan *plan)
{
    if (plan->pull)
        return plan->pull;
    plan->pull = memory_new (sizeof *plan->pull);
    plan->pull->plan = plan;
    plan->pull->team = team_new ();
    return plan->pull;
}

void pull_read_rule (struct open_plan *plan)
{
    if (plan->pull && plan->message)
        team_rule_read (&plan->pull->team->rule, span_of (plan->message, plan->message_size));
}

void pull_end_run (struct core *self, struct open_plan *plan)
{
    if (!plan->pull)
        return;
    pull_withdraw (plan);
    heap_remove (&self->busy, &plan->pull->busy);
}

void pull_drop_record (struct core *self, struct open_plan *plan)
{
    if (!plan->pull)
        return;
    pull_end_run (self, plan);
    team_destroy (&plan->pull->team);
    free (plan->pull);
    plan->pull = NULL;
}

void pull_write_team (struct core *self, struct open_plan *plan)
{
    if (plan->pull)
        team_write (plan->pull->team, key_of (self, KEY_TEAM, plan), self->gathering);
}

// -- workers at work

void pull_discharge_late (struct core *self, int64_t now_us)
{
    for (struct heap_node *node; (node = heap_first (&self->busy)) && node->at <= now_us;) {
        struct pull_record *pull =
            (struct pull_record *)((uint8_t *)node - offsetof (struct pull_record, busy));
        heap_remove (&self->busy, node);
        open_discharge (self, pull->plan);
    }
}

// Count the run toward limits while at least one worker is at work and not late.
static void update_charge (struct core *self, struct open_plan *plan,
                           const struct team_tally *tally, int64_t now_us)
{
    bool works = tally->running && tally->last_late_ms > now_us / 1000;
    if (works)
        heap_set (&self->busy, &plan->pull->busy, tally->last_late_ms * 1000);
    else
        heap_remove (&self->busy, &plan->pull->busy);
    if (works && !plan->charged)
        open_charge_running (self, plan);
    else if (!works)
        open_discharge (self, plan);
}

// How many more workers may take the run.
static int64_t team_free_slots (const struct team *team, const struct team_tally *tally)
{
    int64_t taken = tally->running + tally->ended;
    return team->rule.count > taken ? team->rule.count - taken : 0;
}

// The outcome of a run whose workers have all ended.
static struct team_outcome outcome_of_offer (const struct team_tally *tally)
{
    if (!tally->last)
        return (struct team_outcome){0};
    return (struct team_outcome){.complete = true,
                                 .ended = tally->ended,
                                 .failed = tally->failed,
                                 .worker = span_text (tally->last->name),
                                 .reason = tally->last->reason,
                                 .result = tally->last->result,
                                 .advice = tally->final ? (struct advice){ADVICE_FINAL, 0}
                                                        : tally->last->advice};
}

struct pull_state pull_update_run (struct core *self, struct open_plan *plan, int64_t lease_us,
                                   int64_t now_us)
{
    struct team *team = plan->pull->team;
    struct team_tally tally = team_count_workers (team);
    struct pull_state state = {.free = team_free_slots (team, &tally)};
    int64_t now_ms = now_us / 1000, since_ms = (int64_t)(team->since / 1000);
    bool done = tally.running == 0 && state.free == 0;
    int64_t examine_ms = done            ? now_ms + PULL_END_US / 1000
                         : tally.running ? tally.first_late_ms
                                         : now_ms + lease_us / 1000;
    int64_t end_ms =
        team->rule.run_timeout_s ? since_ms + team->rule.run_timeout_s * 1000 : INT64_MAX;
    state.over = end_ms <= now_ms;
    if (done)
        state.outcome = outcome_of_offer (&tally);
    if (state.free)
        insert_offer (plan, offer_order (team));
    else
        pull_withdraw (plan);
    update_charge (self, plan, &tally, now_us);
    if (end_ms < now_ms)
        end_ms = now_ms;
    if (plan->placed && plan->queued && !plan->chosen) // the claim of a chosen plan offers it again
        open_queue (self, plan, (examine_ms < end_ms ? examine_ms : end_ms) * 1000);
    open_mark_written (self, plan, WRITE_TEAM);
    return state;
}

struct team_outcome outcome_copy (struct core *self, const struct team_outcome *outcome)
{
    struct team_outcome copy = *outcome;
    copy.worker = rows_copy_text (self->gathering, outcome->worker);
    copy.reason = rows_copy_text (self->gathering, outcome->reason);
    copy.result = rows_copy_text (self->gathering, outcome->result);
    return copy;
}

// -- loading

void pull_note_unread (struct core *self, struct open_plan *plan)
{
    self->unread =
        memory_grow (self->unread, self->unread_count, &self->unread_room, sizeof *self->unread);
    self->unread[self->unread_count++] =
        (struct core_team_name){core_target_name (plan->target), plan->id};
}

size_t core_unread_teams (struct core *self, struct core_team_name *out, size_t max)
{
    size_t count = 0;
    while (count < max && self->unread_count) {
        struct core_team_name name = self->unread[--self->unread_count];
        const struct open_plan *plan = open_find (self, name.target, name.id);
        if (plan && !plan->team_known && plan->flight == FLIGHT_OFFERED)
            out[count++] = name;
    }
    return count;
}

// Offer a run that the previous owner offered, unless its team is of another run. Nothing is
// written, as Redis has all of it.
static void resume_offer (struct core *self, struct open_plan *plan, int64_t now_us)
{
    const struct team *team = plan->pull->team;
    struct team_tally tally = team_count_workers (team);
    if (!team_is_current (team))
        return;
    if (team_free_slots (team, &tally))
        insert_offer (plan, offer_order (team));
    update_charge (self, plan, &tally, now_us);
}

void core_load_team (struct core *self, struct span target, uint64_t id,
                     const struct core_found *found, int64_t now_us)
{
    struct open_plan *plan = open_find (self, target, id);
    if (!plan || plan->gone)
        return;
    if (!plan->message && found->message.size) {
        plan->message = memory_copy (found->message.data, found->message.size);
        plan->message_size = (uint32_t)found->message.size;
    }
    if (!plan->placed) {
        plan->placed = true;
        plan->queued = found->score_us >= 0;
        plan->score_us = found->score_us;
        if (plan->queued && open_has_run (plan))
            heap_set (&self->leases, &plan->lease, plan->score_us);
    }
    if (plan->team_known)
        return;
    plan->team_known = true;
    for (size_t i = 0; i + 1 < found->team_count; i += 2)
        team_load (pull_record_for (plan)->team, found->team[i], found->team[i + 1]);
    pull_read_rule (plan);
    if (plan->flight == FLIGHT_OFFERED && plan->pull && plan->message)
        resume_offer (self, plan, now_us);
}
