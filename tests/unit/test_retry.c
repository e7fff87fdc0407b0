// The retry rule of a plan: a row for each of its fields, the delays of each strategy, and when a
// failure is the last. Source: proto 7.4; features C031, C037, C038, C039, C040, C041.
#include "retry_rule.h"
#include "rows.h"

#define FIXED(fields) "{\"strategy\":\"fixed\",\"interval\":5," fields "}"

static const struct rule_row {
    const char *rule;
    const char *reason; // NULL: it is taken
} rule_rows[] = {
    {"{\"strategy\":\"none\"}", NULL},
    {"{\"strategy\":\"none\",\"max\":0}", NULL},
    {"{\"strategy\":\"none\",\"need_manual\":true}", NULL},
    {"{\"strategy\":\"fixed\",\"interval\":1}", NULL},
    {"{\"strategy\":\"fixed\",\"interval\":31536000}", NULL},
    {"{\"strategy\":\"exponential\",\"interval\":2,\"max\":1000000}", NULL},
    {"{\"strategy\":\"sequence\",\"sequence\":[0]}", NULL},
    {"{\"strategy\":\"sequence\",\"sequence\":[1,31536000],\"max\":0}", NULL},
    {FIXED ("\"jitter\":86400"), NULL},
    {FIXED ("\"need_manual\":false"), NULL},
    {"5", "want an object with strategy, max and others"},
    {"[]", "want an object with strategy, max and others"},
    {"null", "want an object with strategy, max and others"},
    {"{}", "strategy: is missing"},
    {"{\"max\":3}", "strategy: is missing"},
    {"{\"strategy\":\"often\"}", "strategy: want none, fixed, sequence or exponential"},
    {"{\"strategy\":1}", "strategy: want none, fixed, sequence or exponential"},
    {"{\"strategy\":\"fixed\"}", "interval: is missing, it is needed with strategy fixed"},
    {"{\"strategy\":\"exponential\"}", "interval: is missing"},
    {"{\"strategy\":\"sequence\"}", "sequence: is missing"},
    {"{\"strategy\":\"none\",\"interval\":1}", "interval: has no meaning with strategy none"},
    {"{\"strategy\":\"sequence\",\"sequence\":[1],\"interval\":1}",
     "interval: has no meaning with strategy sequence"},
    {FIXED ("\"sequence\":[1]"), "sequence: has no meaning with strategy fixed"},
    {"{\"strategy\":\"none\",\"max\":1}", "max: want 0 with strategy none"},
    {"{\"strategy\":\"fixed\",\"interval\":0}", "interval: want 1..31536000"},
    {"{\"strategy\":\"fixed\",\"interval\":31536001}", "interval: want 1..31536000"},
    {"{\"strategy\":\"fixed\",\"interval\":1.0}", "interval: want 1..31536000"},
    {"{\"strategy\":\"sequence\",\"sequence\":[]}", "sequence: want a list of 1..32"},
    {"{\"strategy\":\"sequence\",\"sequence\":3}", "sequence: want a list of 1..32"},
    {"{\"strategy\":\"sequence\",\"sequence\":[-1]}", "sequence: want 0..31536000"},
    {"{\"strategy\":\"sequence\",\"sequence\":[1,\"2\"]}", "sequence: want 0..31536000"},
    {FIXED ("\"max\":-1"), "max: want 0..1000000"},
    {FIXED ("\"max\":1000001"), "max: want 0..1000000"},
    {FIXED ("\"jitter\":86401"), "jitter: want 0..86400"},
    {FIXED ("\"jitter\":-1"), "jitter: want 0..86400"},
    {FIXED ("\"need_manual\":1"), "need_manual: want true or false"},
    {FIXED ("\"times\":1"), "'times': unknown field"},
};

static bool read_rule (const char *text, struct retry_policy *ret, struct reason *reason)
{
    json_t *rule = json_loads (text, JSON_DECODE_ANY, NULL);
    if (!rule)
        fail_msg ("no JSON: %s", text);
    bool read = retry_rule_read (ret, rule, reason);
    json_decref (rule);
    return read;
}

static void each_field_of_the_rule_is_checked (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rule_rows); i++) {
        const struct rule_row *row = &rule_rows[i];
        struct retry_policy policy;
        struct reason reason = {""};
        bool read = read_rule (row->rule, &policy, &reason);
        const char *wanted = row->reason ? row->reason : "";
        CHECK_INT (row->rule, read, row->reason == NULL);
        if (strncmp (reason.text, wanted, row->reason ? strlen (wanted) : 1) != 0)
            fail_msg ("%s: want \"%s\", got \"%s\"", row->rule, wanted, reason.text);
    }
}

static void a_sequence_has_32_items_at_most (void **state)
{
    (void)state;
    for (size_t items = RETRY_SEQUENCE_MAX; items <= RETRY_SEQUENCE_MAX + 1; items++) {
        struct retry_policy policy;
        struct reason reason = {""};
        json_t *rule = json_pack ("{s:s, s:[]}", "strategy", "sequence", "sequence");
        for (size_t i = 0; i < items; i++)
            json_array_append_new (json_object_get (rule, "sequence"), json_integer (1));
        bool read = retry_rule_read (&policy, rule, &reason);
        assert_int_equal (read, items <= RETRY_SEQUENCE_MAX);
        json_decref (rule);
    }
}

// -- delays: without jitter, in seconds, after the n-th failure; -1: there is no retry any more

