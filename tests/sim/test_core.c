// The core in random order of events: submissions, runs that end, fail, run out of their leases,
// admin commands, batches that are acknowledged late, or refused for lack of memory, owners that
// die with what was not written. The judge knows what was acknowledged and what is in flight, and
// nothing of how the core decides.
#include "../unit/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_data.h"

enum { SECOND = 1000000, LEASE_US = 5 * SECOND, TARGETS = 3, MOST = 3 };

// A plan as the judge knows it.
struct known {
    bool submitted; // and acknowledged
    bool removed, paused;
    uint64_t exec_id; // of the run that was taken and acknowledged, 0 = none
    int64_t lease_us; // until when nobody else may take it
    int64_t ended;    // runs
};

struct world {
    char name[32];
    uint64_t random;
    int64_t now_us;
    struct core *core;
    struct core_data *data;
    bool flying;              // a batch
    struct rows const *batch; // its rows
    struct known plans[DATA_PLANS];
    uint64_t ids; // given so far
    // what waits for the batch that gathers, and for the one in flight
    struct pending {
        enum { TOOK, ENDED, SUBMITTED, REMOVED, PAUSED } what;
        uint64_t id, exec_id;
    } gathering[4096], waiting[4096];
    size_t gathering_count, waiting_count;
    size_t taken, ended, reloads, refused;
};

static uint64_t draw (struct world *world, uint64_t below)
{
    uint64_t x = world->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    world->random = x;
    return x % below;
}

static bool chance (struct world *world, uint64_t per_1000)
{
    return draw (world, 1000) < per_1000;
}

static struct span target_of (uint64_t id)
{
    static const char *const names[TARGETS] = {"jobs", "news", "mail"};
    return span_text (names[id % TARGETS]);
}

static void expect (struct world *world, int what, uint64_t id, uint64_t exec_id)
{
    CHECK (world->name, world->gathering_count < ROWS (world->gathering));
    world->gathering[world->gathering_count++] = (struct pending){what, id, exec_id};
}

// -- what the station does

static void submit (struct world *world)
{
    char message[64];
    struct core_refusal refusal;
    uint64_t id = world->ids + 1;
    if (id >= DATA_PLANS)
        return;
    world->ids = id;
    int size = snprintf (message, sizeof message, "{\"plan\":%" PRIu64 "}", id);
    struct core_submission submission = {.target = target_of (id),
                                         .id = id,
                                         .message = span_of (message, (size_t)size),
                                         .revision = 1,
                                         .queued = true,
                                         .due_us =
                                             world->now_us + (int64_t)draw (world, 4 * SECOND),
                                         .priority = chance (world, 200) ? 7 : 0,
                                         .group = span_text (chance (world, 200) ? "g" : ""),
                                         .caller = span_text ("c:me")};
    CHECK (world->name,
           core_submit (world->core, &submission, world->now_us, &refusal) == CORE_DONE);
    expect (world, SUBMITTED, id, 0);
}

static void take (struct world *world)
{
    struct core_slots targets[TARGETS];
    struct core_choice choices[16];
    for (size_t i = 0; i < TARGETS; i++)
        targets[i] =
            (struct core_slots){.target = target_of (i), .free_slots = (int64_t)draw (world, 6)};
    const struct core_wish wish = {.limit = 16,
                                   .ahead_us = chance (world, 300) ? 20000 : 0,
                                   .lease_us = LEASE_US,
                                   .targets = targets,
                                   .target_count = TARGETS};
    size_t count = core_choose (world->core, &wish, world->now_us, choices, ROWS (choices));
    for (size_t i = 0; i < count; i++) {
        const struct kept_plan *plan = &world->data->plans[core_choice_id (&choices[i])];
        struct core_taken taken;
        if (choices[i].needs_read && chance (world, 50)) {
            core_unchoose (world->core, &choices[i]);
            continue;
        }
        if (choices[i].needs_read) {
            core_found_message (&choices[i],
                                plan->message ? span_text (plan->message) : (struct span){0});
            core_found_score (&choices[i], plan->queued ? plan->score_us : -1);
            core_found_run (&choices[i], span_text (plan->run));
        }
        if (core_begin_run (world->core, &choices[i], &wish, world->now_us, &taken) != CORE_DONE)
            continue;
        const struct known *known = &world->plans[taken.id];
        CHECK (world->name, known->submitted && !known->removed && !known->paused);
        if (known->exec_id && world->now_us < known->lease_us)
            fail_msg ("%s: plan %" PRIu64 " is run twice", world->name, taken.id);
        CHECK (world->name, taken.exec_id > known->exec_id);
        expect (world, TOOK, taken.id, taken.exec_id);
        world->taken++;
    }
}

