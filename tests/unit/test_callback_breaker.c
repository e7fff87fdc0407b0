// Receivers that do not work: when their callbacks are held back; Retry-After.
#include "rows.h"

#include "breaker.h"
#include "retry_after.h"

static void fail_times (struct breakers *self, int times, int64_t now_ms)
{
    for (int i = 0; i < times; i++)
        breaker_end (self, "a", BREAKER_FAILED, now_ms);
}

static void opens (void **state)
{
    struct breakers breakers = {0};
    (void)state;
    fail_times (&breakers, 9, 1000);
    CHECK_INT ("nine failures", breaker_wait (&breakers, "a", 1000), 0);
    breaker_end (&breakers, "a", BREAKER_WORKS, 1000);
    CHECK_INT ("a host that works is not kept", breakers.table.count, 0);
    fail_times (&breakers, 10, 1000);
    CHECK_INT ("ten", breaker_wait (&breakers, "a", 1000), 30000);
    CHECK_INT ("another host", breaker_wait (&breakers, "b", 1000), 0);
    fail_times (&breakers, 5, 2000); // had been sent before
    CHECK_INT ("is not opened twice", breaker_wait (&breakers, "a", 30999), 1);
    CHECK_INT ("the probe", breaker_wait (&breakers, "a", 31000), 0);
    CHECK_INT ("one only", breaker_wait (&breakers, "a", 31000), 5000);
    breaker_end (&breakers, "a", BREAKER_UNKNOWN, 31000);
    CHECK_INT ("another probe", breaker_wait (&breakers, "a", 31000), 0);
    fail_times (&breakers, 1, 31000);
    CHECK_INT ("twice as long", breaker_wait (&breakers, "a", 31000), 60000);
    int64_t now_ms = 31000;
    for (int i = 0; i < 10; i++) {
        now_ms += breaker_wait (&breakers, "a", now_ms);
        CHECK_INT ("a probe each time", breaker_wait (&breakers, "a", now_ms), 0);
        fail_times (&breakers, 1, now_ms);
    }
    CHECK_INT ("at most 15 minutes", breaker_wait (&breakers, "a", now_ms), 900000);
    now_ms += 900000;
    CHECK_INT ("the last probe", breaker_wait (&breakers, "a", now_ms), 0);
    breaker_end (&breakers, "a", BREAKER_WORKS, now_ms);
    CHECK_INT ("works again", breaker_wait (&breakers, "a", now_ms), 0);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test (opens), cmocka_unit_test (bounded),
                                       cmocka_unit_test (retry_afters)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
