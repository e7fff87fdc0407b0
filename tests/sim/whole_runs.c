// Runs at a station: plans are claimed, sent, answered and decided on; as store_claim.c,
// store_commit.c and the station above them do.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "whole.h"

#define TEXT(text) span_text (text)

// -- runs that are in flight here

static struct held *held_find (const struct station *station, uint64_t id)
{
    struct table_node *node = table_find (&station->held, table_hash_number (id));
    while (node && ((struct held *)node)->id != id)
        node = table_next (node);
    return (struct held *)node; // it is the first member
}

static void held_drop (struct held *held)
{
    struct station *station = held->station;
    table_remove (&station->held, &held->node);
    station->held_of[held->target]--;
    happen_never (station->world, &held->late);
    free (held);
}

void held_reset (struct station *station)
{
    for (struct table_node *node; (node = table_any (&station->held));)
        held_drop ((struct held *)node);
    table_free (&station->held);
    station->held = (struct table){0};
}

static void on_late (struct world *world, struct happening *happening);

static struct held *held_make (struct station *station, int target, uint64_t id, uint64_t exec_id,
                               struct span message)
{
    struct held *held = held_find (station, id);
    if (held)
        held_drop (held);
    held = memory_new (sizeof *held);
    held->station = station;
    held->id = id;
    held->exec_id = exec_id;
    held->target = target;
    held->late.call = on_late;
    record_read (message, &held->record);
    table_add (&station->held, &held->node, table_hash_number (id));
    station->held_of[target]++;
    return held;
}

// -- what becomes of a run

static void on_committed (struct done *done, enum written how)
{
    struct station *station = done->station;
    if (how == WRITTEN && done->seq && station->alive)
        judge_broadcast (station->world->judge, done->process, done->epoch, done->seq, done->id,
                         done->exec_id);
    free (done);
}

// What the engine would decide.
static struct core_commit decide (struct held *held, enum answer answer, struct record *next)
{
    struct station *station = held->station;
    struct world *world = station->world;
    int64_t now_us = station_redis (station);
    struct core_commit commit = {.target = TEXT (target_name (held->target)),
                                 .id = held->id,
                                 .exec_id = held->exec_id,
                                 .queued = true,
                                 .decided_on = held->record.revision};
    *next = held->record;
    next->revision = ++world->revisions;
    switch (answer) {
    case ANSWER_RUNING:
        commit.end = CORE_LEASE;
        commit.due_us = now_us + LEASE_US;
        return commit;
    case ANSWER_NONE:
        commit.end = CORE_DOUBT;
        commit.due_us = now_us + 2 * SECOND;
        return commit;
    case ANSWER_AWAY:
        commit.end = CORE_RETRY;
        commit.due_us = now_us + 30 * SECOND;
        commit.waits = true;
        return commit;
    case ANSWER_ERROR:
        next->fails++;
        if (next->fails % 4) {
            commit.end = CORE_RETRY;
            commit.due_us = now_us + SECOND;
            commit.broadcast = CORE_FAILURE;
            return commit;
        }
        break;
    case ANSWER_OK:
        break;
    }
    commit.broadcast = CORE_PUBLISHED;
    commit.end = next->every_ms ? CORE_OVER : CORE_GONE;
    next->runs++;
    commit.queued = !next->paused;
    commit.due_us = now_us + next->every_ms * MS;
    return commit;
}

static bool commit_once (struct held *held, enum answer answer, struct core_committed *ret)
{
    struct station *station = held->station;
    struct record next;
    char message[400], caller[16], record[40];
    struct core_commit commit = decide (held, answer, &next);
    bool over = answer == ANSWER_OK || answer == ANSWER_ERROR;
    snprintf (caller, sizeof caller, "c:%" PRId64, next.caller);
    snprintf (record, sizeof record, "%" PRIu64 " %d", held->exec_id, answer);
    commit.caller = TEXT (caller);
    if (over && commit.end != CORE_GONE) {
        commit.message = span_of (message, record_write (&next, false, message));
        commit.revision = next.revision;
    }
    if (over)
        commit.record = TEXT (record);
    if (core_commit (station->core, &commit, station_redis (station), ret) != CORE_DONE)
        return false;
    struct done *done = done_new (station, on_committed);
    done->id = held->id;
    done->exec_id = held->exec_id;
    done->seq = ret->seq;
    snprintf (done->epoch, sizeof done->epoch, "%s", core_epoch (station->core));
    done_wait (done, WAITER_SURE);
    return true;
}

