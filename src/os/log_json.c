// Writes a logfmt line as a JSON object.
//
// A field is KEY=VALUE: a value ends at a blank, or at the quote it began with. A word without `=`
// belongs to the value before it.
#include "log_json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    CLOSING = 2,     // bytes that end the last string and the object: "}
    ESCAPED_MAX = 5, // size of an escaped byte: \\xNN
    KEY_QUOTES = 6   // bytes around a key: "," before it, ":" after it
};

struct log_writer {
    char *out;
    size_t size, room;
};

// Append the text if it fits as a whole; else nothing more is appended.
static void append_text (struct log_writer *self, const char *text, size_t size)
{
    if (self->size + size > self->room) {
        self->room = self->size; // so that everything after it is omitted, too
        return;
    }
    memcpy (self->out + self->size, text, size);
    self->size += size;
}

// Append a text, escaped for a JSON string.
static void append_escaped (struct log_writer *self, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        char escaped[ESCAPED_MAX + 1];
        if (byte == '"' || byte == '\\')
            append_text (self, (const char[]){'\\', (char)byte}, 2);
        else if (byte >= 0x20 && byte < 0x7F)
            append_text (self, text + i, 1);
        else
            append_text (self, escaped,
                         (size_t)snprintf (escaped, sizeof escaped, "\\\\x%02x", byte));
    }
}

// The end of the word at `at`: a blank or, if its value is quoted, the closing quote.
static const char *word_end (const char *at, const char *end)
{
    const char *blank = memchr (at, ' ', (size_t)(end - at));
    blank = blank ? blank : end;
    const char *equals = memchr (at, '=', (size_t)(blank - at));
    const char *value = equals ? equals + 1 : at;
    if (value == end || (*value != '"' && *value != '\''))
        return blank;
    for (const char *quote = value + 1; quote < end; quote++)
        if (*quote == *value && (quote + 1 == end || quote[1] == ' '))
            return quote + 1;
    return end; // the line was cut within a quoted value
}

size_t log_json (const char *line, size_t size, char *out, size_t room)
{
    struct log_writer self = {.out = out, .room = room - CLOSING};
    const char *at = line, *end = line + size;
    append_text (&self, "{", 1);
    bool open = false; // a string is open
    for (const char *next; at < end; at = next) {
        next = word_end (at, end);
        const char *equals = memchr (at, '=', (size_t)(next - at));
        const char *value = equals && equals > at ? equals + 1 : at, *last = next;
        if (value > at || !open) {
            size_t key = value > at ? (size_t)(equals - at) : 0;
            if (self.size + ESCAPED_MAX * key + KEY_QUOTES > self.room)
                break; // never cut within a key
            const char *before = open ? "\",\"" : "\"";
            append_text (&self, before, strlen (before));
            append_escaped (&self, at, key);
            append_text (&self, "\":\"", 3);
            open = true;
        } else {
            append_text (&self, " ", 1);
        }
        if (value < last && (*value == '"' || *value == '\'')) {
            char quote = *value++;
            last -= last > value && last[-1] == quote;
        }
        append_escaped (&self, value, (size_t)(last - value));
        while (next < end && *next == ' ')
            next++;
    }
    if (open)
        self.out[self.size++] = '"';
    self.out[self.size++] = '}';
    return self.size;
}
