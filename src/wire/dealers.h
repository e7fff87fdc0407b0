// The connections to a station that may be at one of several addresses: a DEALER for each, of which
// the connected one counts. One DEALER for all of them would send half of the requests to a station
// that is not there; ZMQ_IMMEDIATE would avoid that, but a peer that is killed within a message
// then aborts this process (libzmq 4.3.4, fq.cpp: `!_more`).
//
// A monitor of each socket reports its connection. A single address has none unless it is to be
// watched: it always counts, and libzmq queues what is sent until it is connected.
#pragma once

#include "endpoints.h"

struct dealer {
    void *socket;  // NULL: none could be made
    void *monitor; // PAIR; NULL with a single address that is not watched
    bool up;       // connected
    bool lost;     // the connection was lost: what was sent there may have arrived, or not
    uint64_t turn; // in which it was connected
};

// Give a new socket the options and the keys for the endpoint with this index.
typedef void dealer_prepare_fn (void *owner, void *socket, size_t index);

struct dealers {
    void *context;                     // of the sockets; borrowed
    const struct endpoints *endpoints; // borrowed
    dealer_prepare_fn *prepare;
    void *owner;
    bool watch_single; // a single address counts while it is connected
    uint64_t turns;    // connections so far
    uint64_t monitors; // made so far
    struct dealer rows[ENDPOINTS_MAX];
};

// Connect to all endpoints; `self` is all zero before, but for `watch_single`. 0, or -1 with errno.
// Close it in any case.
int dealers_open (struct dealers *self, void *context, const struct endpoints *endpoints,
                  dealer_prepare_fn *prepare, void *owner);
void dealers_close (struct dealers *self);

// Read the events of the monitors.
void dealers_read_news (struct dealers *self);

// The index of the address that counts: the one that was connected last, as a station that takes
// over binds its socket then. Below 0: none is connected. One that is lost does not count.
int dealers_current (const struct dealers *self);

// Close the sockets of this address, with all that waits in them, and reconnect. 0, or -1 with
// errno: there is no socket now, try again later.
int dealers_renew (struct dealers *self, size_t index);
