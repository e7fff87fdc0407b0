// Claims: which ready plans run now, as far as targets have free slots and limits allow it.
#include <stdlib.h>

#include "core_private.h"
#include "memory.h"
#include "plant.h"
#include "stored_text.h"

enum {
    EXAMINED_MAX = 512, // most plans of a target that are examined for prefetching
    TAKEN_MANY = 64,    // a target prefetches if the last claim took this many of its plans
};

// -- choosing

// Note for each target what `wish` says of it; targets that it does not name take any number.
static void note_slots (struct core *self, const struct core_wish *wish)
{
    for (struct core_target *target = self->first_target; target; target = target->next_target)
        target->slots = (struct core_slots){.free_slots = INT64_MAX};
    for (size_t i = 0; i < wish->target_count; i++) {
        struct core_target *target = core_target_for (self, wish->targets[i].target);
        target->slots = wish->targets[i];
        target->slots.target = core_target_name (target);
    }
}

// Begin to count the slots that choices take.
static void reset_free_slots (struct core *self)
{
    for (struct core_target *target = self->first_target; target; target = target->next_target) {
        target->taken = 0;
        target->free_slots = target->slots.free_slots;
        target->ready.unlimited = target->slots.pull;
        target->ready.floor = 0;
    }
}

// Whether a target has ready plans that may run or, if workers fetch its plans, be offered.
static bool has_ready (const struct core *self, const struct core_target *target)
{
    return target->exempt.count ||
           (target->ready.count &&
            (!target->slots.pull || offers_lowest_priority (self, target) <= MAX_PRIORITY));
}

bool core_has_due (struct core *self, const struct core_wish *wish, int64_t now_us)
{
    core_advance (self, now_us, wish->ahead_us);
    reset_free_slots (self);
    for (struct core_target *target = self->first_target; target; target = target->next_target)
        if (has_ready (self, target) && (target->free_slots > 0 || target->slots.probe))
            return true;
    return false;
}

// Open the plan of a ready entry. NULL: the entry is stale.
static struct open_plan *open_ready_plan (struct core *self, struct core_target *target,
                                          struct ready_plan ready, const struct ready_group *group)
{
    struct open_plan *plan = open_find_in (self, target, ready.id);
    if (!plan) {
        plan = open_find_or_add (self, target, ready.id);
        open_init_class (plan, group->priority, span_text (group->name));
        return plan;
    }
    bool has_run = open_has_run (plan);
    bool stale = plan->gone || plan->chosen || plan->submitted ||
                 (has_run && !plan->lease_expired) ||
                 (plan->placed && (!plan->queued || plan->score_us != ready.due_us));
    if (!stale && !plan->group && !plan->priority) // it was opened without its class
        open_init_class (plan, group->priority, span_text (group->name));
    return stale ? NULL : plan;
}

// Choose the next plan of a target, and count its run toward limits. False: none may run now.
static bool choose_plan (struct core *self, struct core_target *target, int64_t until_us,
                         int64_t now_us, struct core_choice *ret)
{
    const struct ready_group *group;
    struct ready_plan ready;
    bool pull = target->slots.pull, waits = false;
    while (has_ready (self, target)) {
        target->ready.floor = pull ? offers_lowest_priority (self, target) : 0;
        bool found = false;
        if (target->free_slots > 0) {
            found = ready_take (&target->exempt, until_us, now_us, &ready, &group,
                                &self->rate_wake_us, &waits);
            if (!found && !pull && target->limit &&
                !limit_allows (target->limit, now_us, &self->rate_wake_us)) {
                self->limit_waits = true;
                return false;
            }
            found = found || ready_take (&target->ready, until_us, now_us, &ready, &group,
                                         &self->rate_wake_us, &waits);
        } else if (target->slots.probe) {
            found = ready_take_id (&target->ready, target->slots.probe, until_us, &ready, &group);
        }
        self->limit_waits = self->limit_waits || waits;
        if (!found)
            return false;
        struct open_plan *plan = open_ready_plan (self, target, ready, group);
        if (!plan) {
            self->stale -= self->stale > 0;
            continue;
        }
        plan->chosen = true;
        plan->prepared = false;
        plan->pull_run = pull;
        if (!pull && !plan->flow_charged)
            open_charge (self, plan, now_us);
        target->free_slots -= target->free_slots > 0 && target->free_slots < INT64_MAX;
        target->taken++;
        *ret = (struct core_choice){plan, ready.due_us, !plan->message || !plan->placed};
        return true;
    }
    return false;
}

