// Connections to a station that may be at one of several addresses: one DEALER per address, and the
// connected one is used. A single DEALER for all addresses would send part of the requests to
// addresses without a connection. ZMQ_IMMEDIATE would avoid that, but then a peer that is killed
// within a message aborts this process (libzmq 4.3.4, fq.cpp: `!_more`).
//
// A monitor of each socket reports its connection. A single address has no monitor unless it is to
// be watched: it is always the current one, and libzmq queues messages until it is connected.
#pragma once

#include "endpoints.h"

struct dealer {
    void *socket;  // NULL: it could not be created
    void *monitor; // PAIR; NULL with a single address that is not watched
    bool up;       // connected
    bool lost;     // the connection was lost: messages sent to it may or may not have arrived
    uint64_t turn; // value of `turns` when it was connected
};

// Set the options and keys of a new socket for the endpoint with this index.
typedef void dealer_prepare_fn (void *owner, void *socket, size_t index);

struct dealers {
    void *context;                     // context of the sockets; borrowed
    const struct endpoints *endpoints; // borrowed
    dealer_prepare_fn *prepare;
    void *owner;
    bool watch_single; // true: a single address is current only while it is connected
    uint64_t turns;    // connections made so far, to all addresses
    uint64_t monitors; // monitors made so far, for their unique names
    struct dealer rows[ENDPOINTS_MAX];
};

// Connect to all endpoints. `self` must be zero except for `watch_single`. 0, or -1 with errno.
// Call dealers_close in any case.
int dealers_open (struct dealers *self, void *context, const struct endpoints *endpoints,
                  dealer_prepare_fn *prepare, void *owner);
void dealers_close (struct dealers *self);

// Read the events of the monitors, and update `up` and `lost` of each address.
void dealers_read_events (struct dealers *self);

// The index of the address to use: the connected one that was connected last, as a station that
// takes over binds its socket then. An address marked `lost` is not used. Below 0: there is none.
int dealers_current (const struct dealers *self);

// Close the sockets of this address, drop their queued messages, and reconnect. 0, or -1 with
// errno: there is no socket now, try again later.
int dealers_renew (struct dealers *self, size_t index);
