// The world around the stations: time, targets, and clients.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "whole.h"

uint64_t draw (struct world *world, uint64_t below)
{
    uint64_t x = world->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    world->random = x;
    return x % below;
}

bool chance (struct world *world, uint64_t per_10000)
{
    return draw (world, 10000) < per_10000;
}

int64_t between (struct world *world, int64_t least, int64_t most)
{
    return least + (int64_t)draw (world, (uint64_t)(most - least + 1));
}

void happen (struct world *world, struct happening *happening, int64_t at_us)
{
    heap_set (&world->agenda, &happening->node, at_us > world->now_us ? at_us : world->now_us);
}

void happen_never (struct world *world, struct happening *happening)
{
    heap_remove (&world->agenda, &happening->node);
}

int64_t redis_now (const struct world *world)
{
    return world->now_us + world->redis_us;
}

// -- targets: they answer soon, late, twice or never

struct coming {
    struct happening happening;
    struct station *station; // that sent the run
    int process;
    int target, tries;
    uint64_t id, exec_id;
    enum answer answer;
};

static struct station *some_station (struct world *world)
{
    size_t first = draw (world, STATIONS);
    for (size_t i = 0; i < STATIONS; i++) {
        struct station *station = &world->stations[(first + i) % STATIONS];
        if (station_can (station) && station->state == SERVING)
            return station;
    }
    return NULL;
}

// To who sent it, or to the owner of now; a target tries for a while.
static void on_coming (struct world *world, struct happening *happening)
{
    struct coming *coming = (struct coming *)happening; // it is the first member
    struct station *station = coming->station;
    bool mine =
        station_can (station) && station->process == coming->process && station->state == SERVING;
    if (!mine)
        station = some_station (world);
    world->events++;
    if (station) {
        if (chance (world, 300)) // somebody changes it just then
            station_change (station, &(struct plan_name){coming->id, coming->target});
        station_answer (station, coming->target, coming->id, coming->exec_id, coming->answer);
        station_turn (station);
    } else if (coming->tries++ < 8) {
        happen (world, happening, world->now_us + SECOND);
        return;
    }
    free (coming);
}

static void answer_at (struct station *station, int target, uint64_t id, uint64_t exec_id,
                       enum answer answer, int64_t later_us)
{
    struct world *world = station->world;
    struct coming *coming = memory_new (sizeof *coming);
    *coming = (struct coming){.happening = {.call = on_coming},
                              .station = station,
                              .process = station->process,
                              .target = target,
                              .id = id,
                              .exec_id = exec_id,
                              .answer = answer};
    if (answer == ANSWER_OK || answer == ANSWER_ERROR)
        judge_answered (world->judge, id, exec_id, true);
    happen (world, &coming->happening, world->now_us + later_us);
}

void target_receive (struct station *station, int target, uint64_t id, uint64_t exec_id)
{
    struct world *world = station->world;
    int64_t works_us = between (world, 1 * MS, chance (world, 1000) ? 3 * SECOND : 100 * MS);
    if (world->quiet && works_us > SECOND)
        works_us = SECOND;
    enum answer end = chance (world, 500) ? ANSWER_ERROR : ANSWER_OK;
    if (!world->quiet && chance (world, 150)) { // silent, or much too late
        if (chance (world, 5000))
            answer_at (station, target, id, exec_id, end, between (world, 0, 25 * SECOND));
        return;
    }
    if (works_us > 500 * MS || chance (world, 2000))
        answer_at (station, target, id, exec_id, ANSWER_RUNING, between (world, 100, 50 * MS));
    if (!world->quiet && chance (world, 100)) // it dies
        return;
    answer_at (station, target, id, exec_id, end, works_us);
    if (chance (world, 200))
        answer_at (station, target, id, exec_id, end, works_us + between (world, 0, 2 * SECOND));
}

// -- clients

const struct plan_name *some_plan (struct world *world)
{
    size_t count = world->recent_count < RECENT ? world->recent_count : RECENT;
    return count ? &world->recent[draw (world, count)] : NULL;
}

