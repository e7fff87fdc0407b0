// The default delay of retries. Source: proto 7.4.
#pragma once

#include <stdint.h>

// Milliseconds from the failure to the retry: 1 s after the first, doubling to 60 s.
// `failures` counts those since the last success, at least 1.
int64_t pacing_delay_ms (int64_t failures);
