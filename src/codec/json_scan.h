// JSON read straight from its bytes, for texts of the hot path that this program wrote. Every call
// takes the next part, after white space, or fails: then the text is broken, or only unusual, and
// json_read_object must read it, and reports the error. Both take a part in the same way; the
// caller takes all of a text, and checks for duplicate names.
#pragma once

#include "json_text.h"

struct json_scan {
    const uint8_t *at, *end;
};

static inline struct json_scan json_scan_of (struct span text)
{
    return (struct json_scan){text.data, text.size ? text.data + text.size : text.data};
}

// Pass over white space, of which mostly there is none.
static inline void json_scan_space (struct json_scan *self)
{
    while (self->at < self->end && *self->at <= ' ' &&
           (*self->at == ' ' || *self->at == '\n' || *self->at == '\t' || *self->at == '\r'))
        self->at++;
}

static inline bool json_scan_is_next (const struct json_scan *self, uint8_t byte)
{
    return self->at < self->end && *self->at == byte;
}

// This byte, one of {}[],: is next: it is taken. Inline, as is the next: each plan has a score of
// them.
static inline bool json_scan_take (struct json_scan *self, uint8_t byte)
{
    if (!json_scan_is_next (self, byte))
        json_scan_space (self);
    if (!json_scan_is_next (self, byte))
        return false;
    self->at++;
    return true;
}

// Nothing is left.
bool json_scan_ended (struct json_scan *self);

// The name of a member and its colon are next: they are taken. Written with escapes, or with a
// space before the colon, it is not known.
static inline bool json_scan_name (struct json_scan *self, const struct json_name *name)
{
    const char *wanted = name->text + 1; // without the comma
    size_t size = name->size - 1U;
    if (!json_scan_is_next (self, '"'))
        json_scan_space (self);
    // The second byte distinguishes most names.
    if ((size_t)(self->end - self->at) < size || self->at[1] != (uint8_t)wanted[1] ||
        memcmp (self->at, wanted, size) != 0)
        return false;
    self->at += size;
    return true;
}

bool json_scan_integer (struct json_scan *self, int64_t *ret);

bool json_scan_flag (struct json_scan *self, bool *ret);

// Decode a string to `out`, which has room for as many bytes as are left in the text. Those after
// the decoded may be written, too.
bool json_scan_string (struct json_scan *self, uint8_t *out, size_t *ret_size);

// A frame as json_to_frame reads it, to `out` as before.
bool json_scan_frame (struct json_scan *self, uint8_t *out, size_t *ret_size);
