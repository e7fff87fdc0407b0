// Bugs that are planted in the code (plant.h): the judge finds each of them, by the invariant that
// it breaks, and finds nothing in the same worlds without them. One that it does not find is a hole
// in the judge, in the model of Redis, or in what befalls the stations.
//   PLANT=N tries the N-th alone, SIM_SEED=N begins with that seed
#include "../unit/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plant.h"
#include "whole.h"

enum plant planted;

// Most are found in the first seed.
enum { SEEDS = 12, EVENTS = 400000 };

// Ten times as slow with the sanitizers.
#ifdef __SANITIZE_ADDRESS__
enum { SLOW = 1 };
#else
enum { SLOW = 0 };
#endif

// By which of the judge's functions, and which invariant of the design (judge_private.h) that is.
static const struct row {
    enum plant plant;
    const char *name;
    struct {
        int number;
        const char *name;
    } invariants[2];
    bool quick; // it is tried by the sanitizers, too
} rows[] = {
    {PLANT_TOKEN_WATCHED, "no number in the watch", {{1, "batches_have_no_hole"}}, true},
    {PLANT_EPOCH_ALONE,
     "an epoch without a nonce",
     {{1, "tokens_come_once"}, {1, "batches_have_no_hole"}}},
    {PLANT_EFFECT_FIRST, "an effect before its batch", {{2, "effects_follow_their_batch"}}, true},
    {PLANT_LEASE_FROM_RECEIPT, "a lease from the receipt", {{2, "dispatches_have_a_lease"}}},
    {PLANT_OPEN_NOT_KEPT, "open plans that are not kept", {{4, "changes_stay"}}, true},
    {PLANT_SENT_GIVEN_UP, "sent runs given up at once", {{4, "runs_begin_when_due"}}},
    {PLANT_TOKEN_BY_NAME, "a token by name", {{2, "takeovers_wait_for_the_lease"}}},
    {PLANT_PX_LEASE, // the owner takes an expired key for lost data if it sees that first
     "a lease by a key that expires",
     {{2, "takeovers_wait_for_the_lease"}, {3, "losses_are_reported"}}},
    {PLANT_BEHIND_WAIT, "releases behind WAIT", {{2, "effects_follow_their_batch"}}},
    {PLANT_LOST_FORGOTTEN, "lost runs forgotten", {{9, "sent_runs_have_an_outcome"}}},
    {PLANT_WINDOW_DROPPED, "a window with a hole", {{5, "due_plans_run"}}},
};

static uint64_t number_of (const char *name, uint64_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

static size_t simulate (enum plant plant, uint64_t seed, size_t events, char verdict[400])
{
    planted = plant;
    struct world *world = world_new (seed);
    snprintf (verdict, 400, "%s", world_run (world, events));
    events = world->events;
    world_destroy (&world);
    planted = PLANT_NONE;
    return events;
}

// The number of the invariant, 0 = it is none of those that the bug breaks.
static int invariant_of (const struct row *row, const char *verdict)
{
    for (size_t i = 0; i < 2 && row->invariants[i].name; i++) {
        size_t size = strlen (row->invariants[i].name);
        if (strncmp (verdict, row->invariants[i].name, size) == 0 && verdict[size] == ' ')
            return row->invariants[i].number;
    }
    return 0;
}

// The seed by which it was found. Where the judge sees another consequence first, the next is
// tried.
static uint64_t find (const struct row *row, uint64_t first)
{
    char verdict[400] = "";
    size_t events = 0;
    uint64_t seed = first;
    int invariant = 0;
    for (; seed < first + SEEDS; seed++) {
        events += simulate (row->plant, seed, EVENTS, verdict);
        invariant = invariant_of (row, verdict);
        print_message ("# %s: seed %" PRIu64 ", %zu events, invariant %d: %s\n", row->name, seed,
                       events, invariant, verdict);
        if (invariant)
            return seed;
    }
    fail_msg ("%s: not found in %d seeds from %" PRIu64 " on", row->name, SEEDS, first);
    return seed;
}

static void each_is_found (void **state)
{
    (void)state;
    uint64_t only = number_of ("PLANT", 0), first = number_of ("SIM_SEED", 1), last = first;
    char verdict[400];
    for (size_t i = 0; i < ROWS (rows); i++) {
        bool wanted = only ? rows[i].plant == only : !SLOW || rows[i].quick;
        uint64_t seed = wanted ? find (&rows[i], first) : first;
        last = seed > last ? seed : last;
    }
    for (uint64_t seed = first; seed <= last; seed++) {
        simulate (PLANT_NONE, seed, EVENTS, verdict);
        if (*verdict)
            fail_msg ("no bug: SIM_SEED=%" PRIu64 ": %s", seed, verdict);
    }
}

int main (void)
{
    _Static_assert(ROWS (rows) == PLANTS_END - 1, "a row for each");
    const struct CMUnitTest tests[] = {cmocka_unit_test (each_is_found)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
