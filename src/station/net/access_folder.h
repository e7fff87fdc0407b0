// The allow-list's folder: one certificate file for each key that may connect.
#pragma once

#include "station_state.h"

// Read the station's own certificate and the folder. Does nothing without the setting `curve`. The
// key of an invalid file is not admitted; the file is logged and reported by `health`. 0, or -1
// with a reason: the certificate or the folder cannot be read.
int access_start (struct station *self, struct reason *reason);
void access_stop (struct station *self);

// Reload the folder. If it cannot be read at all, that is logged and the old list is kept.
void access_reload (struct station *self);

// Reload the folder when it or a file in it has changed. Checks once a second, less often when a
// check takes long. `now_us` is monotonic.
void access_watch (struct station *self, int64_t now_us);
