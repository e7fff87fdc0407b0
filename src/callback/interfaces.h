// The addresses of this machine, and the networks on its links.
#pragma once

#include "address_rules.h"

// Read these addresses and networks into `ret`. A failure is logged, and leaves `ret` unchanged.
void interfaces_read (struct networks *ret);
