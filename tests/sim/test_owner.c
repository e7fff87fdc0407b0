// Ownership in random interleavings: stations and a Redis, late commands of connections that were
// given up, lost answers, stalls of either, takeovers, restarts, handovers, full memory, data that
// goes back or away. What was applied is judged from the list that each batch appends to.
#include "../unit/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "owner.h"
#include "redis_model.h"

enum { STATIONS = 3, ABANDONED_MAX = 32, MS = 1000, SECOND = 1000000 };

struct station {
    struct owner *owner;
    int64_t clock_us;   // its boot clock is that much ahead
    int64_t stalled_us; // until then it does nothing
    int connection;     // -1 = none
    size_t expected;    // number of awaited answers
    size_t before;      // number of these that precede those of the check
    char stored[OWNER_TOKEN_SIZE];
};

struct world {
    char name[32];
    uint64_t random;
    int64_t now_us, redis_stalled_us, refused_us, lost_us; // lost: data was, the last time
    struct redis_model *redis;
    struct station stations[STATIONS];
    int abandoned[ABANDONED_MAX]; // connections whose commands may still come
    size_t abandoned_count;
    int64_t acked, takeovers, refusals, losses, releases;
    bool calm; // nothing befalls it any more
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

static bool chance (struct world *world, uint64_t per_10000)
{
    return draw (world, 10000) < per_10000;
}

// -- what a station sends

static void push (struct world *world, struct station *station, size_t count,
                  const char *const *words)
{
    struct model_command command = {.count = count};
    for (size_t i = 0; i < count; i++)
        snprintf (command.args[i], MODEL_TEXT_MAX, "%s", words[i]);
    redis_model_send (world->redis, station->connection, &command);
    station->expected++;
}

#define PUSH(...)                                                                                  \
    push (world, station, sizeof ((const char *[]){__VA_ARGS__}) / sizeof (char *),                \
          (const char *[]){__VA_ARGS__})

static void push_look (struct world *world, struct station *station)
{
    station->before = station->expected;
    PUSH ("WATCH", "plan:owner");
    PUSH ("HMGET", "plan:owner", "token", "batch");
}

static void push_write (struct world *world, struct station *station, const char *token,
                        int64_t batch, const char *item)
{
    char number[24], before[24];
    int64_t found_batch;
    const char *found = owner_found_token (station->owner, &found_batch);
    snprintf (number, sizeof number, "%" PRId64, batch);
    snprintf (before, sizeof before, "%" PRId64, found_batch);
    station->expected = 0;
    if (owner_uses_script (station->owner)) {
        PUSH ("FENCED", found, *found ? before : "", token, number, item);
    } else {
        PUSH ("MULTI");
        PUSH ("RPUSH", "applied", item);
        PUSH ("HSET", "plan:owner", "token", token, "batch", number);
        PUSH ("EXEC");
    }
    push_look (world, station);
}

static void tell (struct world *world, struct station *station, const struct owner_event *event);

static void give_up (struct world *world, struct station *station)
{
    if (station->connection >= 0 && redis_model_pending (world->redis, station->connection) &&
        world->abandoned_count < ABANDONED_MAX && chance (world, 7000))
        world->abandoned[world->abandoned_count++] = station->connection;
    station->connection = -1;
    station->expected = 0;
}

static void act (struct world *world, struct station *station, enum owner_action what)
{
    const char *token = owner_token (station->owner);
    char item[MODEL_TEXT_MAX];
    switch (what) {
    case OWNER_WAIT:
        return;
    case OWNER_OPEN:
        give_up (world, station);
        station->connection = redis_model_open (world->redis);
        tell (world, station, &(struct owner_event){.type = OWNER_OPENED});
        return;
    case OWNER_CHECK:
        station->expected = 0;
        push_look (world, station);
        return;
    case OWNER_TAKE:
        snprintf (item, sizeof item, "take %s", token);
        memcpy (station->stored, token, strlen (token) + 1);
        push_write (world, station, token, 0, item);
        return;
    case OWNER_SEND:
        snprintf (item, sizeof item, "%s:%" PRId64, token, owner_batch (station->owner));
        push_write (world, station, token, owner_batch (station->owner), item);
        return;
    case OWNER_RELEASE: {
        char released[OWNER_TOKEN_SIZE];
        snprintf (released, sizeof released, "%.*s.free", (int)strcspn (token, "."), token);
        snprintf (item, sizeof item, "free %s", token);
        push_write (world, station, released, owner_acked (station->owner), item);
        world->releases++;
        return;
    }
    }
}

// -- what it is told

// An acknowledged batch stands in the list: nothing is behind it but what came later.
static void check_acked (struct world *world, const struct station *station)
{
    char item[MODEL_TEXT_MAX];
    const char *found;
    bool there = false;
    snprintf (item, sizeof item, "%s:%" PRId64, owner_token (station->owner),
              owner_acked (station->owner));
    for (size_t n = 0; (found = redis_model_item (world->redis, n)); n++)
        there = there || strcmp (found, item) == 0;
    CHECK (world->name, there);
}

// Nobody else may act on what it reads while one may. What is lost ends that, too.
static void check_leases (const struct world *world)
{
    size_t leased = 0;
    for (size_t i = 0; i < STATIONS; i++)
        leased +=
            owner_is_leased (world->stations[i].owner, world->now_us + world->stations[i].clock_us);
    CHECK (world->name, leased <= 1 || world->now_us - world->lost_us < OWNER_LEASE_US);
}

static void tell (struct world *world, struct station *station, const struct owner_event *event)
{
    struct owner_step step = owner_event (station->owner, event, world->now_us + station->clock_us);
    CHECK (world->name, step.change != OWNER_IMPOSSIBLE);
    if (step.change == OWNER_ACKED && chance (world, 300))
        check_acked (world, station);
    world->acked += step.change == OWNER_ACKED;
    world->takeovers += step.change == OWNER_TOOK_OVER;
    world->refusals += step.change == OWNER_REFUSED;
    world->losses +=
        step.change == OWNER_TOOK_OVER && owner_loss (station->owner) != OWNER_LOST_NOTHING;
    if (step.change == OWNER_TOOK_OVER)
        check_leases (world);
    act (world, station, step.action);
}

static enum owner_refusal refusal_of (const struct model_reply *reply)
{
    if (reply->type != MODEL_ERROR)
        return OWNER_NOT_REFUSED;
    return strstr (reply->texts[0], "OOM") ? OWNER_NO_MEMORY : OWNER_NOT_NOW;
}

// All answers of a question are taken together.
static void read_answers (struct world *world, struct station *station)
{
    struct model_reply reply;
    struct owner_event event = {.type = OWNER_CHECKED};
    if (redis_model_pending (world->redis, station->connection))
        return;
    for (size_t i = 0; i < station->expected; i++) {
        if (!redis_model_reply (world->redis, station->connection, &reply)) { // Redis ended it
            station->connection = -1;
            tell (world, station, &(struct owner_event){.type = OWNER_CLOSED});
            return;
        }
        if (i < station->before && refusal_of (&reply))
            event.refusal = refusal_of (&reply);
    }
    event.token = span_text (reply.texts[0]);
    event.batch = strtoll (reply.texts[1], NULL, 10);
    station->expected = 0;
    tell (world, station, &event);
}

// -- what befalls them

static void restart (struct world *world, struct station *station)
{
    bool folder = chance (world, 5000);
    give_up (world, station);
    owner_destroy (&station->owner);
    station->owner = owner_new (
        &(struct owner_config){.seed = draw (world, UINT64_MAX),
                               .stored = folder && *station->stored ? station->stored : NULL});
}

static void befall_station (struct world *world, struct station *station)
{
    if (chance (world, 60) && station->connection >= 0) { // it gives up waiting
        give_up (world, station);
        tell (world, station, &(struct owner_event){.type = OWNER_CLOSED});
    }
    if (chance (world, 4))
        station->stalled_us = world->now_us + (int64_t)draw (world, 5 * SECOND);
    if (chance (world, 3))
        restart (world, station);
    if (chance (world, 3))
        tell (world, station, &(struct owner_event){.type = OWNER_HANDOVER});
}

static void befall_redis (struct world *world)
{
    if (chance (world, 3))
        world->redis_stalled_us = world->now_us + (int64_t)draw (world, 3 * SECOND);
    if (chance (world, 5))
        redis_model_save (world->redis);
    if (chance (world, 2)) {
        redis_model_roll_back (world->redis);
        world->lost_us = world->now_us;
    }
    if (chance (world, 1)) {
        redis_model_flush (world->redis);
        world->lost_us = world->now_us;
    }
    if (chance (world, 10)) {
        redis_model_refuse (world->redis, chance (world, 5000) ? "OOM command not allowed"
                                                               : "NOREPLICAS Not enough");
        world->refused_us = world->now_us + (int64_t)draw (world, SECOND);
    }
    if (world->now_us >= world->refused_us)
        redis_model_refuse (world->redis, NULL);
    if (world->abandoned_count && chance (world, 1000)) { // late commands come
        size_t i = draw (world, world->abandoned_count);
        redis_model_deliver (world->redis, world->abandoned[i], 1 + draw (world, 8));
        if (!redis_model_pending (world->redis, world->abandoned[i]))
            world->abandoned[i] = world->abandoned[--world->abandoned_count];
    }
}

static void turn (struct world *world)
{
    struct station *station = &world->stations[draw (world, STATIONS)];
    world->now_us +=
        chance (world, 20) ? (int64_t)draw (world, 300 * MS) : (int64_t)draw (world, 4 * MS);
    if (!world->calm)
        befall_redis (world);
    if (world->now_us >= world->redis_stalled_us && station->connection >= 0)
        redis_model_deliver (world->redis, station->connection, draw (world, 9));
    if (world->now_us < station->stalled_us)
        return;
    if (!world->calm)
        befall_station (world, station);
    if (station->connection >= 0 && station->expected)
        read_answers (world, station);
    if (world->now_us + station->clock_us >= owner_next_us (station->owner))
        tell (world, station, &(struct owner_event){.type = OWNER_TICK});
    if (owner_may_send_batch (station->owner) && chance (world, 3000))
        tell (world, station, &(struct owner_event){.type = OWNER_BATCH});
    check_leases (world);
}

// -- the judge, which knows only what was applied

// Each token once; its batches 1, 2, 3 ... right behind its takeover, none of another between.
static void judge (const struct world *world)
{
    char owner[MODEL_TEXT_MAX] = "", seen[MODEL_TEXT_MAX];
    const char *item;
    long number = 0;
    for (size_t n = 0; (item = redis_model_item (world->redis, n)); n++) {
        if (strncmp (item, "take ", 5) == 0) {
            CHECK (world->name, strcmp (owner, item + 5) != 0);
            snprintf (owner, sizeof owner, "%s", item + 5);
            number = 0;
        } else if (strncmp (item, "free ", 5) == 0) {
            CHECK (world->name, strcmp (owner, item + 5) == 0);
            owner[0] = '\0';
        } else {
            snprintf (seen, sizeof seen, "%s:%ld", owner, ++number);
            if (strcmp (item, seen) != 0)
                fail_msg ("%s: item %zu is %s, not %s", world->name, n, item, seen);
        }
    }
}

static void simulate (uint64_t seed, size_t turns, struct world *sums)
{
    struct world world = {.random = seed * 2654435761u + 1, .lost_us = INT64_MIN / 2};
    snprintf (world.name, sizeof world.name, "seed %" PRIu64, seed);
    world.redis = redis_model_new ();
    for (size_t i = 0; i < STATIONS; i++)
        world.stations[i] = (struct station){
            .owner = owner_new (&(struct owner_config){.seed = draw (&world, UINT64_MAX)}),
            .clock_us = (int64_t)draw (&world, 1000) * SECOND,
            .connection = -1};
    for (size_t i = 0; i < turns; i++)
        turn (&world);

    // Left alone, one of them serves, within the lease and some.
    world.calm = true;
    world.abandoned_count = 0;
    redis_model_refuse (world.redis, NULL);
    int64_t until_us = world.now_us + 12 * SECOND, acked = world.acked;
    while (world.now_us < until_us)
        turn (&world);
    CHECK (world.name, world.acked > acked + 10);
    judge (&world);
    for (size_t i = 0; i < STATIONS; i++)
        owner_destroy (&world.stations[i].owner);
    redis_model_destroy (&world.redis);
    sums->acked += world.acked;
    sums->takeovers += world.takeovers;
    sums->refusals += world.refusals;
    sums->losses += world.losses;
    sums->releases += world.releases;
}

static void batches_are_applied_in_order_and_once (void **state)
{
    (void)state;
    const char *wanted = getenv ("OWNER_SEED"), *runs = getenv ("OWNER_RUNS");
    uint64_t first = wanted ? strtoull (wanted, NULL, 10) : 1;
    uint64_t count = wanted ? 1 : runs ? strtoull (runs, NULL, 10) : 60;
    struct world sums = {0};
    for (uint64_t seed = first; seed < first + count; seed++)
        simulate (seed, 30000, &sums);
    print_message ("%" PRId64 " batches, %" PRId64 " takeovers, %" PRId64 " refusals, %" PRId64
                   " losses, %" PRId64 " releases\n",
                   sums.acked, sums.takeovers, sums.refusals, sums.losses, sums.releases);
    // What is tested has happened.
    CHECK ("all", sums.acked > 100 * (int64_t)count && sums.takeovers > (int64_t)count);
    CHECK ("all", wanted || (sums.refusals && sums.losses && sums.releases));
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (batches_are_applied_in_order_and_once)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
