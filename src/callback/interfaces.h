// The addresses of this machine, and the networks on its links.
#pragma once

#include "address_rules.h"

// Empty where they cannot be read, which is logged.
void interfaces_read (struct networks *ret);
