// What befalls stations, Redis, clocks and targets; and people who change data by hand.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "whole.h"

#define TEXT(text) span_text (text)
#define EDIT(...)                                                                                  \
    redis_sim_edit (world->redis, (const struct span[]){__VA_ARGS__},                              \
                    sizeof ((const struct span[]){__VA_ARGS__}) / sizeof (struct span),            \
                    redis_now (world))

// -- Redis

static void stall_redis (struct world *world)
{
    world->redis_stalled_us = world->now_us + between (world, 0, 3 * SECOND);
}

static void refuse (struct world *world)
{
    static const char *const errors[] = {"OOM command not allowed when used memory > 'maxmemory'.",
                                         "NOREPLICAS Not enough good replicas to write.",
                                         "READONLY You can't write against a read only replica.",
                                         "LOADING Redis is loading the dataset in memory"};
    world->refusals++;
    redis_sim_refuse (world->redis, errors[draw (world, 4)]);
    world->refused_us = world->now_us + between (world, 0, SECOND);
}

static void roll_back (struct world *world)
{
    size_t steps = redis_data_steps (redis_sim_data (world->redis));
    size_t back = (size_t)draw (world, chance (world, 2000) ? 200 : 5);
    if (!steps)
        return;
    world->backs++;
    wires_ended (world);
    back = back < steps ? back : steps;
    redis_sim_back (world->redis, back);
    judge_back (world->judge, back);
}

static void flush (struct world *world)
{
    world->flushes++;
    if (chance (world, 5000))
        wires_ended (world);
    redis_sim_flush (world->redis);
    judge_flushed (world->judge);
}

static void disown (struct world *world)
{
    EDIT (TEXT ("DEL"), TEXT ("plan:owner"));
    judge_disowned (world->judge);
}

static void set_clock (struct world *world)
{
    world->redis_us += between (world, -20 * SECOND, 20 * SECOND);
    judge_clock_set (world->judge);
}

static void move_replicas (struct world *world)
{
    world->replica_us = chance (world, 2000) ? 2 * SECOND : between (world, 1 * MS, 900 * MS);
}

// -- stations

static struct station *any_station (struct world *world)
{
    return &world->stations[draw (world, STATIONS)];
}

static void stall (struct world *world)
{
    struct station *station = any_station (world);
    if (chance (world, 5000))
        station->stalled_us = world->now_us + between (world, 0, 5 * SECOND);
    else
        station->stops_us = between (world, 1 * MS, 3500 * MS);
}

static void kill_station (struct world *world)
{
    struct station *station = any_station (world);
    if (!station->alive)
        return;
    world->kills++;
    station_kill (world, station);
    happen (world, &station->starting, world->now_us + between (world, 1 * MS, 3 * SECOND));
}

static void hand_over (struct world *world)
{
    struct station *station = any_station (world);
    if (station_can (station))
        writer_hand_over (station->writer, station_boot (station));
}

static void cut (struct world *world)
{
    struct station *station = any_station (world);
    if (!station_can (station) || !station->wire)
        return;
    station_closed (station);
    station_turn (station);
}

// -- targets

static void move_target (struct world *world)
{
    int target = (int)draw (world, JUDGE_TARGETS);
    world->targets[target].up = !world->targets[target].up;
    for (int i = 0; world->targets[target].up && i < STATIONS; i++)
        if (station_can (&world->stations[i]) && world->stations[i].state == SERVING)
            station_wake (&world->stations[i], target);
}

// -- edits by hand

static void edit (struct world *world)
{
    const struct plan_name *plan = some_plan (world);
    char member[64], score[24], id[40], message[400];
    struct span text;
    struct record record;
    if (!plan)
        return;
    member_text (member, "msg", plan->target, plan->id);
    snprintf (score, sizeof score, "%" PRId64, redis_now (world) / SECOND + between (world, -9, 9));
    snprintf (id, sizeof id, "%d", (int)draw (world, 1000));
    bool there = redis_data_get (redis_sim_data (world->redis), TEXT (member), TEXT (""), &text) &&
                 record_read (text, &record);
    world->edits++;
    switch (draw (world, 6)) {
    case 0: // it is due at another time
        if (there && redis_data_score (redis_sim_data (world->redis), TEXT ("plan:time:set"),
                                       TEXT (member)) >= 0) {
            judge_edited (world->judge, plan->id);
            EDIT (TEXT ("ZADD"), TEXT ("plan:time:set"), TEXT (score), TEXT (member));
        }
        break;
    case 1:
        judge_edited (world->judge, plan->id);
        EDIT (TEXT ("ZREM"), TEXT ("plan:time:set"), TEXT (member));
        break;
    case 2: // of no plan
        EDIT (TEXT ("ZADD"), TEXT ("plan:time:set"), TEXT (score), TEXT (id));
        break;
    case 3: // another message
        if (!there)
            break;
        record.revision = ++world->revisions;
        judge_edited (world->judge, plan->id);
        record_write (&record, false, message);
        EDIT (TEXT ("SET"), TEXT (member), TEXT (message));
        break;
    case 4:
        if (plan->id < CLIENT_IDS) // it may be submitted again, and would be counted twice
            break;
        judge_edited (world->judge, plan->id);
        EDIT (TEXT ("DEL"), TEXT (member));
        break;
    default: // another type
        if (chance (world, 500))
            EDIT (TEXT ("SET"), TEXT ("plan:class"), TEXT ("x"));
        break;
    }
}

// -- all of it

static const struct {
    void (*call) (struct world *world);
    uint64_t weight;
    bool stops; // something may be late by it
} faults[] = {
    {stall_redis, 15, true},    {refuse, 30, true},
    {roll_back, 6, true},       {flush, 1, true},
    {disown, 3, true},          {set_clock, 3, false},
    {stall, 20, true},          {kill_station, 20, true},
    {hand_over, 8, true},       {cut, 60, true},
    {move_target, 30, false},   {edit, 120, false},
    {move_replicas, 20, false},
};

static void on_fault (struct world *world, struct happening *happening)
{
    uint64_t weights = 0;
    size_t i = 0;
    happen (world, happening, world->now_us + between (world, 0, 600 * MS));
    if (world->now_us >= world->refused_us)
        redis_sim_refuse (world->redis, NULL);
    if (world->quiet)
        return;
    world->events++;
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
        weights += faults[k].weight;
    for (uint64_t at = draw (world, weights); at >= faults[i].weight; i++)
        at -= faults[i].weight;
    if (faults[i].stops)
        judge_stalled (world->judge);
    faults[i].call (world);
}

void faults_begin (struct world *world)
{
    world->faults.call = on_fault;
    happen (world, &world->faults, world->now_us + 5 * SECOND);
}