// Choose plans that are due until `until_us`. Each target gets an equal share of the choices; the
// unused ones are shared among the others.
static size_t choose_shares (struct core *self, int64_t until_us, int64_t now_us,
                             struct core_choice *out, size_t count, size_t max)
{
    for (bool any_chosen = true; any_chosen && count < max;) {
        size_t targets = 0;
        any_chosen = false;
        for (struct core_target *target = self->first_target; target; target = target->next_target)
            targets += has_ready (self, target);
        size_t share = targets ? (max - count + targets - 1) / targets : 0;
        for (struct core_target *target = self->first_target; target && count < max;
             target = target->next_target)
            for (size_t i = 0; i < share && count < max; i++) {
                if (!choose_plan (self, target, until_us, now_us, &out[count]))
                    break;
                count++;
                any_chosen = true;
            }
    }
    return count;
}

size_t core_choose (struct core *self, const struct core_wish *wish, int64_t now_us,
                    struct core_choice *out, size_t max)
{
    size_t limit = wish->limit < (int64_t)max ? (size_t)(wish->limit > 0 ? wish->limit : 0) : max;
    self->rate_wake_us = self->ready_us = INT64_MAX;
    self->limit_waits = false;
    core_advance (self, now_us, wish->ahead_us);
    note_slots (self, wish);
    reset_free_slots (self);
    size_t count = choose_shares (self, now_us, now_us, out, 0, limit);
    if (wish->ahead_us)
        count = choose_shares (self, now_us + wish->ahead_us, now_us, out, count, limit);
    return count;
}

bool core_waits_for_limit (const struct core *self)
{
    return self->limit_waits;
}

struct span core_choice_target (const struct core_choice *choice)
{
    return core_target_name (choice->plan->target);
}

uint64_t core_choice_id (const struct core_choice *choice)
{
    return choice->plan->id;
}

// Only busy targets prefetch, as somebody may edit a message by hand after it was read.
size_t core_choose_prefetch (struct core *self, struct core_choice *out, size_t max)
{
    uint64_t ids[EXAMINED_MAX];
    size_t count = 0;
    max = max < EXAMINED_MAX / 2 ? max : EXAMINED_MAX / 2;
    for (struct core_target *target = self->first_target; target; target = target->next_target) {
        if (target->taken < TAKEN_MANY || target->ready.unlimited)
            continue;
        size_t id_count = ready_peek (&target->ready, ids, EXAMINED_MAX);
        for (size_t i = 0; i < id_count && count < max; i++) {
            if (open_find_in (self, target, ids[i]))
                continue;
            struct open_plan *plan = open_find_or_add (self, target, ids[i]);
            plan->prefetching = true;
            out[count++] = (struct core_choice){plan, 0, true};
        }
    }
    return count;
}

void core_end_prefetch (struct core *self, const struct core_choice *choice, bool read)
{
    struct open_plan *plan = choice->plan;
    plan->prefetching = false;
    plan->prepared = read && plan->message && plan->queued && !plan->batches && !plan->chosen;
    if (!plan->prepared)
        open_close_if_idle (self, plan, 0);
}

bool core_wants_runs (const struct core *self)
{
    return self->has_earlier;
}

void core_found_message (const struct core_choice *choice, struct span message)
{
    struct open_plan *plan = choice->plan;
    if (plan->message || !message.data || plan->gone)
        return;
    plan->message = memory_copy (message.data, message.size);
    plan->message_size = (uint32_t)message.size;
}

void core_found_score (const struct core_choice *choice, int64_t score_us)
{
    struct open_plan *plan = choice->plan;
    if (plan->placed)
        return;
    plan->placed = true;
    plan->queued = score_us >= 0;
    plan->score_us = score_us;
}

void core_found_run (const struct core_choice *choice, struct span run)
{
    struct open_plan *plan = choice->plan;
    if (plan->flight != FLIGHT_NONE || !run.size || run.data[0] != '+')
        return;
    plan->flight = FLIGHT_EARLIER;
    plan->earlier_may_answer = true;
}

// -- taking

// A chosen plan does not run: stop counting it, and undo its use of the rates. Does nothing if its
// run continues, as its lease was extended, or if workers fetch it: they count it.
static void undo_charge (struct core *self, struct open_plan *plan)
{
    struct limit_state *group = group_limit (self, plan);
    bool run_continues = plan->flight == FLIGHT_TAKEN && !plan->lease_expired;
    if (!plan->charged || run_continues || plan->pull_run)
        return;
    plan->charged = false;
    if (plan->target->limit)
        limit_undo_begin (plan->target->limit);
    if (group)
        limit_undo_begin (group);
}

