#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "display.h"

enum { SHOW_AFTER_US = 2000000, UPDATE_US = 200000, BAR = 20 };

void progress_start (struct progress *self, const char *verb, enum progress_output output)
{
    *self = (struct progress){
        .verb = verb, .things = "plans", .next_us = clock_mono_us () + SHOW_AFTER_US};
    self->wanted = isatty (STDERR_FILENO) && display_get ()->controllable &&
                   (output == PROGRESS_QUIET || !isatty (STDOUT_FILENO));
}

static bool begin_update (struct progress *self)
{
    int64_t now_us = clock_mono_us ();
    if (!self->wanted || now_us < self->next_us)
        return false;
    self->shown = true;
    self->next_us = now_us + UPDATE_US;
    return true;
}

// Write "[######--------------] 30 %", and erase the rest of the line.
static void write_bar (int64_t part, int64_t whole)
{
    static const char done[] = "####################", left[] = "--------------------";
    int length = whole > 0 ? (int)((double)part / (double)whole * BAR) : 0;
    length = length > BAR ? BAR : length;
    if (whole > 0)
        fprintf (stderr, " [%.*s%.*s] %d %%", length, done, BAR - length, left,
                 (int)((double)part / (double)whole * 100));
    fputs ("\x1b[K", stderr);
}

void progress_step (struct progress *self, size_t done, size_t total)
{
    if (!begin_update (self))
        return;
    if (total)
        fprintf (stderr, "\r%s: %zu of %zu %s", self->verb, done, total, self->things);
    else
        fprintf (stderr, "\r%s: %zu %s found", self->verb, done, self->things);
    write_bar ((int64_t)done, (int64_t)total);
}

void progress_share (struct progress *self, size_t done, int64_t part, int64_t whole)
{
    if (!begin_update (self))
        return;
    fprintf (stderr, "\r%s: %zu %s", self->verb, done, self->things);
    write_bar (part, whole);
}

void progress_clear (struct progress *self)
{
    if (self->shown)
        fputs ("\r\x1b[K", stderr);
    self->shown = false;
}
