#include "archive_lines.h"

void archive_lines_start (struct archive_lines *self, FILE *file)
{
    rewind (file);
    self->file = file;
    self->number = 0;
    self->at = self->next = 0;
}

enum archive_line archive_lines_next (struct archive_lines *self, struct span *ret)
{
    size_t size = 0;
    int byte;
    while ((byte = getc_unlocked (self->file)) != EOF && byte != '\n') {
        if (size < sizeof self->text)
            self->text[size] = (char)byte;
        size++;
    }
    if (byte == EOF && size == 0)
        return ARCHIVE_END;
    self->number++;
    self->at = self->next;
    self->next += (off_t)size + (byte == '\n');
    *ret = size <= sizeof self->text ? span_of (self->text, size) : (struct span){0};
    if (byte == EOF)
        return ARCHIVE_TORN;
    return size <= sizeof self->text ? ARCHIVE_WHOLE : ARCHIVE_LONG;
}
