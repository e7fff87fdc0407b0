#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "display.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};

static void show_screen (struct screen *self)
{
    if (self->reads_keys) {
        struct termios keys = self->saved_termios;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr (STDIN_FILENO, TCSANOW, &keys);
    }
    if (self->shown)
        fputs ("\x1b[?1049h\x1b[?25l", stdout);
    fflush (stdout);
}

static void restore_screen (struct screen *self)
{
    if (self->shown)
        fputs ("\x1b[?25h\x1b[?1049l", stdout);
    fflush (stdout);
    if (self->reads_keys)
        tcsetattr (STDIN_FILENO, TCSANOW, &self->saved_termios);
}

int screen_open (struct screen *self, bool wanted)
{
    sigset_t set;
    struct epoll_event readable = {.events = EPOLLIN};
    *self = (struct screen){.signal_fd = -1, .event_fd = -1};
    sigemptyset (&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset (&set, signals[i]);
    sigprocmask (SIG_BLOCK, &set, NULL);
    self->signal_fd = signalfd (-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    self->event_fd = epoll_create1 (EPOLL_CLOEXEC);
    if (self->signal_fd < 0 || self->event_fd < 0 ||
        epoll_ctl (self->event_fd, EPOLL_CTL_ADD, self->signal_fd, &readable))
        return -1;
    self->shown = wanted && display_get ()->terminal && display_get ()->controllable;
    // A background process would be stopped for touching the terminal.
    self->reads_keys = self->shown && tcgetpgrp (STDIN_FILENO) == getpgrp () &&
                       tcgetattr (STDIN_FILENO, &self->saved_termios) == 0 &&
                       epoll_ctl (self->event_fd, EPOLL_CTL_ADD, STDIN_FILENO, &readable) == 0;
    show_screen (self);
    return 0;
}

void screen_close (struct screen *self)
{
    restore_screen (self);
    if (self->event_fd >= 0)
        close (self->event_fd);
    if (self->signal_fd >= 0)
        close (self->signal_fd);
    *self = (struct screen){.signal_fd = -1, .event_fd = -1};
}

// Read a pending event. SCREEN_TIME: it can be ignored.
static enum screen_event read_screen_event (struct screen *self)
{
    struct signalfd_siginfo info;
    char key;
    if (read (self->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGTSTP) { // Ctrl-Z
            restore_screen (self);
            raise (SIGSTOP);
            show_screen (self); // resumed
            return SCREEN_RESIZED;
        }
        return info.ssi_signo == SIGWINCH ? SCREEN_RESIZED : SCREEN_QUIT;
    }
    ssize_t got = self->reads_keys ? read (STDIN_FILENO, &key, 1) : -1;
    return got == 0 || (got == 1 && (key == 'q' || key == 'Q')) ? SCREEN_QUIT : SCREEN_TIME;
}

bool screen_has_event (const struct screen *self)
{
    struct pollfd item = {.fd = self->event_fd, .events = POLLIN};
    return poll (&item, 1, 0) > 0;
}

enum screen_event screen_wait (struct screen *self, int64_t until_us)
{
    for (;;) {
        struct epoll_event event;
        int64_t left_us = until_us - clock_mono_us ();
        int left_ms = left_us <= 0 ? 0 : (int)((left_us + 999) / 1000);
        int ready = epoll_wait (self->event_fd, &event, 1, left_ms);
        enum screen_event what = ready > 0 ? read_screen_event (self) : SCREEN_TIME;
        if (what != SCREEN_TIME || (ready == 0 && clock_mono_us () >= until_us))
            return what;
        if (ready < 0 && errno != EINTR)
            return SCREEN_QUIT;
    }
}

void screen_draw (const struct screen *self, const char *lines)
{
    int rows = display_size ().rows;
    if (!self->shown) {
        fputs (lines, stdout);
        fflush (stdout);
        return;
    }
    fputs ("\x1b[H", stdout);
    for (int row = 1; *lines && (rows == 0 || row <= rows); row++) {
        size_t size = strcspn (lines, "\n");
        fwrite (lines, 1, size, stdout);
        fputs (rows && row == rows ? "\x1b[K" : "\x1b[K\n", stdout);
        lines += size + (lines[size] == '\n');
    }
    fputs ("\x1b[J", stdout);
    fflush (stdout);
}
