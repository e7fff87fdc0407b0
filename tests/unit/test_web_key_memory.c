// zplan-web: Idempotency-Keys that were used.
#include "rows.h"

#include "key_memory.h"

enum { DAY = 86400 };

static void uses (void **state)
{
    struct key_memory *keys = key_memory_new ();
    (void)state;
    assert_null (key_memory_find (keys, 5, 100));
    key_memory_put (keys, &(struct key_use){5, 50, 500}, 100);
    assert_int_equal (key_memory_find (keys, 5, 100)->plan_id, 500);
    assert_int_equal (key_memory_find (keys, 5, 99 + DAY)->body_hash, 50);
    assert_null (key_memory_find (keys, 5, 100 + DAY));
    key_memory_put (keys, &(struct key_use){5, 51, 501}, 100 + DAY);
    assert_int_equal (key_memory_find (keys, 5, 100 + DAY)->plan_id, 501);
    key_memory_destroy (&keys);
    assert_null (keys);
}

// The last ones of so many are there; the first ones are forgotten some time.
static void many (void **state)
{
    enum { KEPT = 100000, KEYS = 1000000 };
    struct key_memory *keys = key_memory_new ();
    uint64_t key = 1;
    uint64_t *last = malloc (KEPT * sizeof *last);
    size_t missing = 0;
    (void)state;
    for (int64_t i = 0; i < KEYS; i++) {
        key = key * 6364136223846793005u + 1442695040888963407u;
        last[i % KEPT] = key >> 8;
        key_memory_put (keys, &(struct key_use){key >> 8, 1, (uint64_t)i}, 1 + i / 100);
    }
    for (int i = 0; i < KEPT; i++)
        missing += !key_memory_find (keys, last[i], KEYS / 100);
    assert_in_range (missing, 0, KEPT / 1000);
    assert_null (key_memory_find (keys, 1442695040888963407u + 6364136223846793005u, KEYS / 100));
    free (last);
    key_memory_destroy (&keys);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (uses), cmocka_unit_test (many)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
