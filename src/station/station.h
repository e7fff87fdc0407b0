// The plan proxy station as one object: it owns the reactor and everything in it.
#pragma once

#include "settings_table.h"

struct station;

// Reads all settings anew, from wherever they came. 0, or -1 with a reason.
typedef int station_read_fn (struct station_settings *ret, struct reason *reason);

// Make the station: sockets bound, the embedded Redis started or the given one being connected to.
// `signal_fd` is that of process_prepare; `settings` are borrowed, and change when SIGHUP has them
// read anew by `read_settings`. NULL with a reason; `ret_wrong` tells whether that is a setting or
// what it names (a file, a zone), and would so be the same at the next start.
struct station *station_new (struct station_settings *settings, station_read_fn *read_settings,
                             int signal_fd, bool *ret_wrong, struct reason *reason);

// Run until a signal ends it. Prints "ready" on stdout once it serves. 0 after a graceful stop, -1
// with a reason when it could not start.
int station_run (struct station *self, struct reason *reason);

void station_destroy (struct station **self);
