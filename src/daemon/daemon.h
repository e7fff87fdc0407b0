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
    void (*stop) (void *owner); // called when a signal ends the program
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

// Check that the endpoints, server_key and key are valid; nothing is connected. `setting` is the
// name of the setting with the endpoints. 0, or -1 with a reason.
int daemon_check (const struct daemon_station *station, const char *setting, struct reason *reason);

// Create a client of the station; destroy it with zplan_client_destroy. NULL with a reason.
struct zplan_client *daemon_connect (const struct daemon_station *station, struct reason *reason);

// Read the certificate of the key, for other sockets. `ret` points to `room`, which borrows from
// `cert`; the caller must wipe `cert`. `ret` is NULL without CURVE. 0, or -1 with a reason.
int daemon_curve (const struct daemon_station *station, struct curve_cert *cert,
                  struct zplan_curve *room, const struct zplan_curve **ret, struct reason *reason);
