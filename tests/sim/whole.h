// Whole stations in simulated time: their cores and writers are the real ones; what stands around
// them is small: the store's reading, the targets, clients, and a Redis (redis_sim.h). The judge
// (judge.h) sees what happens outside of them.
#pragma once

#include "core.h"
#include "heap.h"
#include "judge.h"
#include "redis_sim.h"
#include "writer.h"

enum {
    STATIONS = 3,
    MS = 1000,
    SECOND = 1000000,
    FIRST_LEASE_US = 4 * SECOND,
    LEASE_US = 10 * SECOND,
    STATUS_US = 1 * SECOND, // a target answers within
    AHEAD_US = 20 * MS,
    CHOICES = 128,
    RECENT = 4096,
    CLIENT_IDS = 20000 // those below are chosen by clients
};

struct world;

// What is to happen at a time.
struct happening {
    struct heap_node node;
    void (*call) (struct world *world, struct happening *self);
};

// -- the network (whole_network.c)

struct station;
struct packet;

// The answers of what was sent together, or NULL: there will be none.
typedef void packet_fn (struct station *station, void *owner, redisReply *const *replies,
                        size_t count);

// A connection to Redis.
struct wire {
    struct redis_link *link;
    struct station *station;   // NULL = it was given up
    int64_t sent_us, heard_us; // until when bytes are under way
    struct packet *first, **end;
    struct happening ended;
};

// -- stations

enum state { AWAY, STANDBY, LOADING, SERVING, FENCED };

// What a message says of a plan.
struct record {
    uint64_t exec_id;
    int64_t revision, version, changes; // how often it was changed
    int64_t runs, fails, every_ms, paused, caller, priority;
    char group[8];
};

// A run that was sent, or is decided on.
struct held {
    struct table_node node; // by plan
    struct happening late;
    struct station *station;
    uint64_t id, exec_id;
    int target;
    bool status; // it gave one
    struct record record;
};

struct claim;
struct plan_name;

struct station {
    struct world *world;
    int index, process; // another number after each start
    bool alive;
    int64_t stalled_us;
    int64_t stops_us;         // for so long it stops when it has sent a batch with runs; 0 = never
    int64_t boot_us, mono_us; // its clocks are that much ahead
    struct core *core;
    struct writer *writer;
    enum state state;
    bool loaded;
    uint64_t loads;    // the number of the present loading
    int64_t offset_us; // Redis' clock minus its monotonic one
    bool learned;
    struct wire *wire; // NULL = none
    struct happening opening, waking, starting;
    bool turning, look_wanted;
    int64_t look_us;
    struct claim *claiming;
    struct table held;
    int held_of[JUDGE_TARGETS];
    char stored[OWNER_TOKEN_SIZE], data[32];
    int former; // the process whose folder it has
    uint64_t limit_writes;
    size_t limits_unwritten;
};

struct target {
    bool up;
    int64_t until_us; // it is as it is
};

struct world {
    uint64_t random, seed;
    int64_t now_us, end_us;
    int64_t redis_us; // its clock is that much ahead
    int64_t redis_stalled_us, refused_us;
    int64_t replica_us; // how far they lag; more than a second: away
    size_t events, wanted;
    struct heap agenda;
    struct redis_sim *redis;
    struct judge *judge;
    struct station stations[STATIONS];
    struct target targets[JUDGE_TARGETS];
    struct happening clients, faults, calm;
    bool quiet;
    int64_t calm_us; // since when
    int processes;
    int64_t revisions, versions;
    struct plan_name {
        uint64_t id;
        int target;
    } recent[RECENT]; // plans that were submitted of late
    size_t recent_count;
    int64_t taken, ended, takeovers, losses, refusals, backs, flushes, kills, stale, edits, rereads;
    bool settings_limits; // some targets are limited by settings, not by an admin
};

uint64_t draw (struct world *world, uint64_t below);
bool chance (struct world *world, uint64_t per_10000);
int64_t between (struct world *world, int64_t least, int64_t most);

// At this time, or when it can be.
void happen (struct world *world, struct happening *happening, int64_t at_us);
void happen_never (struct world *world, struct happening *happening);

int64_t redis_now (const struct world *world);

// -- the network

void wire_open (struct station *station);
void wire_close (struct station *station); // answers are given up, what was sent may still arrive
bool wire_is_silent (const struct station *station);
void wires_ended (struct world *world); // by the server
void wire_send (struct station *station, const struct commands *commands, packet_fn *reply,
                void *owner);

// Ask Redis: commands as texts, each ended by NULL, and one more.
void ask (struct station *station, const struct span *words, const size_t *sizes, size_t commands,
          packet_fn *reply, void *owner);

// -- a station's life (whole_station.c)

void station_start (struct world *world, struct station *station);
void station_kill (struct world *world, struct station *station);
void station_turn (struct station *station);
void station_opened (struct station *station);
void station_closed (struct station *station);
bool station_can (const struct station *station); // it is not stopped
int64_t station_boot (const struct station *station);
int64_t station_mono (const struct station *station);
int64_t station_redis (const struct station *station); // Redis' clock as it knows it

// -- its plans (whole_load.c, whole_runs.c, whole_commands.c)

void load_begin (struct station *station);
void queue_turn (struct station *station);
void claim_turn (struct station *station);
void claim_reset (struct station *station);
void held_reset (struct station *station);

enum answer { ANSWER_RUNING, ANSWER_OK, ANSWER_ERROR, ANSWER_NONE, ANSWER_AWAY };
void station_answer (struct station *station, int target, uint64_t id, uint64_t exec_id,
                     enum answer answer);

void station_submit (struct station *station);
void station_change (struct station *station, const struct plan_name *plan);
void station_remove (struct station *station, const struct plan_name *plan);
void station_limit (struct station *station);
void station_wake (struct station *station, int target);

// Who waits for a batch: the memory is freed when it is released.
struct done {
    struct waiter waiter;
    struct happening safe; // replicas have it
    struct station *station;
    int process;
    enum written how;
    void (*call) (struct done *self, enum written how);
    uint64_t id, exec_id;
    int64_t version, seq;
    char epoch[24];
    void *owner;
};

struct done *done_new (struct station *station, void (*call) (struct done *self, enum written how));
void done_wait (struct done *self, enum waiter_kind kind);

// -- texts

const char *target_name (int target);
int target_of (struct span name);
size_t member_text (char out[64], const char *kind, int target, uint64_t id);
bool member_read (struct span member, int *ret_target, uint64_t *ret_id);
size_t record_write (const struct record *record, bool runs, char out[400]);
bool record_read (struct span message, struct record *ret);

// -- targets and clients (whole_world.c)

// Simulate so many events, or until the judge finds something. Returns the verdict, which lives as
// long as the world.
struct world *world_new (uint64_t seed);
const char *world_run (struct world *world, size_t events);
void world_destroy (struct world **self);
void faults_begin (struct world *world);

// A plan that was submitted of late; NULL = there is none.
const struct plan_name *some_plan (struct world *world);

void target_receive (struct station *station, int target, uint64_t id, uint64_t exec_id);
int64_t score_us_of (const redisReply *reply);
struct span text_of (const redisReply *reply);
