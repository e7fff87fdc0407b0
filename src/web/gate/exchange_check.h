// Check the header of a request before its body is read.
#pragma once

#include "exchange.h"

// Check method, target, user and the headers of the body. True: the request was answered, mostly
// with a rejection. False: its route, if it has one, its user and the limit of its body are set.
bool exchange_check_header (struct exchange *self, const char *method, const char *version);