static void on_clients (struct world *world, struct happening *happening)
{
    enum { PLANS = 3500, BURST = 4 };
    struct station *station = some_station (world);
    size_t plans = redis_data_count (redis_sim_data (world->redis), "plan:ids");
    happen (world, happening, world->now_us + between (world, 1 * MS, 60 * MS));
    if (!station)
        return;
    uint64_t submissions = plans < PLANS / 4 ? 40 : plans < PLANS ? draw (world, BURST) : 0;
    for (uint64_t i = 0; i < submissions; i++)
        station_submit (station);
    const struct plan_name *plan = chance (world, 4000) ? some_plan (world) : NULL;
    for (uint64_t i = 0, people = 1 + chance (world, 2000); plan && i < people; i++)
        station_change (station, plan);
    if (chance (world, 600) && some_plan (world))
        station_remove (station, some_plan (world));
    if (chance (world, 40))
        station_limit (station);
    station_turn (station);
}

// -- targets come and go; sometimes all is left alone, and judged

enum { CALM_EACH_US = 120 * SECOND, CALM_US = 45 * SECOND };

static void on_calm (struct world *world, struct happening *happening)
{
    int64_t up_us[JUDGE_TARGETS];
    world->events++;
    if (!world->quiet) {
        world->quiet = true;
        world->calm_us = world->now_us;
        judge_calm_begins (world->judge);
        world->redis_stalled_us = world->now_us;
        redis_sim_refuse (world->redis, NULL);
        for (int i = 0; i < STATIONS; i++)
            if (!world->stations[i].alive)
                happen (world, &world->stations[i].starting, world->now_us + 1);
        world->replica_us = chance (world, 5000) ? 2 * MS : 900 * MS;
        happen (world, happening, world->now_us + CALM_US);
        return;
    }
    for (int i = 0; i < JUDGE_TARGETS; i++)
        up_us[i] = world->targets[i].up ? world->calm_us : INT64_MAX;
    judge_calm (world->judge, up_us);
    world->quiet = false;
    happen (world, happening, world->now_us + CALM_EACH_US);
}

// -- life

struct world *world_new (uint64_t seed)
{
    struct world *world = memory_new (sizeof *world);
    world->seed = seed;
    world->random = seed * 2654435761u + 1;
    world->redis_us = 1700000000ll * SECOND;
    world->settings_limits = seed % 2;
    struct redis_observer observer = {
        .begins = judge_begins, .applies = judge_applies, .ends = judge_ends};
    world->judge = judge_new ();
    observer.owner = world->judge;
    world->redis = redis_sim_new (&observer);
    judge_looks_at (world->judge, redis_sim_data (world->redis));
    for (int i = 0; world->settings_limits && i < JUDGE_LIMITED; i++) {
        char name[16];
        snprintf (name, sizeof name, "s:%s", target_name (i));
        judge_limit (world->judge, name, 5 + 7 * i);
    }
    for (int i = 0; i < JUDGE_TARGETS; i++)
        world->targets[i].up = true;
    judge_time (world->judge, world->now_us, redis_now (world));
    for (int i = 0; i < STATIONS; i++) {
        world->stations[i].index = i;
        station_start (world, &world->stations[i]);
    }
    world->clients.call = on_clients;
    world->calm.call = on_calm;
    happen (world, &world->clients, world->now_us + SECOND);
    happen (world, &world->calm, world->now_us + 20 * SECOND);
    faults_begin (world);
    return world;
}

const char *world_run (struct world *world, size_t events)
{
    struct heap_node *node;
    while (world->events < events && (node = heap_first (&world->agenda)) &&
           !*judge_verdict (world->judge)) {
        struct happening *happening = (struct happening *)node; // it is the first member
        heap_remove (&world->agenda, node);
        if (node->at > world->now_us)
            world->now_us = node->at;
        judge_time (world->judge, world->now_us, redis_now (world));
        happening->call (world, happening);
    }
    return judge_verdict (world->judge);
}

void world_destroy (struct world **self)
{
    struct world *world = *self;
    struct heap_node *node;
    for (int i = 0; i < STATIONS; i++)
        station_kill (world, &world->stations[i]);
    // What is left is of packets, answers and waiters: they end by themselves where nobody is.
    while ((node = heap_first (&world->agenda))) {
        struct happening *happening = (struct happening *)node;
        heap_remove (&world->agenda, node);
        if (happening == &world->clients || happening == &world->faults ||
            happening == &world->calm)
            continue;
        bool starts = false;
        for (int i = 0; i < STATIONS; i++)
            starts = starts || happening == &world->stations[i].starting;
        world->redis_stalled_us = world->now_us;
        if (!starts)
            happening->call (world, happening);
    }
    redis_sim_destroy (&world->redis);
    judge_destroy (&world->judge);
    heap_free (&world->agenda);
    free (world);
    *self = NULL;
}
