// Bytes between stations and Redis: late, never, or when the station has long given them up.
#include <stdlib.h>

#include "memory.h"
#include "whole.h"

struct packet {
    struct happening happening;
    struct packet *next; // on its wire
    struct wire *wire;
    struct redis_packet redis;
    packet_fn *reply;
    void *owner;
    int64_t sent_us;
    bool answered; // by the server
};

static void wire_free_if_done (struct world *world, struct wire *wire)
{
    if (wire->station || wire->first)
        return;
    happen_never (world, &wire->ended);
    redis_sim_close (world->redis, &wire->link);
    free (wire);
}

static void packet_drop (struct world *world, struct packet *packet)
{
    struct wire *wire = packet->wire;
    struct packet **at = &wire->first;
    while (*at != packet)
        at = &(*at)->next;
    *at = packet->next;
    if (!packet->next)
        wire->end = at;
    happen_never (world, &packet->happening);
    arena_free (&packet->redis.arena);
    free (packet);
}

// -- at the server and back

static void on_answer (struct world *world, struct happening *happening)
{
    struct packet *packet = (struct packet *)happening; // it is the first member
    struct wire *wire = packet->wire;
    struct station *station = wire->station;
    if (!station_can (station)) {
        happen (world, happening, station->stalled_us);
        return;
    }
    world->events += packet->redis.count > 4 ? 2 : 1;
    struct packet taken = *packet;
    packet->redis.arena = (struct arena){0};
    packet_drop (world, packet);
    taken.reply (station, taken.owner, taken.redis.replies, taken.redis.count);
    arena_free (&taken.redis.arena);
    if (station->alive)
        station_turn (station);
}

static void on_arrived (struct world *world, struct happening *happening)
{
    struct packet *packet = (struct packet *)happening; // it is the first member
    struct wire *wire = packet->wire;
    if (world->now_us < world->redis_stalled_us) {
        happen (world, happening, world->redis_stalled_us);
        return;
    }
    if (!redis_link_ended (wire->link))
        redis_sim_run (world->redis, wire->link, &packet->redis, redis_now (world));
    if (!wire->station) {
        packet_drop (world, packet);
        wire_free_if_done (world, wire);
        return;
    }
    if (redis_link_ended (wire->link)) {
        packet->answered = true; // by the end of the connection, which will be known
        return;
    }
    int64_t at_us = world->now_us + between (world, 10, chance (world, 100) ? 100 * MS : 200);
    wire->heard_us = at_us > wire->heard_us ? at_us : wire->heard_us;
    packet->answered = true;
    packet->happening.call = on_answer;
    happen (world, &packet->happening, wire->heard_us);
}

// -- what is sent

static void send (struct station *station, struct packet *packet, packet_fn *reply, void *owner)
{
    struct world *world = station->world;
    struct wire *wire = station->wire;
    int64_t at_us = world->now_us + between (world, 10, chance (world, 100) ? 100 * MS : 200);
    wire->sent_us = at_us > wire->sent_us ? at_us : wire->sent_us;
    packet->redis.replies =
        arena_take (&packet->redis.arena, (packet->redis.count + 1) * sizeof (redisReply *));
    packet->wire = wire;
    packet->reply = reply;
    packet->owner = owner;
    packet->sent_us = world->now_us;
    packet->happening.call = on_arrived;
    *wire->end = packet;
    wire->end = &packet->next;
    happen (world, &packet->happening, wire->sent_us);
}

static struct packet *packet_new (const struct span *words, const size_t *sizes, size_t commands)
{
    struct packet *packet = memory_new (sizeof *packet);
    struct arena *arena = &packet->redis.arena;
    size_t count = 0;
    for (size_t i = 0; i < commands; i++)
        count += sizes[i];
    struct span *copies = arena_take (arena, (count + 1) * sizeof *copies);
    size_t *counts = arena_take (arena, (commands + 1) * sizeof *counts);
    for (size_t i = 0; i < count; i++)
        copies[i] = arena_copy (arena, words[i]);
    memcpy (counts, sizes, commands * sizeof *counts);
    packet->redis.words = copies;
    packet->redis.sizes = counts;
    packet->redis.count = commands;
    return packet;
}

void wire_send (struct station *station, const struct commands *commands, packet_fn *reply,
                void *owner)
{
    if (station->wire)
        send (station, packet_new (commands->words, commands->sizes, commands->commands), reply,
              owner);
    else
        reply (station, owner, NULL, 0);
}

void ask (struct station *station, const struct span *words, const size_t *sizes, size_t commands,
          packet_fn *reply, void *owner)
{
    if (station->wire)
        send (station, packet_new (words, sizes, commands), reply, owner);
    else
        reply (station, owner, NULL, 0);
}

// -- connections

static void on_ended (struct world *world, struct happening *happening)
{
    struct wire *wire = (struct wire *)((uint8_t *)happening - offsetof (struct wire, ended));
    struct station *station = wire->station;
    if (!station)
        return;
    if (!station_can (station)) {
        happen (world, happening, station->stalled_us);
        return;
    }
    station_closed (station);
    station_turn (station);
}

void wires_ended (struct world *world)
{
    redis_sim_end_links (world->redis);
    for (int i = 0; i < STATIONS; i++) {
        struct wire *wire = world->stations[i].wire;
        if (wire)
            happen (world, &wire->ended, world->now_us + between (world, 1, 50 * MS));
    }
}

void wire_open (struct station *station)
{
    struct wire *wire = memory_new (sizeof *wire);
    wire->link = redis_sim_open (station->world->redis, station->process);
    wire->station = station;
    wire->end = &wire->first;
    wire->ended.call = on_ended;
    station->wire = wire;
}

// What is under way arrives some time, the rest never.
static void lose (struct world *world, struct wire *wire)
{
    bool cut = chance (world, 3000);
    int64_t later_us = chance (world, 5000) ? between (world, 0, 5 * SECOND) : 0;
    for (struct packet *packet = wire->first, *next; packet; packet = next) {
        next = packet->next;
        if (!packet->answered && !cut && chance (world, 3000)) {
            packet->redis.count = (size_t)draw (world, packet->redis.count + 1);
            cut = true;
        } else if (packet->answered || cut) {
            packet_drop (world, packet);
            continue;
        }
        if (later_us)
            happen (world, &packet->happening, world->now_us + later_us);
    }
}

void wire_close (struct station *station)
{
    struct wire *wire = station->wire;
    struct world *world = station->world;
    if (!wire)
        return;
    station->wire = NULL;
    wire->station = NULL;
    for (struct packet *packet = wire->first; packet; packet = packet->next)
        packet->reply (station, packet->owner, NULL, 0);
    lose (world, wire);
    wire_free_if_done (world, wire);
}

bool wire_is_silent (const struct station *station)
{
    const struct packet *oldest = station->wire ? station->wire->first : NULL;
    return oldest && station->world->now_us - oldest->sent_us > 3 * SECOND;
}