enum { FAILURES = 8 };

static const struct delay_row {
    const char *rule;
    int64_t delays[FAILURES];
} delay_rows[] = {
    {"{\"strategy\":\"none\"}", {-1, -1, -1, -1, -1, -1, -1, -1}},
    {"{\"strategy\":\"fixed\",\"interval\":7}", {7, 7, 7, 7, 7, 7, 7, 7}},
    {"{\"strategy\":\"fixed\",\"interval\":7,\"max\":0}", {-1, -1, -1, -1, -1, -1, -1, -1}},
    {"{\"strategy\":\"fixed\",\"interval\":7,\"max\":3}", {7, 7, 7, -1, -1, -1, -1, -1}},
    {"{\"strategy\":\"sequence\",\"sequence\":[0,5,60]}", {0, 5, 60, 60, 60, 60, 60, 60}},
    {"{\"strategy\":\"sequence\",\"sequence\":[9]}", {9, 9, 9, 9, 9, 9, 9, 9}},
    {"{\"strategy\":\"sequence\",\"sequence\":[1,2],\"max\":4}", {1, 2, 2, 2, -1, -1, -1, -1}},
    {"{\"strategy\":\"sequence\",\"sequence\":[1,2,3],\"max\":1}", {1, -1, -1, -1, -1, -1, -1, -1}},
    {"{\"strategy\":\"exponential\",\"interval\":1}", {1, 2, 4, 8, 16, 32, 64, 128}},
    {"{\"strategy\":\"exponential\",\"interval\":3600}",
     {3600, 7200, 14400, 28800, 57600, 86400, 86400, 86400}},
    {"{\"strategy\":\"exponential\",\"interval\":86400}",
     {86400, 86400, 86400, 86400, 86400, 86400, 86400, 86400}},
    {"{\"strategy\":\"exponential\",\"interval\":100000}",
     {100000, 100000, 100000, 100000, 100000, 100000, 100000, 100000}},
    {"{\"strategy\":\"exponential\",\"interval\":2,\"max\":2}", {2, 4, -1, -1, -1, -1, -1, -1}},
};

static struct retry_policy rule_of (const char *text)
{
    struct retry_policy policy;
    struct reason reason = {""};
    if (!read_rule (text, &policy, &reason))
        fail_msg ("%s: %s", text, reason.text);
    return policy;
}

static void each_strategy_has_its_delays_and_its_end (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (delay_rows); i++) {
        const struct delay_row *row = &delay_rows[i];
        struct retry_policy policy = rule_of (row->rule);
        for (int n = 1; n <= FAILURES; n++) {
            int64_t want = row->delays[n - 1];
            CHECK_INT (row->rule, retry_is_exhausted (&policy, n), want < 0);
            if (want >= 0)
                CHECK_INT (row->rule, retry_delay_ms (&policy, n, 99), want * 1000);
        }
    }
}

static void without_a_rule_it_is_paced_for_ever (void **state)
{
    (void)state;
    static const int64_t wanted[] = {1, 2, 4, 8, 16, 32, 60, 60};
    const struct retry_policy paced = {0};
    for (int64_t n = 1; n <= (int64_t)ROWS (wanted); n++)
        CHECK_INT ("paced", retry_delay_ms (&paced, n, 5), wanted[n - 1] * 1000);
    assert_false (retry_is_exhausted (&paced, INT64_MAX));
}

static void far_counts_do_not_overflow (void **state)
{
    (void)state;
    struct retry_policy policy = rule_of ("{\"strategy\":\"exponential\",\"interval\":3}");
    assert_int_equal (retry_delay_ms (&policy, INT64_MAX, 1), INT64_C (86400000));
    assert_false (retry_is_exhausted (&policy, INT64_MAX));
    policy = rule_of ("{\"strategy\":\"sequence\",\"sequence\":[1,2]}");
    assert_int_equal (retry_delay_ms (&policy, INT64_MAX, 1), 2000);
    assert_int_equal (retry_delay_ms (&policy, 0, 1), 1000);
}

static void jitter_is_added_and_is_another_one_each_time (void **state)
{
    (void)state;
    enum { RUNS = 200 };
    struct retry_policy policy = rule_of ("{\"strategy\":\"fixed\",\"interval\":5,\"jitter\":2}");
    int64_t least = INT64_MAX, most = 0, sames = 0, before = 0;
    for (uint64_t run = 1; run <= RUNS; run++) {
        int64_t delay_ms = retry_delay_ms (&policy, 1, run);
        assert_in_range (delay_ms, 5000, 7000);
        assert_int_equal (retry_delay_ms (&policy, 1, run), delay_ms);
        sames += delay_ms == before;
        least = delay_ms < least ? delay_ms : least;
        most = delay_ms > most ? delay_ms : most;
        before = delay_ms;
    }
    assert_in_range (least, 5000, 5200);
    assert_in_range (most, 6800, 7000);
    assert_in_range (sames, 0, 5);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_field_of_the_rule_is_checked),
        cmocka_unit_test (a_sequence_has_32_items_at_most),
        cmocka_unit_test (each_strategy_has_its_delays_and_its_end),
        cmocka_unit_test (without_a_rule_it_is_paced_for_ever),
        cmocka_unit_test (far_counts_do_not_overflow),
        cmocka_unit_test (jitter_is_added_and_is_another_one_each_time),
    };
    return cmocka_run_group_tests_name ("retry", tests, NULL, NULL);
}
