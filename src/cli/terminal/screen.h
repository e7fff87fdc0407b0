// A terminal that a live view has for itself: another screen, no cursor, keys at once. However the
// program ends by itself or by a signal that can be caught, the terminal is as it was.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

enum screen_event {
    SCREEN_TIME,   // the time has come
    SCREEN_QUIT,   // q, or a signal to end
    SCREEN_RESIZED // or shown again: redraw it
};

struct screen {
    bool shown;            // stdout is a terminal, and its other screen is on
    bool keyed;            // stdin is a terminal, and gives keys at once
    int signal_fd, any_fd; // any_fd is readable when there is a signal or a key
    struct termios before; // of stdin
};

// Catch the signals; where stdout is a terminal and `wanted`, take it. 0, or -1 with errno.
int screen_open (struct screen *self, bool wanted);
void screen_close (struct screen *self);

// Wait for something, at most until this moment, monotonic.
enum screen_event screen_wait (struct screen *self, int64_t until_us);

// Whether there is a signal or a key that was not taken yet.
bool screen_has_event (const struct screen *self);

// Show these lines from the top, as many as there is room for. Elsewhere they are only printed.
void screen_draw (const struct screen *self, const char *lines);
