// What the station does when it becomes the owner of the plans, and when it stops being the owner:
// it serves, waits as a standby, or drops its state of the plans. Source: proto/operations.md,
// 12.4.
#pragma once

#include "station_state.h"

// Handle a changed state of the store.
void owning_handle_store_state (void *owner, enum store_state state);

// Bind the request socket and print `ready`. While the endpoint is in use nothing happens, and the
// caller retries.
void owning_serve (struct station *self);

// Log why Redis is down, and show it in systemd's status. Does nothing while the reason is
// unchanged, as it is called several times a second.
void owning_report_redis_down (struct station *self, const char *trouble);

// Called with each tick. A station that served and finds that another one owns the plans drops its
// state of them.
void owning_watch (struct station *self, int64_t now_us);
