// Runs that workers fetch, in random order of events: offers, workers that take, live, report, are
// late or return plans; batches that are acknowledged late, owners that die with what was not
// written. The judge knows what was acknowledged, and nothing of how the core decides.
#include "../unit/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core_data.h"

enum { SECOND = 1000000, LEASE_US = 30 * SECOND, WORKERS = 5, TIMEOUT_S = 60 };

// A worker at work on a plan, as the judge knows it.
struct job {
    uint64_t exec_id;  // that it was given, 0 = it is not at work
    int64_t late_ms;   // when it has lost the plan
    bool acknowledged; // its take, by Redis
    bool reported;
};

struct known {
    bool gone;
    uint64_t exec_id; // of the run in flight
    int64_t tries;
    struct job jobs[WORKERS];
};

struct world {
    char name[32];
    uint64_t random;
    int64_t now_us;
    struct core *core;
    struct core_data *data;
    bool flying;
    struct known plans[DATA_PLANS], flown[DATA_PLANS], written[DATA_PLANS]; // now; of the batch in
                                                                            // flight; in Redis
    uint64_t ids;
    size_t given, reported, late, ended, takeovers;
};

static uint64_t draw (struct world *world, uint64_t below)
{
    return next_random (&world->random) % below;
}

static bool chance (struct world *world, uint64_t per_1000)
{
    return draw (world, 1000) < per_1000;
}

static struct span target (void)
{
    return span_text ("pile");
}

static int64_t slots_of (uint64_t id)
{
    return 1 + (int64_t)(id % 3);
}

static size_t message_of (uint64_t id, int64_t tries, char out[200])
{
    return (size_t)snprintf (
        out, 200,
        "{\"exec_id\":0               ,\"exec_time\":0         "
        ",\"plan_state\":1,\"revision\":1,\"plan_time\":7,\"error_count\":%" PRId64
        ",\"workers\":{\"count\":%" PRId64 ",\"again\":%s}}",
        tries, slots_of (id), id % 2 ? "true" : "false");
}

// -- the station

static void submit (struct world *world)
{
    char message[200];
    struct core_refusal refusal;
    uint64_t id = world->ids + 1;
    if (id >= 300 || chance (world, 600))
        return;
    world->ids = id;
    const struct core_submission submission = {
        .target = target (),
        .id = id,
        .message = span_of (message, message_of (id, 0, message)),
        .revision = 1,
        .queued = true,
        .due_us = world->now_us + (int64_t)draw (world, 2 * SECOND)};
    CHECK (world->name,
           core_submit (world->core, &submission, world->now_us, &refusal) == CORE_DONE);
}

static void offer (struct world *world, const struct core_taken *taken)
{
    struct core_found found;
    struct core_offered offered;
    struct core_offer given = {.target = target (),
                               .id = taken->id,
                               .exec_id = taken->exec_id,
                               .already_offered = memmem (taken->message.data, taken->message.size,
                                                          "\"plan_state\":2", 14) != NULL,
                               .lease_us = LEASE_US};
    enum core_result result = core_pull_offer (world->core, &given, world->now_us, &offered);
    if (result == CORE_UNREAD) {
        core_data_find (world->data, taken->id, &found);
        given.found = &found;
        result = core_pull_offer (world->core, &given, world->now_us, &offered);
    }
    CHECK (world->name, result == CORE_DONE);
}

static void claim (struct world *world)
{
    const struct core_slots slots = {.target = target (), .free_slots = 100, .pull = true};
    const struct core_wish wish = {.limit = 8,
                                   .lease_us = LEASE_US,
                                   .targets = &slots,
                                   .target_count = 1,
                                   .writes = chance (world, 500)};
    struct core_choice choices[8];
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
        CHECK (world->name, taken.lost == 0 || world->takeovers);
        world->plans[taken.id].exec_id = taken.exec_id;
        offer (world, &taken);
    }
}

// Whoever is at work and not late has a place of its own.
static void check_place (struct world *world, uint64_t id, size_t worker)
{
    struct known *known = &world->plans[id];
    int64_t taken = 0;
    for (size_t i = 0; i < WORKERS; i++)
        taken += known->jobs[i].exec_id &&
                 (known->jobs[i].reported || known->jobs[i].late_ms > world->now_us / 1000);
    const struct job *own = &known->jobs[worker];
    bool again = own->exec_id && (own->reported || own->late_ms > world->now_us / 1000);
    if (known->gone || again || taken >= slots_of (id))
        fail_msg ("%s: plan %" PRIu64 " is given to worker %zu", world->name, id, worker);
}

static void take (struct world *world)
{
    struct core_job jobs[4];
    struct core_pull_taken taken;
    size_t worker = draw (world, WORKERS);
    char name[] = {(char)('a' + (char)worker), '\0'};
    const struct core_pull_take wanted = {.target = target (),
                                          .worker = span_text (name),
                                          .limit = 1 + (int64_t)draw (world, 4),
                                          .lease_us = LEASE_US,
                                          .alone = true};
    core_pull_take (world->core, &wanted, world->now_us, jobs, &taken);
    for (size_t i = 0; i < taken.count; i++) {
        check_place (world, jobs[i].id, worker);
        CHECK (world->name, jobs[i].exec_id == world->plans[jobs[i].id].exec_id);
        world->plans[jobs[i].id].jobs[worker] = (struct job){
            .exec_id = jobs[i].exec_id, .late_ms = world->now_us / 1000 + TIMEOUT_S * 1000 + 1};
        world->given++;
    }
}

