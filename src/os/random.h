// Random numbers for code that may run in any thread, or after a fork.
#pragma once

#include <stdint.h>

// A random number, read from the kernel at each call.
uint64_t random_from_kernel (void);
