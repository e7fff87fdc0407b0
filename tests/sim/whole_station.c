// A station's life: what store.c and link.c do around core and writer, in short.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "whole.h"

// -- clocks

bool station_can (const struct station *station)
{
    return station->alive && station->world->now_us >= station->stalled_us;
}

int64_t station_boot (const struct station *station)
{
    return station->world->now_us + station->boot_us;
}

int64_t station_mono (const struct station *station)
{
    return station->world->now_us + station->mono_us;
}

int64_t station_redis (const struct station *station)
{
    return station_mono (station) + station->offset_us;
}

static void learn_time (void *owner, int64_t asked_us, int64_t redis_us)
{
    struct station *station = owner;
    int64_t least = redis_us - station_mono (station), most = redis_us - asked_us;
    if (station->offset_us < least)
        station->offset_us = least;
    else if (station->offset_us > most)
        station->offset_us = most;
    station->learned = true;
}

// -- what the writer asks for

static void on_written (struct station *station, void *owner, redisReply *const *replies,
                        size_t count)
{
    (void)owner;
    for (size_t i = 0; i < count; i++)
        writer_answer (station->writer, replies[i], station_boot (station));
}

static void send_commands (void *owner, const struct commands *commands)
{
    struct station *station = owner;
    wire_send (station, commands, on_written, NULL);
    if (station->stops_us && writer_row_kinds (station->writer) & ROWS_CLAIM) {
        station->stalled_us = station->world->now_us + station->stops_us;
        station->stops_us = 0;
    }
}

static void go_away (struct station *station);

static void reopen (void *owner, const char *why)
{
    (void)why;
    struct station *station = owner;
    if (station->wire)
        go_away (station);
    happen (station->world, &station->opening,
            station->world->now_us + between (station->world, 1 * MS, 20 * MS));
}

static void begin_serving (struct station *station)
{
    claim_reset (station);
    held_reset (station);
    core_reset (station->core);
    station->loaded = false;
    station->state = LOADING;
    load_begin (station);
}

static void on_news (void *owner, enum owner_change news)
{
    struct station *station = owner;
    switch (news) {
    case OWNER_TOOK_OVER: {
        enum owner_loss loss = owner_loss (writer_owner (station->writer));
        station->world->takeovers++;
        station->world->losses += loss != OWNER_LOST_NOTHING;
        judge_serves (station->world->judge, station->process, loss != OWNER_LOST_NOTHING);
        begin_serving (station);
        break;
    }
    case OWNER_ACKED:
        core_batch_acked (station->core, station_redis (station));
        break;
    case OWNER_STANDBY:
        station->loads++;
        claim_reset (station);
        held_reset (station);
        core_reset (station->core);
        station->state = FENCED;
        break;
    case OWNER_IMPOSSIBLE:
        judge_overtaken (station->world->judge, station->process);
        break;
    case OWNER_STILL_OWNS:
        station->state = SERVING;
        break;
    default:
        break;
    }
}

static void on_wrong_key (void *owner, struct span key)
{
    (void)owner, (void)key;
}

static void on_taking (void *owner, const char *token)
{
    struct station *station = owner;
    snprintf (station->stored, sizeof station->stored, "%s", token);
}

// -- the connection

static void go_away (struct station *station)
{
    wire_close (station);
    if (station->state == AWAY)
        return;
    station->state = AWAY;
    station->loads++;
    writer_closed (station->writer, station_boot (station));
    if (!station->loaded)
        writer_retake (station->writer, station_boot (station));
    claim_reset (station);
    station->state = AWAY;
}

void station_closed (struct station *station)
{
    struct world *world = station->world;
    go_away (station);
    happen (world, &station->opening, world->now_us + between (world, 20 * MS, 250 * MS));
}

static void on_opening (struct world *world, struct happening *happening)
{
    struct station *station =
        (struct station *)((uint8_t *)happening - offsetof (struct station, opening));
    int64_t at_us = world->redis_stalled_us > station->stalled_us ? world->redis_stalled_us
                                                                  : station->stalled_us;
    if (at_us > world->now_us) {
        happen (world, happening, at_us);
        return;
    }
    wire_open (station);
    if (!station->learned)
        station->offset_us = redis_now (world) - station_mono (station);
    writer_opened (station->writer, station_boot (station));
    station->state = STANDBY;
    station_turn (station);
}

// -- turns

static void arm (struct station *station)
{
    int64_t now_us = station->world->now_us, next_us = core_next_us (station->core);
    int64_t at_us = owner_next_us (writer_owner (station->writer)) - station_boot (station);
    if (!writer_is_idle (station->writer) && at_us > 2 * MS)
        at_us = 2 * MS;
    if (station->state == SERVING && next_us < INT64_MAX &&
        next_us - AHEAD_US - station_redis (station) < at_us)
        at_us = next_us - AHEAD_US - station_redis (station);
    at_us = at_us > SECOND ? SECOND : at_us < 500 ? 500 : at_us;
    happen (station->world, &station->waking, now_us + at_us);
}

