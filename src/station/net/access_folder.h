// The allow-list's folder: a certificate file for each key that may connect.
#pragma once

#include "station_state.h"

// Read the station's own certificate and the folder. Nothing is done without the setting `curve`. A
// wrong file of the folder does not let its key in; it is logged and reported by `health`. 0, or -1
// with a reason: the certificate or the folder cannot be read.
int access_start (struct station *self, struct reason *reason);
void access_stop (struct station *self);

// Read the folder again. When it cannot be read at all the old list stays, which is logged.
void access_reload (struct station *self);

// The same when the folder or a file in it has changed; looks once a second, less often where a
// look takes long. `now_us` is monotonic.
void access_watch (struct station *self, int64_t now_us);
