// Objects of one size.
#include <stdlib.h>

#include "pool.h"
#include "rows.h"

enum { SIZE = 128, COUNT = 5000 };

static void objects_are_zeroed_and_apart (void **state)
{
    struct pool pool = {.size = SIZE};
    static uint8_t *objects[COUNT];
    unsigned random = 1;
    (void)state;
    for (int round = 0; round < 20 * COUNT; round++) {
        uint8_t **object = &objects[(random = random * 1103515245 + 12345) / 65536 % COUNT];
        uint8_t mark = (uint8_t)(1 + (object - objects) % 255);
        if (!*object) {
            *object = pool_new (&pool);
            for (int i = 0; i < SIZE; i++)
                assert_int_equal ((*object)[i], 0);
            memset (*object, mark, SIZE);
        } else {
            for (int i = 0; i < SIZE; i++)
                assert_int_equal ((*object)[i], mark);
            pool_free (&pool, *object);
            *object = NULL;
        }
    }
    for (int i = 0; i < COUNT; i++)
        if (objects[i])
            pool_free (&pool, objects[i]);
    pool_clear (&pool);
    assert_true (LIST_EMPTY (&pool.open));
}

static void a_place_is_used_again (void **state)
{
    struct pool pool = {.size = SIZE};
    void *kept = pool_new (&pool), *first = pool_new (&pool);
    (void)state;
    pool_free (&pool, first);
    assert_ptr_equal (pool_new (&pool), first);
    pool_free (&pool, first);
    pool_free (&pool, kept);
    pool_clear (&pool);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (objects_are_zeroed_and_apart),
                                       cmocka_unit_test (a_place_is_used_again)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
