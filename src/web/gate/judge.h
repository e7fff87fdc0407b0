// Check the header of a request before its body is read.
#pragma once

#include "exchange.h"

// True: the request was rejected, and is answered. Otherwise its route, if it has one, its user and
// the limit of its body are set.
bool exchange_check_header (struct exchange *self, const char *method, const char *version);
