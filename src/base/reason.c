// Peer bytes go into a reason through quoted () only.
#include "reason.h"

#include <stdio.h>

enum { QUOTED_SHOWN = 64, QUOTED_ROTATION = 8 };

void reason_format (struct reason *self, const char *format, va_list args)
{
    if (vsnprintf (self->text, sizeof self->text, format, args) < (int)sizeof self->text)
        return;
    // Back over continuation bytes to the lead byte, and drop it.
    size_t end = sizeof self->text - 1;
    while (end > 0 && ((uint8_t)self->text[end - 1] & 0xC0) == 0x80)
        end--;
    if (end > 0 && (uint8_t)self->text[end - 1] >= 0xC0)
        end--;
    self->text[end] = '\0';
}

int reason_set (struct reason *self, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    reason_format (self, format, args);
    va_end (args);
    return -1;
}

bool reason_reject (struct reason *self, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    reason_format (self, format, args);
    va_end (args);
    return false;
}

int reason_error (struct reason *self, int error, const char *format, ...)
{
    va_list args;
    va_start (args, format);
    reason_format (self, format, args);
    va_end (args);
    return error;
}

const char *quoted (struct span bytes)
{
    static _Thread_local char texts[QUOTED_ROTATION][QUOTED_SHOWN * 4 + 8];
    static _Thread_local unsigned turn;
    char *out = texts[turn++ % QUOTED_ROTATION];
    size_t shown = bytes.size < QUOTED_SHOWN ? bytes.size : QUOTED_SHOWN;

    char *at = out;
    *at++ = '\'';
    for (size_t i = 0; i < shown; i++) {
        uint8_t byte = bytes.data[i];
        bool plain = byte >= 0x20 && byte < 0x7F && byte != '\'' && byte != '\\' && byte != '"';
        if (plain)
            *at++ = (char)byte;
        else
            at += snprintf (at, 5, "\\x%02x", byte);
    }
    if (shown < bytes.size)
        at += snprintf (at, 4, "...");
    *at++ = '\'';
    *at = '\0';
    return out;
}
