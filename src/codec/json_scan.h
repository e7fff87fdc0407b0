// JSON parsed directly from its bytes, for hot-path texts that this program wrote. Every call
// consumes the next token, after white space. If a call fails, the text is invalid or merely
// unusual, and json_read_object must parse it and report any error. Both parsers read a token that
// both accept alike. The caller must consume the whole text and check for duplicate names.
#pragma once

#include "json_text.h"

struct json_scan {
    const uint8_t *at, *end;
};

static inline struct json_scan json_scan_of (struct span text)
{
    const uint8_t *at = text.size ? text.data : (const uint8_t *)""; // never NULL
    return (struct json_scan){at, at + text.size};
}

// Skip white space; mostly there is none.
static inline void json_scan_space (struct json_scan *self)
{
    while (self->at < self->end && *self->at <= ' ' &&
           (*self->at == ' ' || *self->at == '\n' || *self->at == '\t' || *self->at == '\r'))
        self->at++;
}

// Whether the very next byte is this one; white space is not skipped.
static inline bool json_scan_is_next (const struct json_scan *self, uint8_t byte)
{
    return self->at < self->end && *self->at == byte;
}

// Skip white space, and consume this byte, a structural character, if it is next. Inline, like
// json_scan_name: a plan takes about twenty calls of each.
static inline bool json_scan_take (struct json_scan *self, uint8_t byte)
{
    if (!json_scan_is_next (self, byte))
        json_scan_space (self);
    if (!json_scan_is_next (self, byte))
        return false;
    self->at++;
    return true;
}

// Whether nothing but white space is left.
bool json_scan_ended (struct json_scan *self);

// Consume a member's name and its colon if they are next. A name that is written with escapes, or
// with a space before the colon, is not recognized.
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

// Consume an integer. The caller must check that the number ends there ("1" of "1.5" is accepted).
bool json_scan_integer (struct json_scan *self, int64_t *ret);

// Consume true or false.
bool json_scan_flag (struct json_scan *self, bool *ret);

// Consume a string, and decode it to `out`, which has room for all bytes left in the text. Bytes
// after the decoded ones may be overwritten.
bool json_scan_string (struct json_scan *self, uint8_t *out, size_t *ret_size);

// Consume a frame, written as json_from_frame makes it, and decode it to `out`, which has room for
// all bytes left in the text.
bool json_scan_frame (struct json_scan *self, uint8_t *out, size_t *ret_size);

// Consume the next value, whatever it is, checked as json_read_object checks it, except that names
// may be duplicate. `ret` is the value as it is written, without white space around it.
bool json_scan_value (struct json_scan *self, struct span *ret);

// Consume any member's name and its colon. `ret` is the name as it is written, without its quotes.
bool json_scan_any_name (struct json_scan *self, struct span *ret);
