// Notifications to a service manager (systemd's sd_notify protocol): a datagram of NAME=VALUE lines
// to the socket that $NOTIFY_SOCKET names. If that is unset, as in a shell, every call does
// nothing. No call blocks: a notification that the manager does not accept at once is dropped.
#pragma once

#include <stdint.h>

// Open the socket, and remove $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID from the
// environment, so that no child process sends notifications in our name. Call before any thread
// starts.
void notify_start (void);

// Report that the program is ready, or has finished a reload.
void notify_ready (void);

// Report that the program is reloading its settings; notify_ready must follow.
void notify_reloading (void);

// Report that the program is stopping as requested.
void notify_stopping (void);

// Set the text that `systemctl status` shows; only its first line is used.
void notify_status (const char *words);

// Call this from the loop that the watchdog monitors, as often as is convenient: it pings the
// manager whenever half of the watchdog timeout has passed. `now_us` is clock_mono_us.
void notify_alive (int64_t now_us);
