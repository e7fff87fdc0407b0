#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"

enum { PATIENCE_US = 2000000, PACE_US = 200000 };

void progress_start (struct progress *self, const char *verb, enum progress_output output)
{
    *self = (struct progress){.verb = verb, .next_us = clock_mono_us () + PATIENCE_US};
    self->wanted = isatty (STDERR_FILENO) && (output == PROGRESS_QUIET || !isatty (STDOUT_FILENO));
}

void progress_step (struct progress *self, size_t done, size_t total)
{
    int64_t now_us = clock_mono_us ();
    if (!self->wanted || now_us < self->next_us)
        return;
    if (total)
        fprintf (stderr, "\r%s: %zu of %zu plans\x1b[K", self->verb, done, total);
    else
        fprintf (stderr, "\r%s: %zu plans found\x1b[K", self->verb, done);
    self->shown = true;
    self->next_us = now_us + PACE_US;
}

void progress_clear (struct progress *self)
{
    if (self->shown)
        fputs ("\r\x1b[K", stderr);
    self->shown = false;
}
