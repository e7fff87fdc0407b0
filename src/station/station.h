// The station as one object: it owns the reactor and everything in it.
#pragma once

#include "fault.h"

struct forward;
struct station;

struct station_config {
    struct station_settings *settings; // borrowed; SIGHUP changes them
    station_read_fn *read_settings;
    int signal_fd;           // of process_prepare
    bool yields;             // the plans were released: others take over first
    struct forward *forward; // borrowed: forward_life.h
};

enum station_end {
    STATION_STOPPED, // gracefully
    STATION_FAILED,  // it could not start
    STATION_FENCED   // another station owns the plans: create it again, as a standby
};

// Make the station: sockets bound, the embedded Redis started or the given one being connected to.
// NULL with the fault and a reason.
struct station *station_new (const struct station_config *config, enum station_fault *ret_fault,
                             struct reason *reason);

// Run until a signal ends it, or another station takes over. Prints "ready" on stdout once it
// serves, "standby" when another one owns the plans. The fault and the reason are set for
// STATION_FAILED.
enum station_end station_run (struct station *self, enum station_fault *ret_fault,
                              struct reason *reason);

void station_destroy (struct station **self);
