// The machine's clocks, in microseconds.
#pragma once

#include <stdint.h>

// Never steps; for every wait.
int64_t clock_mono_us (void);

// The same, and goes on while the machine sleeps: for leases that others watch.
int64_t clock_boot_us (void);

// Unix time; for the log and for people. What is due is decided by Redis' clock, not by this one.
int64_t clock_wall_us (void);
