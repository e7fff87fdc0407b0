// Rows for local times under each rule for gaps and overlaps, and for the stretches between
// changes.
#include <inttypes.h>

#include "instants.h"
#include "zone.h"

// The instant of a local time (written as if it were UTC) under each rule; "": there is none. In an
// overlap, the first and the last.
static const struct rule_row {
    const char *zone, *local, *shift, *skip;
    const char *first, *last; // of an overlap
} rows[] = {
    // clang-format off
    {"UTC", "2026-01-01T12:00", "2026-01-01T12:00", "2026-01-01T12:00", NULL, NULL},
    {"Europe/Berlin", "2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z", "2026-03-29T00:59:59Z", NULL, NULL},
    {"Europe/Berlin", "2026-03-29T02:00", "2026-03-29T01:00", NULL, NULL, NULL},
    {"Europe/Berlin", "2026-03-29T02:59:59Z", "2026-03-29T01:00", NULL, NULL, NULL},
    {"Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00", "2026-03-29T01:00", NULL, NULL},
    {"Europe/Berlin", "2026-10-25T01:59:59Z", "2026-10-24T23:59:59Z", "2026-10-24T23:59:59Z", NULL, NULL},
    {"Europe/Berlin", "2026-10-25T02:00", NULL, NULL, "2026-10-25T00:00", "2026-10-25T01:00"},
    {"Europe/Berlin", "2026-10-25T02:59:59Z", NULL, NULL, "2026-10-25T00:59:59Z", "2026-10-25T01:59:59Z"},
    {"Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00", "2026-10-25T02:00", NULL, NULL},
    {"Europe/Berlin", "2500-03-28T02:30", "2500-03-28T01:00", NULL, NULL, NULL},
    {"Europe/Berlin", "2500-10-31T02:30", NULL, NULL, "2500-10-31T00:30", "2500-10-31T01:30"},
    {"Europe/Dublin", "2020-10-25T01:30", NULL, NULL, "2020-10-25T00:30", "2020-10-25T01:30"},
    {"Australia/Lord_Howe", "2020-04-05T01:30", NULL, NULL, "2020-04-04T14:30", "2020-04-04T15:00"},
    {"Antarctica/Troll", "2020-10-25T01:00", NULL, NULL, "2020-10-24T23:00", "2020-10-25T01:00"},
    {"Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00", NULL, NULL, NULL},
    // clang-format on
};

static void check_rule (const struct zone *zone, const struct rule_row *row, int gap, int overlap)
{
    int64_t got[2] = {-1, -1}, want[2] = {-1, -1};
    size_t wanted = 1;
    if (row->first) {
        want[0] = instant (overlap == ZONE_OVERLAP_LAST ? row->last : row->first);
        wanted = overlap == ZONE_OVERLAP_BOTH ? 2 : 1;
        want[1] = wanted == 2 ? instant (row->last) : -1;
    } else {
        const char *text = gap == ZONE_GAP_SHIFT ? row->shift : row->skip;
        wanted = text != NULL;
        want[0] = instant (row->shift);
    }
    size_t count = zone_instants (zone, instant (row->local), (enum zone_gap)gap,
                                  (enum zone_overlap)overlap, got);
    bool same =
        count == wanted && (count < 1 || got[0] == want[0]) && (count < 2 || got[1] == want[1]);
    if (!same)
        fail_msg ("%s %s, gap %d, overlap %d: %zu, %" PRId64 " and %" PRId64, row->zone, row->local,
                  gap, overlap, count, got[0], got[1]);
}

static void local_times_follow_the_rules (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct zone *zone = zone_named (rows[i].zone);
        for (int gap = ZONE_GAP_SHIFT; gap <= ZONE_GAP_SKIP; gap++)
            for (int overlap = ZONE_OVERLAP_FIRST; overlap <= ZONE_OVERLAP_BOTH; overlap++)
                check_rule (zone, &rows[i], gap, overlap);
        zone_destroy (&zone);
    }
}

// The stretches of a zone follow one another, and within each the offset is the same.
static void stretches_follow_one_another (void **state)
{
    (void)state;
    static const char *const zones[] = {"Europe/Berlin", "Africa/Casablanca", "Pacific/Apia",
                                        "Asia/Gaza", "America/Caracas"};
    for (size_t i = 0; i < ROWS (zones); i++) {
        struct zone *zone = zone_named (zones[i]);
        int64_t end = instant ("2200-01-01");
        struct zone_stretch stretch = zone_stretch (zone, 0), next;
        for (; stretch.end < end; stretch = next) {
            next = zone_stretch (zone, stretch.end);
            CHECK_INT (zones[i], next.begin, stretch.end);
            CHECK_INT (zones[i], zone_offset (zone, stretch.end - 1), stretch.offset);
            CHECK_INT (zones[i], zone_offset (zone, stretch.end), next.offset);
            CHECK_INT (zones[i], zone_stretch (zone, next.begin - 1).begin, stretch.begin);
            CHECK_INT (zones[i], zone_stretch (zone, next.begin - 1).end, stretch.end);
        }
        zone_destroy (&zone);
    }
    struct zone *utc = zone_named (NULL);
    struct zone_stretch always = zone_stretch (utc, 0);
    assert_true (always.begin < -instant ("9999-12-31") && always.end > instant ("9999-12-31"));
    assert_int_equal (always.offset, 0);
    zone_destroy (&utc);
}

static void rules_have_names (void **state)
{
    (void)state;
    static const char *const gaps[] = {"shift", "skip"};
    static const char *const overlaps[] = {"first", "last", "both"};
    for (int i = 0; i < (int)ROWS (gaps); i++)
        assert_int_equal (zone_gap_parse (gaps[i]), i);
    for (int i = 0; i < (int)ROWS (overlaps); i++)
        assert_int_equal (zone_overlap_parse (overlaps[i]), i);
    assert_int_equal (zone_gap_parse ("first"), -1);
    assert_int_equal (zone_gap_parse (""), -1);
    assert_int_equal (zone_overlap_parse ("Both"), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (local_times_follow_the_rules),
        cmocka_unit_test (stretches_follow_one_another),
        cmocka_unit_test (rules_have_names),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
