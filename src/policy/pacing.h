// The default delay of retries. Source: proto 7.4.
#pragma once

#include <stdint.h>

// Milliseconds from a failure to its retry: 1 s for the first failure since the last success,
// doubling to 60 s. `failures` counts them, and is at least 1.
int64_t pacing_delay_ms (int64_t failures);
