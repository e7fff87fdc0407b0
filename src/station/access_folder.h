// The allow-list's folder: a certificate file for each key that may connect.
#pragma once

#include "core.h"

// Read the station's own certificate and the folder. Nothing is done without the setting `curve`.
// 0, or -1 with a reason that names the file.
int access_start (struct station *self, struct reason *reason);
void access_stop (struct station *self);

// Read the folder again. A list that is not sound is not taken: the old one stays, which is logged.
void access_reload (struct station *self);

// The same when the folder has changed; looks at it once a second. `now_us` is monotonic.
void access_watch (struct station *self, int64_t now_us);
