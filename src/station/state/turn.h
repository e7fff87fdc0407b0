// How much is read of one socket before Redis, the other sockets and the timers have their turn.
#pragma once

enum {
    TURN_MESSAGES = 64,
    TURN_US = 20000 // large messages take long
};