// -- its workers

// One that is at work, and whose take was acknowledged: it has its reply. 0 = there is none.
static uint64_t some_job (struct world *world, size_t *ret_worker)
{
    for (int i = 0; i < 100 && world->ids; i++) {
        uint64_t id = 1 + draw (world, world->ids);
        *ret_worker = draw (world, WORKERS);
        if (world->plans[id].jobs[*ret_worker].acknowledged && !world->plans[id].gone)
            return id;
    }
    return 0;
}

static struct core_worker worker_of (struct world *world, uint64_t id, size_t worker, char name[2])
{
    name[0] = (char)('a' + (char)worker);
    name[1] = '\0';
    return (struct core_worker){.id = id,
                                .target = target (),
                                .worker = span_text (name),
                                .exec_id = world->plans[id].jobs[worker].exec_id,
                                .lease_us = LEASE_US};
}

static void live (struct world *world)
{
    char name[2];
    size_t worker;
    struct core_found found;
    struct core_alive alive;
    uint64_t id = some_job (world, &worker);
    const struct core_heartbeat heartbeat = {.release = chance (world, 100)};
    if (!id)
        return;
    struct job *job = &world->plans[id].jobs[worker];
    struct core_worker of = worker_of (world, id, worker, name);
    if (core_pull_alive (world->core, &of, &heartbeat, world->now_us, &alive) == CORE_UNREAD) {
        core_data_find (world->data, id, &found);
        of.found = &found;
        CHECK (world->name,
               core_pull_alive (world->core, &of, &heartbeat, world->now_us, &alive) == CORE_DONE);
    }
    bool is_late = job->late_ms <= world->now_us / 1000;
    if (!job->reported && !heartbeat.release && is_late != (alive.stop != NULL))
        fail_msg ("%s: plan %" PRIu64 ", worker %zu, late %d: %s", world->name, id, worker, is_late,
                  alive.stop ? alive.stop : "goes on");
    world->late += is_late;
    if (alive.stop && !job->reported)
        *job = (struct job){0};
    else if (!alive.stop)
        job->late_ms = world->now_us / 1000 + TIMEOUT_S * 1000 + 1;
}

static void end (struct world *world, uint64_t id, bool failed)
{
    char message[200];
    struct known *known = &world->plans[id];
    struct core_committed committed;
    known->tries += failed;
    const struct core_commit commit = {
        .target = target (),
        .id = id,
        .exec_id = known->exec_id,
        .end = failed ? CORE_RETRY : CORE_GONE,
        .queued = failed,
        .due_us = world->now_us + (int64_t)draw (world, SECOND),
        .message =
            failed ? span_of (message, message_of (id, known->tries, message)) : (struct span){0},
        .revision = 1,
        .decided_on = -1,
        .has_team = true};
    CHECK (world->name, core_commit (world->core, &commit, world->now_us, &committed) == CORE_DONE);
    known->exec_id = 0;
    known->gone = !failed;
    for (size_t i = 0; i < WORKERS; i++)
        known->jobs[i] = (struct job){0};
    world->ended++;
}

static void report (struct world *world)
{
    char name[2];
    size_t worker;
    struct core_reported reported;
    uint64_t id = some_job (world, &worker);
    if (!id)
        return;
    struct job *job = &world->plans[id].jobs[worker];
    struct core_worker of = worker_of (world, id, worker, name);
    bool is_late = !job->reported && job->late_ms <= world->now_us / 1000;
    const struct core_report given = {.success = (id + worker) % 3 != 0};
    struct core_found found;
    if (core_pull_report (world->core, &of, &given, world->now_us, &reported) == CORE_UNREAD) {
        core_data_find (world->data, id, &found);
        of.found = &found;
        CHECK (world->name,
               core_pull_report (world->core, &of, &given, world->now_us, &reported) == CORE_DONE);
    }
    if (!reported.refused == is_late)
        fail_msg ("%s: plan %" PRIu64 ", worker %zu: %s", world->name, id, worker,
                  reported.refused ? reported.refused : "accepted, though it is late");
    world->reported += !is_late;
    if (is_late)
        *job = (struct job){0};
    else
        job->reported = true;
    if (reported.outcome.complete)
        end (world, id, reported.outcome.failed > 0);
}

// -- batches

static void acknowledge (struct world *world)
{
    if (!world->flying)
        return;
    memcpy (world->written, world->flown, sizeof world->written);
    for (uint64_t id = 1; id <= world->ids; id++)
        for (size_t i = 0; i < WORKERS; i++)
            if (world->plans[id].jobs[i].exec_id &&
                world->plans[id].jobs[i].exec_id == world->written[id].jobs[i].exec_id)
                world->plans[id].jobs[i].acknowledged = true;
    core_batch_acked (world->core, world->now_us);
    world->flying = false;
    if (chance (world, 20))
        core_release_memory (world->core);
}