static void commit (struct held *held, enum answer answer)
{
    struct station *station = held->station;
    struct core_committed committed;
    bool goes_on = answer == ANSWER_RUNING;
    station->world->events++;
    for (int i = 0; i < 3; i++) {
        committed = (struct core_committed){0};
        if (commit_once (held, answer, &committed)) {
            station->world->ended += !goes_on && answer != ANSWER_NONE;
            break;
        }
        if (!committed.message.data || !record_read (committed.message, &held->record)) {
            goes_on = false;
            break;
        }
    }
    if (answer == ANSWER_NONE) {
        judge_doubted (station->world->judge, held->id);
        happen (station->world, &held->late, station->world->now_us + 3 * SECOND); // forgotten
    } else if (!goes_on) {
        held_drop (held);
    }
}

static void on_late (struct world *world, struct happening *happening)
{
    struct held *held = (struct held *)((uint8_t *)happening - offsetof (struct held, late));
    struct station *station = held->station;
    if (!station_can (station)) {
        happen (world, happening, station->stalled_us);
        return;
    }
    if (held->status) {
        held_drop (held);
    } else if (station->state == SERVING) {
        held->status = true;
        commit (held, ANSWER_NONE);
        station_turn (station);
    } else {
        happen (world, happening, world->now_us + SECOND);
    }
}

// -- answers of targets

struct late_answer { // of a run that was not begun here, or that was given up
    uint64_t id, exec_id;
    int target;
    enum answer answer;
};

static void decide_on (struct held *held, enum answer answer)
{
    struct world *world = held->station->world;
    held->status = true;
    happen (world, &held->late, world->now_us + LEASE_US + SECOND);
    commit (held, answer);
}

static void on_run_read (struct station *station, void *owner, redisReply *const *replies,
                         size_t count)
{
    struct late_answer *late = owner;
    struct span message, run;
    struct core_view view;
    if (count && station->state == SERVING && !held_find (station, late->id)) {
        bool known = core_view (station->core, late->id, &view);
        message = known && view.message.data ? view.message : text_of (replies[0]);
        run = text_of (replies[1]);
        uint64_t exec_id = known      ? view.exec_id
                           : run.size ? strtoull (replies[1]->str, NULL, 10)
                                      : 0;
        if (exec_id == late->exec_id && message.size)
            decide_on (held_make (station, late->target, late->id, exec_id, message), late->answer);
    }
    free (late);
}

void station_answer (struct station *station, int target, uint64_t id, uint64_t exec_id,
                     enum answer answer)
{
    char member[64];
    struct held *held = held_find (station, id);
    if (held && held->exec_id == exec_id) {
        decide_on (held, answer);
        return;
    }
    struct late_answer *late = memory_new (sizeof *late);
    *late = (struct late_answer){id, exec_id, target, answer};
    member_text (member, "msg", target, id);
    ask (station,
         (const struct span[]){TEXT ("GET"), TEXT (member), TEXT ("HGET"), TEXT ("plan:run"),
                               TEXT (member)},
         (const size_t[]){2, 3}, 2, on_run_read, late);
}

// -- claims

struct claim {
    struct done *done;
    struct station *station; // NULL = what was chosen is forgotten
    struct core_wish wish;
    struct core_slots targets[JUDGE_TARGETS];
    struct core_choice choices[CHOICES];
    size_t count, read[CHOICES], read_count;
    bool runs;
    struct taken {
        int target;
        uint64_t id, exec_id;
        int64_t at_us;
        bool lost; // its lease is over, and it is ended
    } taken[CHOICES];
    size_t taken_count;
    int64_t lease_end_us;
};

void claim_reset (struct station *station)
{
    if (station->claiming)
        station->claiming->station = NULL;
    station->claiming = NULL;
}

// A dispatch at its time.
struct ahead {
    struct happening happening;
    struct station *station;
    int process;
    struct taken taken;
    int64_t lease_end_us;
};

