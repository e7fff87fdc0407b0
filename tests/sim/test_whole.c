// Whole stations with all that can befall them, judged from outside (judge.h).
//   SIM_SEED=N replays a seed, SIM_EVENTS=N simulates so many events, SIM_SEEDS=N so many seeds
#include "../unit/rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "whole.h"

// Ten times as slow with the sanitizers.
#ifdef __SANITIZE_ADDRESS__
enum { SEEDS = 2 };
#else
enum { SEEDS = 10 };
#endif

static size_t number_of (const char *name, size_t otherwise)
{
    const char *text = getenv (name);
    return text ? strtoull (text, NULL, 10) : otherwise;
}

static void nothing_is_found (void **state)
{
    (void)state;
    size_t seeds = number_of ("SIM_SEEDS", SEEDS), first = number_of ("SIM_SEED", 1);
    size_t events = number_of ("SIM_EVENTS", 200000);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        struct world *world = world_new (seed);
        const char *verdict = world_run (world, events);
        print_message ("# seed %" PRIu64 ": %zu events, %" PRId64 " s, %" PRId64 " runs, %" PRId64
                       " takeovers, %" PRId64 " losses, %" PRId64 " refusals, %" PRId64
                       " back, %" PRId64 " flushed, %" PRId64 " kills, %" PRId64 " stale, %" PRId64
                       " edits, %" PRId64 " rereads\n",
                       seed, world->events, world->now_us / SECOND, world->taken, world->takeovers,
                       world->losses, world->refusals, world->backs, world->flushes, world->kills,
                       world->stale, world->edits, world->rereads);
        if (*verdict)
            fail_msg ("SIM_SEED=%" PRIu64 ": event %zu: %s", seed, world->events, verdict);
        world_destroy (&world);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (nothing_is_found)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