static uint64_t some_run (struct world *world)
{
    for (int i = 0; i < 50 && world->ids; i++) {
        uint64_t id = 1 + draw (world, world->ids);
        if (world->plans[id].exec_id && !world->plans[id].removed)
            return id;
    }
    return 0;
}

static void answer (struct world *world)
{
    static const enum core_end ends[] = {CORE_LEASE, CORE_DOUBT, CORE_RETRY, CORE_RETRY_OUTLIVED,
                                         CORE_OVER,  CORE_GONE,  CORE_GONE};
    uint64_t id = some_run (world);
    struct core_committed committed;
    if (!id)
        return;
    enum core_end end = ends[draw (world, ROWS (ends))];
    bool over = end != CORE_LEASE && end != CORE_DOUBT;
    struct core_commit commit = {.target = target_of (id),
                                 .id = id,
                                 .exec_id = world->plans[id].exec_id,
                                 .end = end,
                                 .queued = true,
                                 .due_us = world->now_us + (int64_t)draw (world, 3 * SECOND),
                                 .decided_on = -1,
                                 .broadcast = over ? CORE_PUBLISHED : CORE_UNPUBLISHED,
                                 .caller = span_text ("c:me"),
                                 .record = span_text (over ? "record" : "")};
    if (end == CORE_LEASE)
        commit.due_us = world->now_us + LEASE_US;
    if (core_commit (world->core, &commit, world->now_us, &committed) != CORE_DONE)
        return;
    if (end == CORE_GONE)
        expect (world, REMOVED, id, commit.exec_id);
    if (over)
        expect (world, ENDED, id, commit.exec_id);
}

static void manage (struct world *world)
{
    uint64_t id = world->ids ? 1 + draw (world, world->ids) : 0;
    struct known *known = &world->plans[id];
    if (!id || !known->submitted || known->removed)
        return;
    if (chance (world, 300)) {
        core_remove (world->core, &(struct core_removal){target_of (id), id, span_text ("c:me")},
                     world->now_us);
        known->removed = true; // nothing of it may be run from now on
        return;
    }
    struct core_view view;
    bool seen = core_view (world->core, id, &view);
    if ((seen && (view.gone || view.exec_id)) || known->exec_id)
        return;
    struct core_change change = {.target = target_of (id),
                                 .id = id,
                                 .message = span_text ("{\"changed\":1}"),
                                 .revision = 2,
                                 .was_revision = seen && view.revision >= 0 ? view.revision : 2,
                                 .exec_id = seen ? view.exec_id : 0,
                                 .place = known->paused ? CORE_AT : CORE_OUT,
                                 .due_us = world->now_us};
    if (core_change (world->core, &change, world->now_us) == CORE_DONE)
        known->paused = change.place == CORE_OUT;
}

// -- batches

static void settle (struct world *world)
{
    for (size_t i = 0; i < world->waiting_count; i++) {
        const struct pending *pending = &world->waiting[i];
        struct known *known = &world->plans[pending->id];
        if (pending->what == SUBMITTED) {
            known->submitted = true;
        } else if (pending->what == TOOK) {
            known->exec_id = pending->exec_id;
            known->lease_us = world->now_us; // at least; it may run out any time behind that
        } else if (pending->what == ENDED && known->exec_id == pending->exec_id) {
            known->exec_id = 0;
            known->ended++;
            world->ended++;
        } else if (pending->what == REMOVED) {
            known->removed = true;
        }
    }
    world->waiting_count = 0;
}

static void send (struct world *world)
{
    const char *why;
    if (world->flying || !core_has_rows (world->core))
        return;
    world->batch = core_close_batch (world->core);
    bool refused = chance (world, 100); // Redis has no memory for more plans
    if (refused)
        world->batch = core_drop_submissions (world->core);
    if (!core_data_apply (world->data, world->batch, &why))
        fail_msg ("%s: %s", world->name, why);
    for (size_t i = 0; i < world->gathering_count; i++) {
        if (refused && world->gathering[i].what == SUBMITTED)
            world->refused++;
        else
            world->waiting[world->waiting_count++] = world->gathering[i];
    }
    world->gathering_count = 0;
    world->flying = true;
}

static void acknowledge (struct world *world)
{
    if (!world->flying)
        return;
    settle (world);
    core_batch_acked (world->core, world->now_us);
    world->flying = false;
    if (chance (world, 20))
        core_release_memory (world->core);
}

// What was sent is applied, and heard of or not; what was not sent is gone.
static void die (struct world *world)
{
    if (world->flying)
        settle (world);
    world->flying = false;
    world->gathering_count = world->waiting_count = 0;
    core_reset (world->core);
    core_data_load (world->data, world->core);
    world->reloads++;
    for (uint64_t id = 1; id <= world->ids; id++) { // of commands nothing is promised here
        const struct kept_plan *plan = &world->data->plans[id];
        world->plans[id].removed = !plan->message;
        world->plans[id].submitted = plan->message != NULL;
        world->plans[id].paused = plan->message && !plan->queued;
        if (!plan->run[0] || plan->run[0] == '+')
            world->plans[id].exec_id = 0;
    }
}