static void dispatch (struct station *station, const struct taken *taken, int64_t lease_end_us)
{
    struct world *world = station->world;
    struct held *held = held_find (station, taken->id);
    if (!held || held->exec_id != taken->exec_id)
        return;
    if (!owner_is_leased (writer_owner (station->writer), station_boot (station)) ||
        station_redis (station) > lease_end_us - SECOND / 2) {
        world->stale++;
        held_drop (held);
        return;
    }
    if (taken->lost) {
        if (station->state == SERVING)
            decide_on (held, ANSWER_ERROR);
        return;
    }
    happen (world, &held->late, world->now_us + STATUS_US);
    if (!world->targets[taken->target].up) {
        if (station->state == SERVING)
            decide_on (held, ANSWER_AWAY);
        return;
    }
    judge_dispatched (world->judge, station->process, taken->id, taken->exec_id);
    target_receive (station, taken->target, taken->id, taken->exec_id);
}

static void on_ahead (struct world *world, struct happening *happening)
{
    struct ahead *ahead = (struct ahead *)happening; // it is the first member
    struct station *station = ahead->station;
    bool same = station->alive && station->process == ahead->process;
    if (same && !station_can (station)) {
        happen (world, happening, station->stalled_us);
        return;
    }
    if (same) {
        dispatch (station, &ahead->taken, ahead->lease_end_us);
        station_turn (station);
    }
    free (ahead);
}

static void on_claimed (struct done *done, enum written how)
{
    struct claim *claim = done->owner;
    struct station *station = done->station;
    if (station->claiming == claim)
        station->claiming = NULL;
    for (size_t i = 0; how == WRITTEN && station->alive && i < claim->taken_count; i++) {
        const struct taken *taken = &claim->taken[i];
        int64_t early_us = taken->at_us - station_redis (station);
        if (early_us <= 0) {
            dispatch (station, taken, claim->lease_end_us);
            continue;
        }
        struct ahead *ahead = memory_new (sizeof *ahead);
        *ahead = (struct ahead){
            {.call = on_ahead}, station, station->process, *taken, claim->lease_end_us};
        happen (station->world, &ahead->happening, station->world->now_us + early_us);
    }
    free (claim);
    free (done);
}

static void take_one (struct claim *claim, const struct core_choice *choice, int64_t now_us)
{
    struct station *station = claim->station;
    struct core_taken taken;
    station->world->events++;
    if (core_begin_run (station->core, choice, &claim->wish, now_us, &taken) != CORE_DONE)
        return;
    int target = target_of (taken.target);
    station->world->taken++;
    bool ends = taken.lost && taken.id % 4; // as of a plan with `retry`
    if (ends) {
        core_keep_lost_run (choice, &taken);
    } else if (taken.lost) {
        char record[40];
        snprintf (record, sizeof record, "%" PRIu64 " %d", taken.lost, ANSWER_NONE);
        core_outcome (station->core, taken.target, taken.id, now_us / 1000, TEXT (record),
                      (struct span){0});
    }
    held_make (station, target, taken.id, taken.exec_id, taken.message);
    claim->taken[claim->taken_count++] =
        (struct taken){target, taken.id, taken.exec_id, taken.at_us, ends};
}

static void take_all (struct claim *claim)
{
    struct station *station = claim->station;
    int64_t now_us = station_redis (station);
    for (size_t i = 0; i < claim->count; i++)
        take_one (claim, &claim->choices[i], now_us);
    claim->lease_end_us = now_us + FIRST_LEASE_US;
    station->claiming = NULL;
    struct done *done = done_new (station, on_claimed);
    done->owner = claim;
    done_wait (done, WAITER_SURE);
}

static void found (const struct core_choice *choice, redisReply *const *replies, size_t i,
                   bool runs)
{
    core_found_message (choice, text_of (replies[0]->element[i]));
    core_found_score (choice, score_us_of (replies[1]->element[i]));
    if (runs)
        core_found_run (choice, text_of (replies[2]->element[i]));
}

static bool is_read (redisReply *const *replies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (replies[i]->type != REDIS_REPLY_ARRAY)
            return false;
    return count > 0;
}

static void on_plans (struct station *station, void *owner, redisReply *const *replies,
                      size_t count)
{
    struct claim *claim = owner;
    if (!claim->station) {
        free (claim);
        return;
    }
    if (!is_read (replies, count)) {
        for (size_t i = 0; i < claim->count; i++)
            core_unchoose (station->core, &claim->choices[i]);
        claim_reset (station);
        free (claim);
        return;
    }
    for (size_t i = 0; i < claim->read_count; i++)
        found (&claim->choices[claim->read[i]], replies, i, claim->runs);
    take_all (claim);
}