void station_turn (struct station *station)
{
    if (!station_can (station) || station->turning)
        return;
    station->turning = true;
    if (wire_is_silent (station))
        station_closed (station);
    writer_flush (station->writer, station_boot (station), station_mono (station), 0);
    if (station->state == SERVING) {
        queue_turn (station);
        claim_turn (station);
    }
    writer_flush (station->writer, station_boot (station), station_mono (station), 0);
    station->turning = false;
    arm (station);
}

static void on_waking (struct world *world, struct happening *happening)
{
    struct station *station =
        (struct station *)((uint8_t *)happening - offsetof (struct station, waking));
    world->events++;
    if (station_can (station))
        station_turn (station);
    else if (station->alive)
        happen (world, happening, station->stalled_us);
}

// -- start and end

static void on_starting (struct world *world, struct happening *happening)
{
    station_start (world,
                   (struct station *)((uint8_t *)happening - offsetof (struct station, starting)));
}

void station_start (struct world *world, struct station *station)
{
    static const char *const names[STATIONS] = {"one", "two", "two"}; // settings are copied
    static const int64_t ready_bytes[] = {0, 2000, 5000}; // few, so that some are in Redis only
    const struct core_bounds bounds = {
        .plans = 6000, .outcomes = 2000, .ready_bytes = ready_bytes[world->processes % 3]};
    const struct writer_io io = {.owner = station,
                                 .send = send_commands,
                                 .open = reopen,
                                 .owner_changed = on_news,
                                 .time = learn_time,
                                 .wrong_key = on_wrong_key,
                                 .taking = on_taking};
    bool folder = chance (world, 5000) && *station->stored;
    int former = folder ? station->process : -1;
    if (!folder)
        station->stored[0] = '\0';
    station->world = world;
    station->process = world->processes++;
    station->alive = true;
    station->stops_us = 0;
    station->boot_us = between (world, 0, 1000 * (int64_t)SECOND);
    station->mono_us = between (world, 0, 1000 * (int64_t)SECOND);
    station->learned = station->loaded = station->turning = false;
    station->state = AWAY;
    station->opening.call = on_opening;
    station->waking.call = on_waking;
    station->starting.call = on_starting;
    station->core = core_new (&bounds);
    const struct writer_config config = {
        .owner = {.seed = draw (world, UINT64_MAX), .stored = folder ? station->stored : NULL},
        .name = names[station->index],
        .endpoints = "",
        .outcomes = bounds.outcomes};
    judge_started (world->judge, station->process, former);
    station->writer = writer_new (station->core, &config, &io);
    happen (world, &station->waking, world->now_us + 1);
}

void station_kill (struct world *world, struct station *station)
{
    if (!station->alive)
        return;
    station->alive = false;
    station->loads++;
    judge_died (world->judge, station->process);
    wire_close (station);
    claim_reset (station);
    held_reset (station);
    writer_destroy (&station->writer);
    core_destroy (&station->core);
    happen_never (world, &station->opening);
    happen_never (world, &station->waking);
}

// -- who waits

static void on_safe (struct world *world, struct happening *happening)
{
    struct done *done = (struct done *)((uint8_t *)happening - offsetof (struct done, safe));
    struct station *station = done->station;
    if (!station->alive || station->process != done->process) {
        done->call (done, WRITTEN_RESET);
        return;
    }
    if (!station_can (station)) {
        happen (world, happening, station->stalled_us);
        return;
    }
    done->call (done, done->how);
    station_turn (station);
}

// Replies to clients wait for the replicas, too.
static void on_release (struct waiter *waiter, enum written how, const char *error)
{
    struct done *done = (struct done *)waiter; // it is the first member
    struct world *world = done->station->world;
    (void)error;
    if (how != WRITTEN || !waiter_needs_replicas (waiter) || !done->station->alive) {
        done->call (done, how);
        return;
    }
    bool away = world->replica_us > SECOND;
    done->how = away ? WRITTEN_UNKNOWN : WRITTEN;
    done->safe.call = on_safe;
    happen (world, &done->safe, world->now_us + (away ? SECOND : world->replica_us));
}

struct done *done_new (struct station *station, void (*call) (struct done *self, enum written how))
{
    struct done *done = memory_new (sizeof *done);
    done->station = station;
    done->process = station->process;
    done->call = call;
    done->waiter.release = on_release;
    return done;
}

void done_wait (struct done *self, enum waiter_kind kind)
{
    self->waiter.kind = kind;
    writer_wait_batch (self->station->writer, &self->waiter, station_mono (self->station));
}
