// What the header of a request decides, before its body is read.
#pragma once

#include "exchange.h"

// True: it is answered already, as it was rejected. Else its route, if it has one, its user and the
// bound of its body are set.
bool judge_request (struct exchange *self, const char *method, const char *version);
