// Receivers that fail: when callbacks to them are delayed; Retry-After.
#include "rows.h"

#include "breaker.h"
#include "retry_after.h"

static void fail_times (struct breakers *self, int times, int64_t now_ms)
{
    for (int i = 0; i < times; i++)
        breaker_end (self, "a", BREAKER_FAILED, now_ms);
}

// The wait of a callback that asks for the first time.
static int64_t wait_of (struct breakers *breakers, const char *host, int64_t now_ms)
{
    bool probes = false;
    return breaker_wait (breakers, host, now_ms, &probes);
}

static void opens (void **state)
{
    struct breakers breakers = {0};
    (void)state;
    fail_times (&breakers, 9, 1000);
    CHECK_INT ("nine failures", wait_of (&breakers, "a", 1000), 0);
    breaker_end (&breakers, "a", BREAKER_WORKS, 1000);
    CHECK_INT ("a host that works is not kept", breakers.table.count, 0);
    fail_times (&breakers, 10, 1000);
    CHECK_INT ("ten", wait_of (&breakers, "a", 1000), 30000);
    CHECK_INT ("another host", wait_of (&breakers, "b", 1000), 0);
    fail_times (&breakers, 5, 2000); // had been sent before
    CHECK_INT ("is not opened twice", wait_of (&breakers, "a", 30999), 1);
    CHECK_INT ("the probe", wait_of (&breakers, "a", 31000), 0);
    CHECK_INT ("one only", wait_of (&breakers, "a", 31000), 5000);
    breaker_end (&breakers, "a", BREAKER_UNKNOWN, 31000);
    CHECK_INT ("another probe", wait_of (&breakers, "a", 31000), 0);
    fail_times (&breakers, 1, 31000);
    CHECK_INT ("twice as long", wait_of (&breakers, "a", 31000), 60000);
    int64_t now_ms = 31000;
    for (int i = 0; i < 10; i++) {
        now_ms += wait_of (&breakers, "a", now_ms);
        CHECK_INT ("a probe each time", wait_of (&breakers, "a", now_ms), 0);
        fail_times (&breakers, 1, now_ms);
    }
    CHECK_INT ("at most 15 minutes", wait_of (&breakers, "a", now_ms), 900000);
    now_ms += 900000;
    CHECK_INT ("the last probe", wait_of (&breakers, "a", now_ms), 0);
    breaker_end (&breakers, "a", BREAKER_WORKS, now_ms);
    CHECK_INT ("works again", wait_of (&breakers, "a", now_ms), 0);
    breakers_free (&breakers);
}

// It asks before its host's name is resolved, and when the host has a place.
static void asks_twice (void **state)
{
    struct breakers breakers = {0};
    bool probes = false, early = false;
    (void)state;
    CHECK_INT ("a host that works", breaker_wait (&breakers, "a", 1000, &early), 0);
    CHECK ("is not tried", !early);
    fail_times (&breakers, 10, 1000);
    CHECK_INT ("failed meanwhile", breaker_wait (&breakers, "a", 1000, &early), 30000);
    CHECK_INT ("the probe", breaker_wait (&breakers, "a", 31000, &probes), 0);
    CHECK ("knows it", probes);
    CHECK_INT ("another one", breaker_wait (&breakers, "a", 31000, &early), 5000);
    CHECK ("does not become it", !early);
    CHECK_INT ("the probe once more", breaker_wait (&breakers, "a", 32000, &probes), 0);
    breakers_free (&breakers);
}

static void bounded (void **state)
{
    struct breakers breakers = {0};
    char host[32];
    (void)state;
    for (int i = 0; i < BREAKER_HOSTS_MAX + 10; i++) {
        snprintf (host, sizeof host, "h%d", i);
        breaker_end (&breakers, host, BREAKER_FAILED, 0);
    }
    CHECK_INT ("hosts", breakers.table.count, BREAKER_HOSTS_MAX);
    breakers_free (&breakers);
}

static void retry_afters (void **state)
{
    enum { NOW = 1794960000 };
    static const struct {
        const char *value;
        int64_t seconds;
    } rows[] = {
        {"120", 120},
        {"0", 0},
        {"86400", 86400},
        {"86401", 86400},
        {"99999999999999999999999999", 86400},
        {"", 0},
        {"-1", 0},
        {"1.5", 0},
        {"soon", 0},
        {"Thu, 01 Jan 1970 00:00:10 GMT", 0},
        {"Wed, 31 Dec 9999 23:59:59 GMT", 86400},
        {"Wed, 32 Dec 9999 23:59:59 GMT", 0},
        {"Wed, 31 Feb 9999 23:59:59 GMT", 0},
        {"Wed, 31 anF 9999 23:59:59 GMT", 0},
        {"Wed, 31 Dec 9999 23:59:59 CET", 0},
        {"Wed, 31 Dec 9999 23:59:59 GMT and more", 0},
        {"Wed, 31 Dec 9999 24:00:00 GMT", 0},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++)
        CHECK_INT (rows[i].value, retry_after (span_text (rows[i].value), NOW), rows[i].seconds);
    CHECK_INT ("a date", retry_after (span_text ("Thu, 01 Jan 1970 00:02:00 GMT"), 30), 90);
    CHECK_INT ("a leap day", retry_after (span_text ("Tue, 29 Feb 2000 00:00:00 GMT"), 951782399),
               1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (opens), cmocka_unit_test (asks_twice),
                                       cmocka_unit_test (bounded), cmocka_unit_test (retry_afters)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
