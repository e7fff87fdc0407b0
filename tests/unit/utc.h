// The zone of a group of tests, for cmocka_run_group_tests.
#pragma once

#include "zone.h"

static struct zone *utc;

static int start_zone (void **state)
{
    (void)state;
    utc = zone_new_utc ();
    return 0;
}

static int end_zone (void **state)
{
    (void)state;
    zone_destroy (&utc);
    return 0;
}
