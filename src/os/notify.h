// Notifications to a service manager (systemd's sd_notify protocol): a datagram of NAME=VALUE lines
// to the socket that $NOTIFY_SOCKET names. Without it, as from a shell, every call does nothing. No
// call blocks: a notification that the manager does not accept at once is dropped.
#pragma once

#include <stdint.h>

// Open the socket and take $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID out of the environment,
// so that no child process sends notifications in our name. Call before any thread starts.
void notify_start (void);

// The program is ready; also reports the end of a reload.
void notify_ready (void);

// The program is reloading its settings; notify_ready must follow.
void notify_reloading (void);

// The program is stopping as requested.
void notify_stopping (void);

// The line that `systemctl status` shows.
void notify_status (const char *words);

// Call this from the loop that the watchdog monitors, at any rate: it pings the manager whenever
// half of the watchdog timeout has passed. `now_us` is clock_mono_us.
void notify_alive (int64_t now_us);
