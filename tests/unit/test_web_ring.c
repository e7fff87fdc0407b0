// zplan-web: the last events, in a ring.
#include "rows.h"

#include "ring.h"

static struct ring ring;

static void put (int64_t seq, size_t size)
{
    struct ring_event event = {.kind = seq ? RING_RUN : RING_PLAN, .seq = seq, .size = size};
    event.title = calloc (1, 1);
    event.text = calloc (1, size);
    ring_put (&ring, &event);
}

static void the_oldest_are_dropped (void **state)
{
    (void)state;
    ring_reset (&ring, "e1", 10);
    for (int64_t seq = 11; seq <= 10 + RING_EVENTS + 5; seq++)
        put (seq, 1);
    assert_int_equal (ring.end - ring.first, RING_EVENTS);
    assert_int_equal (ring.base, 15);
    assert_int_equal (ring.last, 15 + RING_EVENTS);
    assert_null (ring_at (&ring, ring.first - 1));
    assert_int_equal (ring_at (&ring, ring.first)->seq, 16);
    assert_null (ring_at (&ring, ring.end));
}

static void bytes_are_bounded (void **state)
{
    (void)state;
    ring_reset (&ring, "e2", 0);
    for (int64_t seq = 1; seq <= 100; seq++)
        put (seq % 2 ? seq : 0, RING_BYTES / 10);
    assert_true (ring.bytes <= RING_BYTES);
    assert_int_equal (ring.end - ring.first, 10);
    assert_int_equal (ring.base, 89);
    put (101, RING_BYTES + 1); // larger than all: alone
    assert_int_equal (ring.end - ring.first, 1);
    ring_reset (&ring, "", 0);
    assert_int_equal (ring.bytes, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (the_oldest_are_dropped),
                                       cmocka_unit_test (bytes_are_bounded)};
    return cmocka_run_group_tests_name ("web_ring", tests, NULL, NULL);
}
