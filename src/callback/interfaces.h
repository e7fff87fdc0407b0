// The addresses of this machine, and the networks on its links.
#pragma once

#include "address_rules.h"

// Read them into `ret`. If they cannot be read, this is logged and `ret` is unchanged.
void interfaces_read (struct networks *ret);