static void ask_plans (struct station *station, const struct core_choice *choices,
                       const size_t *which, size_t count, bool runs, packet_fn *reply, void *owner)
{
    char members[CHOICES][64];
    struct span words[3 * CHOICES + 5];
    const size_t sizes[] = {count + 1, count + 2, count + 2};
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct core_choice *choice = &choices[which ? which[i] : i];
        member_text (members[i], "msg", target_of (core_choice_target (choice)),
                     core_choice_id (choice));
    }
    for (int question = 0; question < 2 + runs; question++) {
        static const char *const names[] = {"MGET", "ZMSCORE", "HMGET"};
        words[at++] = TEXT (names[question]);
        if (question)
            words[at++] = TEXT (question == 1 ? "plan:time:set" : "plan:run");
        for (size_t i = 0; i < count; i++)
            words[at++] = TEXT (members[i]);
    }
    ask (station, words, sizes, (size_t)2 + runs, reply, owner);
}

// -- the next ones are read beside

struct read_ahead {
    uint64_t resets;
    struct core_choice choices[CHOICES];
    size_t count;
    bool runs;
};

static void on_read_ahead (struct station *station, void *owner, redisReply *const *replies,
                           size_t count)
{
    struct read_ahead *ahead = owner;
    bool read = is_read (replies, count);
    if (station->alive && core_resets (station->core) == ahead->resets)
        for (size_t i = 0; i < ahead->count; i++) {
            if (read)
                found (&ahead->choices[i], replies, i, ahead->runs);
            core_end_prefetch (station->core, &ahead->choices[i], read);
        }
    free (ahead);
}

static void read_ahead (struct station *station)
{
    struct read_ahead *ahead = memory_new (sizeof *ahead);
    ahead->resets = core_resets (station->core);
    ahead->runs = core_wants_runs (station->core);
    ahead->count = core_choose_prefetch (station->core, ahead->choices, CHOICES);
    if (ahead->count)
        ask_plans (station, ahead->choices, NULL, ahead->count, ahead->runs, on_read_ahead, ahead);
    else
        free (ahead);
}

static void set_free_slots (struct station *station, struct claim *claim)
{
    enum { SLOTS = 200 };
    for (int i = 0; i < JUDGE_TARGETS; i++) {
        int64_t slots = station->world->targets[i].up ? SLOTS - station->held_of[i] : 0;
        claim->targets[i] = (struct core_slots){.target = TEXT (target_name (i)),
                                                .free_slots = slots > 0 ? slots : 0};
        const struct limit limit = {.concurrency = 5 + 7 * i};
        char name[16];
        int size = snprintf (name, sizeof name, "s:%s", target_name (i));
        if (station->world->settings_limits && i < JUDGE_LIMITED)
            core_configure_limit (station->core, span_of (name, (size_t)size), &limit);
    }
    claim->wish = (struct core_wish){.limit = CHOICES,
                                     .ahead_us = AHEAD_US,
                                     .lease_us = FIRST_LEASE_US,
                                     .targets = claim->targets,
                                     .target_count = JUDGE_TARGETS};
}

void claim_turn (struct station *station)
{
    if (station->claiming)
        return;
    struct claim *claim = memory_resize (NULL, sizeof *claim);
    claim->station = station;
    claim->count = claim->read_count = claim->taken_count = 0;
    set_free_slots (station, claim);
    claim->count =
        core_choose (station->core, &claim->wish, station_redis (station), claim->choices, CHOICES);
    claim->wish.writes = claim->count <= CHOICES / 2;
    if (!claim->count) {
        free (claim);
        return;
    }
    for (size_t i = 0; i < claim->count; i++)
        if (claim->choices[i].needs_read)
            claim->read[claim->read_count++] = i;
    claim->runs = core_wants_runs (station->core);
    if (claim->read_count) {
        station->claiming = claim;
        ask_plans (station, claim->choices, claim->read, claim->read_count, claim->runs, on_plans,
                   claim);
    } else {
        take_all (claim);
    }
    read_ahead (station);
}