void core_unchoose (struct core *self, const struct core_choice *choice)
{
    struct open_plan *plan = choice->plan;
    plan->chosen = false;
    undo_charge (self, plan);
    open_make_ready (self, plan, choice->due_us);
    if (!plan->placed)
        open_close_if_idle (self, plan, 0);
}

// The station writes a message with these numbers first, padded to a fixed width (plan_json.h).
bool open_has_head (const struct open_plan *plan)
{
    return plan->message_size > 66 && memcmp (plan->message, "{\"exec_id\":", 11) == 0 &&
           memcmp (plan->message + 27, ",\"exec_time\":", 13) == 0 &&
           memcmp (plan->message + 50, ",\"plan_state\":", 14) == 0;
}

// The revision in the message, which follows the head; -1: the station did not write it so.
static int64_t revision_in_message (const struct open_plan *plan)
{
    static const char name[] = ",\"revision\":";
    if (!open_has_head (plan) || plan->message_size < 90 ||
        memcmp (plan->message + 65, name, sizeof name - 1) != 0)
        return -1;
    int64_t revision = 0;
    for (size_t at = 65 + sizeof name - 1;
         at < plan->message_size && plan->message[at] >= '0' && plan->message[at] <= '9' &&
         revision < INT64_MAX / 10 - 9;
         at++)
        revision = 10 * revision + plan->message[at] - '0';
    return revision;
}

// Set the state in the message to running by replacing the message.
static void write_as_running (struct core *self, struct open_plan *plan)
{
    size_t size;
    uint8_t *text =
        message_as_running (span_of (plan->message, plan->message_size), plan->exec_id, &size);
    open_set_message (self, plan, span_of (text, size), plan->revision);
    free (text);
}

enum core_result core_begin_run (struct core *self, const struct core_choice *choice,
                                 const struct core_wish *wish, int64_t now_us,
                                 struct core_taken *ret)
{
    struct open_plan *plan = choice->plan;
    *ret = (struct core_taken){.target = core_choice_target (choice), .id = plan->id};
    bool stale = plan->gone || !plan->queued || plan->score_us != choice->due_us;
    if (stale || !plan->message) {
        undo_charge (self, plan);
        self->stale -= stale && self->stale > 0;
        if (!stale) { // its message was deleted by hand
            plan->gone = true;
            plan->flight = FLIGHT_NONE;
            pull_drop_record (self, plan);
            open_unqueue (self, plan);
            open_mark_written (self, plan, WRITE_RUN | WRITE_CLASS);
        }
        plan->chosen = false;
        open_close_if_idle (self, plan, now_us);
        return stale ? CORE_NONE : CORE_CHANGED;
    }
    bool lease_expired = plan->flight == FLIGHT_TAKEN;
    bool had_earlier = plan->flight == FLIGHT_EARLIER;
    ret->earlier_may_answer = lease_expired || had_earlier || plan->earlier_may_answer;
    ret->lost = lease_expired ? plan->exec_id : 0;
    ret->at_us = choice->due_us > now_us ? choice->due_us : now_us;
    if (plan->revision < 0)
        plan->revision = revision_in_message (plan);
    if (plan->flight != FLIGHT_FLOW) { // the run of a flow continues: it is only examined
        self->exec_id =
            self->exec_id + 1 > (uint64_t)ret->at_us ? self->exec_id + 1 : (uint64_t)ret->at_us;
        plan->exec_id = self->exec_id;
        plan->flight = FLIGHT_TAKEN;
    }
    ret->exec_id = plan->exec_id;
    self->gathering->kinds |= ROWS_CLAIM;
    plan->earlier_may_answer = ret->earlier_may_answer;
    plan->changed_in_run = false;
    if (plan->lent)
        plan->message = memory_copy (plan->message, plan->message_size);
    commands_free_later (&self->gathering->commands, plan->message);
    plan->lent = true;
    ret->message = span_of (plan->message, plan->message_size);
    // A target that the claim does not name may be a flow. The message is not changed yet, as it
    // shows what the claim is for, and whether the plan was paused.
    ret->written = wish->writes && plan->target->slots.target.size;
    open_queue (self, plan, now_us + wish->lease_us);
    open_mark_written (self, plan,
                       WRITE_RUN | (ret->written && open_has_head (plan) ? WRITE_HEAD : 0U));
    if (ret->written && !open_has_head (plan))
        write_as_running (self, plan); // somebody edited it
    plan->chosen = false;
    open_set_waiting (self, plan, false, now_us);
    return CORE_DONE;
}

void core_keep_lost_run (const struct core_choice *choice, struct core_taken *taken)
{
    if (!PLANTED (LOST_FORGOTTEN))
        choice->plan->exec_id = taken->exec_id = taken->lost;
}
