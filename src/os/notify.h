// Notifications to a service manager (systemd's sd_notify protocol): a datagram of NAME=VALUE lines
// to the socket that $NOTIFY_SOCKET names. Without it, as from a shell, every call does nothing.
// Nothing here waits: what the manager does not take at once is dropped.
#pragma once

#include <stdint.h>

// Open the socket and take $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID out of the environment,
// so that no child speaks in our name. Before any thread.
void notify_start (void);

// It serves; also the end of a reload.
void notify_ready (void);

// It reads its settings again; to be followed by notify_ready.
void notify_reloading (void);

// It ends, as it was asked to.
void notify_stopping (void);

// What `systemctl status` shows, a line.
void notify_status (const char *words);

// To be called from the loop that is to be watched, as often as it likes: pings the manager when
// half of the time that the manager waits has gone by. `now_us` is clock_mono_us.
void notify_alive (int64_t now_us);
