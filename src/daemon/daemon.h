// Shared by the daemons that are clients of a station: log, signals, and the connection to the
// station.
#pragma once

#include "configure.h"
#include "curve.h"
#include "reactor.h"
#include "zplan_client.h"

struct daemon {
    struct reactor *reactor;
    struct source signals;
    int signal_fd;
    void (*stop) (void *owner); // called at a signal that ends the program
    void *owner;
};

// Start the log, and confine the process. False: no reactor could be created. Call daemon_end in
// both cases.
bool daemon_start (struct daemon *self, const char *name, const char *log_level,
                   const char *log_format);

// Notify the service manager that the program is ready, and run until the reactor stops.
void daemon_serve (struct daemon *self, void (*stop) (void *owner), void *owner);

void daemon_end (struct daemon *self);

// Where the station is. `key` is the file of a secret certificate; "" = without CURVE.
struct daemon_station {
    const char *endpoints, *server_key, *key;
};

// Whether such a station can be connected to: for the check of settings. `setting` is the name of
// the setting with the endpoints. 0, or -1 with a reason.
int daemon_check (const struct daemon_station *station, const char *setting, struct reason *reason);

// Connect to the station. NULL with a reason.
struct zplan_client *daemon_connect (const struct daemon_station *station, struct reason *reason);

// Read the certificate of the key, for other sockets: `ret` borrows from `cert`, which the caller
// must wipe. `ret` is NULL without CURVE. 0, or -1 with a reason.
int daemon_curve (const struct daemon_station *station, struct curve_cert *cert,
                  struct zplan_curve *room, const struct zplan_curve **ret, struct reason *reason);