static void read_page (struct world *world)
{
    struct core_cursor cursor;
    if (core_wants_page (world->core, world->now_us, &cursor))
        core_data_page (world->data, world->core, &cursor, world->now_us);
}

static void turn (struct world *world)
{
    static void (*const steps[]) (struct world *) = {submit, take,   take, answer,      answer,
                                                     answer, manage, send, acknowledge, read_page};
    world->now_us += (int64_t)draw (world, chance (world, 5) ? 8 * SECOND : 20000);
    steps[draw (world, ROWS (steps))](world);
    if (chance (world, 1))
        die (world);
}

// -- the judge

// Redis has of each plan all or nothing, and counts those that it has.
static void check_data (const struct world *world)
{
    int64_t listed = 0, counted = 0;
    for (size_t i = 0; i < DATA_PLANS; i++) {
        const struct kept_plan *plan = &world->data->plans[i];
        if (!plan->used)
            continue;
        listed += plan->listed;
        CHECK (world->name, plan->listed == (plan->message != NULL));
        CHECK (world->name, plan->message || (!plan->queued && !plan->run[0] && !plan->class[0]));
    }
    for (size_t i = 0; i < DATA_COUNTS; i++)
        counted +=
            strncmp (world->data->counts[i].name, "s:", 2) == 0 ? world->data->counts[i].plans : 0;
    CHECK (world->name, counted == listed && core_data_count (world->data, "c:me") == listed);
}

// Whatever is queued is run, when time passes and nothing else happens.
static void check_all_run (struct world *world)
{
    for (int i = 0; i < 4000; i++) {
        world->now_us += 20000;
        for (int k = 0; k < 3; k++) {
            take (world);
            send (world);
            acknowledge (world);
            read_page (world);
        }
        for (uint64_t id = 1; id <= world->ids; id++) {
            struct core_committed committed;
            if (!world->plans[id].exec_id)
                continue;
            struct core_commit commit = {.target = target_of (id),
                                         .id = id,
                                         .exec_id = world->plans[id].exec_id,
                                         .end = CORE_GONE,
                                         .decided_on = -1,
                                         .caller = span_text ("c:me")};
            if (core_commit (world->core, &commit, world->now_us, &committed) == CORE_DONE)
                expect (world, REMOVED, id, commit.exec_id);
            world->plans[id].exec_id = 0;
        }
    }
    send (world);
    acknowledge (world);
    for (size_t i = 0; i < DATA_PLANS; i++)
        if (world->data->plans[i].queued)
            fail_msg ("%s: plan %zu was never run: due %" PRId64 " us ago, run \"%s\"", world->name,
                      i, world->now_us - world->data->plans[i].score_us, world->data->plans[i].run);
}

static void simulate (uint64_t seed, size_t turns, struct world *sums)
{
    struct world *world = calloc (1, sizeof *world);
    const struct core_bounds bounds = {.outcomes = 1000};
    assert_non_null (world);
    world->random = seed * 2654435761u + 1;
    world->now_us = 1700000000ll * SECOND;
    snprintf (world->name, sizeof world->name, "seed %" PRIu64, seed);
    world->core = core_new (&bounds);
    world->data = calloc (1, sizeof *world->data);
    assert_non_null (world->data);
    core_data_load (world->data, world->core);
    for (size_t i = 0; i < turns; i++)
        turn (world);
    send (world);
    acknowledge (world);
    check_data (world);
    check_all_run (world);
    check_data (world);
    sums->taken += world->taken;
    sums->ended += world->ended;
    sums->reloads += world->reloads;
    sums->refused += world->refused;
    core_destroy (&world->core);
    core_data_free (world->data);
    free (world);
}

static void plans_run_once_and_none_is_forgotten (void **state)
{
    (void)state;
    const char *wanted = getenv ("CORE_SEED"), *runs = getenv ("CORE_RUNS");
    uint64_t first = wanted ? strtoull (wanted, NULL, 10) : 1;
    uint64_t count = wanted ? 1 : runs ? strtoull (runs, NULL, 10) : 20;
    struct world *sums = calloc (1, sizeof *sums);
    assert_non_null (sums);
    for (uint64_t seed = first; seed < first + count; seed++)
        simulate (seed, 20000, sums);
    print_message ("%zu runs began, %zu ended, %zu takeovers, %zu plans refused\n", sums->taken,
                   sums->ended, sums->reloads, sums->refused);
    CHECK ("all", sums->taken > 100 * count && sums->ended > 50 * count && sums->refused > count);
    CHECK ("all", wanted || sums->reloads > count);
    free (sums);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (plans_run_once_and_none_is_forgotten)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
