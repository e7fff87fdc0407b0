// The plan proxy station as one object: it owns the reactor and everything in it.
#pragma once

#include "settings_table.h"

struct station;

// Why a station does not start, or ends.
enum station_fault {
    STATION_FAULT_NOW,      // started again it may work
    STATION_FAULT_SETTINGS, // a setting or what it names (a file, a zone): the same at the next
                            // start
    STATION_FAULT_DATA      // the data of the embedded Redis are damaged: the same, too
};

// Reads all settings anew, from wherever they came. 0, or -1 with a reason.
typedef int station_read_fn (struct station_settings *ret, struct reason *reason);

// Make the station: sockets bound, the embedded Redis started or the given one being connected to.
// `signal_fd` is that of process_prepare; `settings` are borrowed, and change when SIGHUP has them
// read anew by `read_settings`. NULL with the fault and a reason.
struct station *station_new (struct station_settings *settings, station_read_fn *read_settings,
                             int signal_fd, enum station_fault *ret_fault, struct reason *reason);

// Run until a signal ends it. Prints "ready" on stdout once it serves. 0 after a graceful stop, -1
// with the fault and a reason when it could not start.
int station_run (struct station *self, enum station_fault *ret_fault, struct reason *reason);

void station_destroy (struct station **self);
