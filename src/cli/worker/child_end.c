#include "child_end.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "utf8.h"

const char *child_end_word (const struct child *self, char out[CHILD_END_SIZE])
{
    if (WIFSIGNALED (self->wait_status))
        snprintf (out, CHILD_END_SIZE, "killed by signal %d", WTERMSIG (self->wait_status));
    else
        snprintf (out, CHILD_END_SIZE, "exit %d", WEXITSTATUS (self->wait_status));
    return out;
}

const char *child_last_line (const struct child_output *output, char out[REASON_MAX])
{
    const uint8_t *end = output->size ? output->bytes + output->size : NULL;
    while (end > output->bytes && end[-1] <= ' ')
        end--;
    const uint8_t *at = end;
    while (at > output->bytes && at[-1] != '\n')
        at--;
    while (at < end && *at <= ' ')
        at++;
    size_t size = 0;
    while (at < end) {
        size_t bytes = *at < ' ' ? 0 : utf8_size (at, end), step = bytes ? bytes : 1;
        if (size + step >= REASON_MAX)
            break;
        memcpy (out + size, bytes ? at : (const uint8_t *)"?", step);
        size += step;
        at += step;
    }
    out[size] = '\0';
    return out;
}
