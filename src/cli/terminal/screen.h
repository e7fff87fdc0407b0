// The terminal of a live view: the alternate screen, no cursor, unbuffered keys. The terminal is
// restored when the program exits or is ended by a signal that can be caught.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

enum screen_event {
    SCREEN_TIME,   // the time given to screen_wait was reached
    SCREEN_QUIT,   // q, or a signal to end
    SCREEN_RESIZED // resized, or resumed after a stop: redraw it
};

struct screen {
    bool shown;                   // stdout is a terminal, and shows its alternate screen
    bool reads_keys;              // stdin is a terminal, in unbuffered mode
    int signal_fd, event_fd;      // event_fd is readable when there is a signal or a key
    struct termios saved_termios; // stdin's settings, to be restored
};

// Catch the signals; if `wanted` and stdout is a terminal, set it up. 0, or -1 with errno.
int screen_open (struct screen *self, bool wanted);
void screen_close (struct screen *self);

// Wait for an event, at most until `until_us`, monotonic.
enum screen_event screen_wait (struct screen *self, int64_t until_us);

// Whether a signal or a key is pending.
bool screen_has_event (const struct screen *self);

// Show these lines from the top, as many as fit on the screen. Without a terminal all are printed.
void screen_draw (const struct screen *self, const char *lines);
