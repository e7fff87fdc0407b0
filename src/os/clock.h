// The machine's clocks, in microseconds.
#pragma once

#include <stdint.h>

// Monotonic: never steps. Used for every wait.
int64_t clock_mono_us (void);

// Monotonic, and counts also while the machine is suspended: for leases that other stations watch.
int64_t clock_boot_us (void);

// Unix time, for the log and for people. Due times are compared with Redis' clock instead.
int64_t clock_wall_us (void);
