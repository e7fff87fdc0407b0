// zplan-web: the station's numbers of the last 24 hours.
#include "rows.h"

#include <string.h>

#include "series.h"

enum { NOW = 1800000000 }; // a multiple of an hour

static struct series *series;

static void add (int64_t at, int64_t due, int64_t sent)
{
    json_t *stats = json_pack ("{s:I, s:{s:I}}", "due", (json_int_t)due, "counters", "runs_sent",
                               (json_int_t)sent);
    series_add (series, at, stats);
    json_decref (stats);
}

static void check (const char *name, int64_t now, int64_t from, int64_t step, const char *due,
                   const char *sent)
{
    json_t *found = series_json (series, now, from, step);
    char *got_due = json_dumps (json_object_get (found, "due"), JSON_COMPACT);
    char *got_sent = json_dumps (json_object_get (found, "sent"), JSON_COMPACT);
    if (strcmp (got_due, due) != 0 || strcmp (got_sent, sent) != 0)
        fail_msg ("%s: due %s, sent %s", name, got_due, got_sent);
    CHECK_INT (name, json_integer_value (json_object_get (found, "step_s")), step);
    free (got_due);
    free (got_sent);
    json_decref (found);
}

static int begin (void **state)
{
    (void)state;
    series = series_new ();
    return 0;
}

static int end (void **state)
{
    (void)state;
    series_destroy (&series);
    return 0;
}

static void nothing_is_known (void **state)
{
    (void)state;
    check ("empty", NOW, NOW - 20, 10, "[null,null,null]", "[null,null,null]");
}

static void a_gauge_has_its_last_value_a_counter_its_growth (void **state)
{
    (void)state;
    add (NOW, 5, 100);
    add (NOW + 10, 7, 103);
    add (NOW + 20, 6, 110);
    check ("each", NOW + 20, NOW, 10, "[5,7,6]", "[null,3,7]");
    check ("two at once", NOW + 20, NOW, 20, "[7,6]", "[3,7]");
    check ("what was before counts", NOW + 20, NOW + 10, 10, "[7,6]", "[3,7]");
}

static void a_gap_is_null_and_what_grew_in_it_is_not_lost (void **state)
{
    (void)state;
    add (NOW, 1, 10);
    add (NOW + 30, 2, 25);
    check ("gap", NOW + 30, NOW, 10, "[1,null,null,2]", "[null,null,null,15]");
}

static void a_station_that_began_anew_counts_from_zero (void **state)
{
    (void)state;
    add (NOW, 1, 1000);
    add (NOW + 10, 1, 4);
    check ("anew", NOW + 10, NOW, 10, "[1,1]", "[null,4]");
}

static void a_day_is_kept (void **state)
{
    (void)state;
    for (int64_t i = 0; i <= SERIES_POINTS; i++)
        add (NOW + i * SERIES_STEP_S, i, i);
    int64_t now = NOW + (int64_t)SERIES_POINTS * SERIES_STEP_S;
    json_t *found = series_json (series, now, 0, SERIES_STEP_S),
           *due = json_object_get (found, "due");
    CHECK_INT ("points", json_array_size (due), SERIES_POINTS);
    CHECK_INT ("the oldest", json_integer_value (json_array_get (due, 0)), 1);
    CHECK_INT ("the newest", json_integer_value (json_array_get (due, SERIES_POINTS - 1)),
               SERIES_POINTS);
    json_decref (found);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (nothing_is_known, begin, end),
        cmocka_unit_test_setup_teardown (a_gauge_has_its_last_value_a_counter_its_growth, begin,
                                         end),
        cmocka_unit_test_setup_teardown (a_gap_is_null_and_what_grew_in_it_is_not_lost, begin, end),
        cmocka_unit_test_setup_teardown (a_station_that_began_anew_counts_from_zero, begin, end),
        cmocka_unit_test_setup_teardown (a_day_is_kept, begin, end),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
