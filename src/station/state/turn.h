// How much is read from one socket before Redis, the other sockets and the timers get their turn.
#pragma once

enum {
    TURN_MESSAGES = 64,
    TURN_US = 20000 // large messages take long
};
