// The station as one object: it owns the reactor and everything in it.
#pragma once

#include "fault.h"

struct forward;
struct station;

struct station_config {
    struct station_settings *settings; // borrowed; changed on SIGHUP
    station_read_fn *read_settings;
    int signal_fd;           // made by process_prepare
    bool yields;             // this process has just released the plans: let others take over first
    struct forward *forward; // borrowed: forward_life.h
};

enum station_end {
    STATION_STOPPED, // gracefully
    STATION_FAILED,  // it could not start
    STATION_FENCED   // another station owns the plans: create it again, as a standby
};

// Create the station: bind its sockets, start the embedded Redis or begin to connect to the
// external one. NULL on failure, with the fault and a reason.
struct station *station_new (const struct station_config *config, enum station_fault *ret_fault,
                             struct reason *reason);

// Run until a signal arrives or another station takes over. Prints "ready" on stdout once the
// station serves, "standby" while another one owns the plans. The fault and the reason are set for
// STATION_FAILED.
enum station_end station_run (struct station *self, enum station_fault *ret_fault,
                              struct reason *reason);

void station_destroy (struct station **self);
