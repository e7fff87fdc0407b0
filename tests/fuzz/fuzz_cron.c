// Cron expressions: input is up to 16 of them, with newlines between. The instants of a valid one
// must be in order, and be the same forwards and backwards.
#include "cron.h"
#include "schedule.h"
#include "wall.h"
#include "zones.h"

enum { ROUNDS = 6 };

struct rule {
    const struct cron *cron;
    const struct zone *zone;
    enum zone_gap gap;
    enum zone_overlap overlap;
};

static bool next (const struct rule *rule, int64_t from, int64_t *ret)
{
    return cron_next (rule->cron, rule->zone, rule->gap, rule->overlap, from, ret);
}

static bool previous (const struct rule *rule, int64_t before, int64_t *ret)
{
    struct wall wall = {
        rule->zone, rule->gap, rule->overlap, cron_wall_rule (rule->cron), {0, 0, 0}};
    return wall_previous (&wall, before, ret);
}

static void check_from (const struct rule *rule, int64_t from)
{
    int64_t at, again;
    for (int i = 0; i < ROUNDS && next (rule, from, &at); i++, from = at + 1) {
        HOLDS (at >= from && at <= SCHEDULE_TIME_MAX);
        HOLDS (next (rule, at, &again) && again == at);
        HOLDS (previous (rule, at + 1, &again) && again == at);
        HOLDS (!previous (rule, at, &again) || again < from);
    }
}

// The missed occurrences that still run and those that are dropped must together be all that were
// missed.
static void check_missed (const struct rule *rule, int64_t from, uint64_t random)
{
    const struct schedule schedule = {.type = SCHEDULE_CRON,
                                      .repeat = SCHEDULE_FOREVER,
                                      .gap = rule->gap,
                                      .overlap = rule->overlap,
                                      .cron = rule->cron};
    const struct occurrence current = {from, 7};
    const struct catch_up none = {0, 0}, some = {(int64_t)(random % 5), 0};
    int64_t now = from + (int64_t)(random >> 8 & 0xfff);
    struct missed all, dropped;
    struct occurrence next_one, kept;
    if (now > SCHEDULE_TIME_MAX ||
        !schedule_after (&schedule, rule->zone, &current, now, &none, &all, &next_one))
        return;
    HOLDS (next_one.time >= now && next_one.used == 8);
    HOLDS (schedule_after (&schedule, rule->zone, &current, now, &some, &dropped, &kept));
    HOLDS (kept.time > from && kept.time <= next_one.time && kept.used == 8);
    int64_t made_up = all.count - dropped.count;
    HOLDS (made_up == (all.count < some.keep ? all.count : some.keep));
    HOLDS (dropped.count == 0 || (dropped.first == all.first && dropped.last < kept.time));
}

static void check_cron (const struct cron *cron, struct span text)
{
    const int64_t froms[] = {0, 1774742400, 1792882800, SCHEDULE_TIME_MAX - 86400 * 400};
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t random = feed_hash (text, i);
        struct rule rule = {cron, fuzz_zone ((unsigned)(i & 1)), (enum zone_gap) (random & 1),
                            (enum zone_overlap) (random / 2 % 3)};
        check_from (&rule, froms[i % 4]);
        check_from (&rule, (int64_t)(random >> 33));
        check_missed (&rule, (int64_t)(random >> 33), random);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct feed feed = {.left = span_of (data, size)};
    struct span text = feed.left;
    struct span expressions[CRON_EXPRESSIONS_MAX + 1];
    size_t count = 0;
    do {
        const uint8_t *end = feed.left.size ? memchr (feed.left.data, '\n', feed.left.size) : NULL;
        expressions[count++] =
            feed_take (&feed, end ? (size_t)(end - feed.left.data) : feed.left.size);
        feed_pass (&feed, 1);
    } while (feed.left.size && count <= CRON_EXPRESSIONS_MAX);
    struct reason reason = {""};
    struct cron *cron = cron_new (expressions, count, &reason);
    if (cron)
        check_cron (cron, text);
    else
        check_reason (&reason);
    cron_destroy (&cron);
    feed_free (&feed);
    return 0;
}
