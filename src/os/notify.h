// What a service manager is told (systemd's sd_notify protocol): a datagram of NAME=VALUE lines to
// the socket that $NOTIFY_SOCKET names. Without it, as from a shell, every call does nothing.
// Nothing here waits: what the manager does not take at once is not told.
#pragma once

#include <stdint.h>

// Open the socket and take $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID out of the environment,
// so that no child speaks in our name. Before any thread.
void notify_start (void);

// It serves; also the end of a reload.
void notify_ready (void);

// It reads its settings anew; to be followed by notify_ready.
void notify_reloading (void);

// It ends, as it was asked to.
void notify_stopping (void);

// What `systemctl status` shows, a line.
void notify_status (const char *words);

// To be called from the loop that is to be watched, as often as it likes: tells the manager that it
// still turns, when half of what the manager waits for has gone by. `now_us` is clock_mono_us.
void notify_alive (int64_t now_us);