static void send (struct world *world)
{
    const char *why;
    if (world->flying || !core_has_rows (world->core))
        return;
    const struct rows *rows = core_close_batch (world->core);
    if (chance (world, 50)) // Redis has no memory: the rest goes
        rows = core_drop_submissions (world->core);
    if (!core_data_apply (world->data, rows, &why))
        fail_msg ("%s: %s", world->name, why);
    memcpy (world->flown, world->plans, sizeof world->flown);
    world->flying = true;
}

static void read_page (struct world *world)
{
    struct core_cursor cursor;
    if (core_wants_page (world->core, world->now_us, &cursor))
        core_data_page (world->data, world->core, &cursor, world->now_us);
}

// Another owner reads what there is. What was sent is applied; the rest is gone.
static void die (struct world *world)
{
    struct core_team_name names[7];
    struct core_found found;
    if (world->flying)
        memcpy (world->written, world->flown, sizeof world->written);
    world->flying = false;
    memcpy (world->plans, world->written, sizeof world->plans);
    core_reset (world->core);
    core_data_load (world->data, world->core);
    for (size_t count; (count = core_unread_teams (world->core, names, ROWS (names)));)
        for (size_t i = 0; i < count && !chance (world, 100); i++) { // or when a worker asks
            core_data_find (world->data, names[i].id, &found);
            core_load_team (world->core, names[i].target, names[i].id, &found, world->now_us);
        }
    for (uint64_t id = 1; id <= world->ids; id++)
        for (size_t i = 0; i < WORKERS; i++)
            world->plans[id].jobs[i].acknowledged = world->plans[id].jobs[i].exec_id != 0;
    world->takeovers++;
}

static void turn (struct world *world)
{
    static void (*const steps[]) (struct world *) = {
        submit, claim, claim, take, take, live, live, report, send, acknowledge, read_page};
    world->now_us += (int64_t)draw (world, chance (world, 10) ? 70 * SECOND : 200000);
    steps[draw (world, ROWS (steps))](world);
    if (chance (world, 2))
        die (world);
}

// Every plan ends when its workers go on.
static void check_all_end (struct world *world)
{
    for (int i = 0; i < 80000; i++) {
        world->now_us += 100000;
        claim (world);
        take (world);
        report (world);
        send (world);
        acknowledge (world);
        read_page (world);
    }
    for (size_t i = 0; i < DATA_PLANS; i++) {
        const struct kept_plan *plan = &world->data->plans[i];
        if (plan->message)
            fail_msg ("%s: plan %zu has not ended: run \"%s\", due in %" PRId64 " us", world->name,
                      i, plan->run, plan->score_us - world->now_us);
        for (size_t k = 0; k < DATA_FIELDS; k++)
            CHECK (world->name, !*plan->team[k].name);
    }
    CHECK (world->name, core_pull_offers (world->core, target ()) == 0);
}

static void simulate (uint64_t seed, size_t turns, struct world *sums)
{
    struct world *world = calloc (1, sizeof *world);
    assert_non_null (world);
    world->random = seed * 2654435761u + 1;
    world->now_us = 1700000000ll * SECOND;
    snprintf (world->name, sizeof world->name, "seed %" PRIu64, seed);
    world->core = core_new (&(struct core_bounds){0});
    world->data = calloc (1, sizeof *world->data);
    assert_non_null (world->data);
    core_data_load (world->data, world->core);
    for (size_t i = 0; i < turns; i++)
        turn (world);
    send (world);
    acknowledge (world);
    check_all_end (world);
    sums->given += world->given;
    sums->reported += world->reported;
    sums->late += world->late;
    sums->ended += world->ended;
    sums->takeovers += world->takeovers;
    core_destroy (&world->core);
    core_data_free (world->data);
    free (world);
}

static void nobody_gets_a_run_twice_and_every_run_ends (void **state)
{
    (void)state;
    const char *wanted = getenv ("CORE_SEED"), *runs = getenv ("CORE_RUNS");
    uint64_t first = wanted ? strtoull (wanted, NULL, 10) : 1;
    uint64_t count = wanted ? 1 : runs ? strtoull (runs, NULL, 10) : 4;
    struct world *sums = calloc (1, sizeof *sums);
    assert_non_null (sums);
    for (uint64_t seed = first; seed < first + count; seed++)
        simulate (seed, 20000, sums);
    print_message ("%zu plans given, %zu reports, %zu late, %zu runs ended, %zu takeovers\n",
                   sums->given, sums->reported, sums->late, sums->ended, sums->takeovers);
    CHECK ("all", sums->given > 100 * count && sums->reported > 100 * count);
    CHECK ("all", sums->late > 10 * count && sums->takeovers > count);
    free (sums);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (nobody_gets_a_run_twice_and_every_run_ends)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
