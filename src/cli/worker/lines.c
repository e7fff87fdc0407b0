#include "lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { READS_A_TURN = 16 };

static void add_byte (struct line_reader *self, char byte)
{
    if (byte != '\n') {
        if (self->size < sizeof self->part - 1)
            self->part[self->size++] = byte;
        return;
    }
    memcpy (self->last, self->part, self->size);
    self->last[self->size] = '\0';
    self->size = 0;
    self->fresh = true;
}

void lines_read (struct line_reader *self)
{
    char block[4096];
    for (int i = 0; i < READS_A_TURN && self->fd >= 0; i++) {
        ssize_t size = read (self->fd, block, sizeof block);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        for (ssize_t at = 0; at < size; at++)
            add_byte (self, block[at]);
        if (size <= 0) {
            close (self->fd);
            self->fd = -1;
        }
    }
}

const char *lines_last_new (struct line_reader *self)
{
    if (!self->fresh)
        return NULL;
    self->fresh = false;
    return self->last;
}
