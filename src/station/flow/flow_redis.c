#include "flow_redis.h"

#include <stdarg.h>
#include <stdio.h>

enum { WORDS_MAX = 16, COMMAND_SIZE = 512 };

// A command as it is passed to the store.
struct command {
    char text[COMMAND_SIZE];
    struct span words[WORDS_MAX];
    size_t count;
};

static void format_command (struct command *self, const char *format, va_list arguments)
{
    vsnprintf (self->text, sizeof self->text, format, arguments);
    self->count = 0;
    for (char *next = self->text, *word; self->count < WORDS_MAX && (word = strsep (&next, " "));)
        self->words[self->count++] = span_text (word);
}

void flow_redis_put (struct station *self, const char *format, ...)
{
    struct command command;
    va_list arguments;
    va_start (arguments, format);
    format_command (&command, format, arguments);
    va_end (arguments);
    store_put (self->store, command.words, command.count);
}

void flow_redis_get (struct station *self, link_reply_fn *reply, void *owner, const char *format,
                     ...)
{
    struct command command;
    va_list arguments;
    va_start (arguments, format);
    format_command (&command, format, arguments);
    va_end (arguments);
    store_get (self->store, command.words, command.count, reply, owner);
}
