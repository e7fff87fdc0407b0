// Who asks.
#pragma once

#include "exchange.h"

// True: the request is answered already, as it needs a token that it does not have.
bool users_judge (struct exchange *self);
