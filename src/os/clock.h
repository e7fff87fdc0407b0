// The machine's clocks, in microseconds.
#pragma once

#include <stdint.h>

// Monotonic: never steps. Used for every wait.
int64_t clock_mono_us (void);

// The same, but also counts while the machine is suspended: for leases that others watch.
int64_t clock_boot_us (void);

// Unix time, for the log and for people. Due times are judged by Redis' clock, not by this one.
int64_t clock_wall_us (void);
