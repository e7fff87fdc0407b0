#include "json_scan.h"

#include "base64.h"
#include "json.h"
#include "percent.h"
#include "utf8.h"

static size_t bytes_left (const struct json_scan *self)
{
    return (size_t)(self->end - self->at);
}

// Consume these bytes if they are next; white space is not skipped.
static bool take_bytes (struct json_scan *self, const char *bytes, size_t size)
{
    if (bytes_left (self) < size || memcmp (self->at, bytes, size) != 0)
        return false;
    self->at += size;
    return true;
}

bool json_scan_ended (struct json_scan *self)
{
    json_scan_space (self);
    return self->at == self->end;
}

bool json_scan_integer (struct json_scan *self, int64_t *ret)
{
    enum { DIGITS_MAX = 19 }; // 19 digits fit a uint64; a further digit is then no valid next token
    json_scan_space (self);
    const uint8_t *at = self->at;
    bool negative = at < self->end && *at == '-';
    at += negative;
    const uint8_t *first = at;
    const uint8_t *limit = self->end - at > DIGITS_MAX ? at + DIGITS_MAX : self->end;
    uint64_t number = 0;
    for (uint8_t digit; at < limit && (digit = (uint8_t)(*at - '0')) <= 9; at++)
        number = number * 10 + digit;
    if (at == first || (*first == '0' && at - first > 1) || number > (uint64_t)INT64_MAX + negative)
        return false;
    self->at = at;
    *ret = (int64_t)(negative ? 0 - number : number);
    return true;
}

bool json_scan_flag (struct json_scan *self, bool *ret)
{
    json_scan_space (self);
    bool flag = take_bytes (self, "true", 4);
    if (!flag && !take_bytes (self, "false", 5))
        return false;
    *ret = flag;
    return true;
}

// -- strings

// The number that four hex digits form, or -1.
static int32_t read_four_hex (const uint8_t *at, const uint8_t *end)
{
    int32_t value = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_value (at[i]);
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

// Write a code point in UTF-8. Returns its size.
static size_t put_utf8 (int32_t code, uint8_t *out)
{
    if (code < 0x80) {
        out[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (uint8_t)(0xC0 | code >> 6);
        out[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code >> 12);
        out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code >> 18);
    out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

// Read the code point after "\u", with the second escape of a surrogate pair. Returns where it
// ends; NULL: half a pair, a NUL, or invalid.
static const uint8_t *read_code_point (const uint8_t *at, const uint8_t *end, int32_t *ret)
{
    int32_t code = read_four_hex (at, end);
    at += 4;
    if (code <= 0 || (code >= 0xDC00 && code <= 0xDFFF))
        return NULL;
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (end - at < 2 || at[0] != '\\' || at[1] != 'u')
            return NULL;
        int32_t second = read_four_hex (at + 2, end);
        if (second < 0xDC00 || second > 0xDFFF)
            return NULL;
        code = 0x10000 + ((code & 0x3FF) << 10 | (second & 0x3FF));
        at += 6;
    }
    *ret = code;
    return at;
}

// Decode the escape after a backslash to `out`, which is advanced. Returns where the escape ends;
// NULL: invalid.
static const uint8_t *read_escape (const uint8_t *at, const uint8_t *end, uint8_t **out)
{
    static const uint8_t bytes[0x80] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                        ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    if (at == end || *at >= sizeof bytes)
        return NULL;
    if (bytes[*at]) {
        *(*out)++ = bytes[*at];
        return at + 1;
    }
    int32_t code = 0;
    at = *at == 'u' ? read_code_point (at + 1, end, &code) : NULL;
    if (at)
        *out += put_utf8 (code, *out);
    return at;
}

// Copy non-ASCII characters to `out`, which is advanced. Returns where they end; NULL: invalid.
static const uint8_t *copy_characters (const uint8_t *at, const uint8_t *end, uint8_t **out)
{
    while (at < end && *at >= 0x80) {
        size_t size = utf8_size (at, end);
        if (!size)
            return NULL;
        for (; size; size--)
            *(*out)++ = *at++;
    }
    return at;
}

bool json_scan_string (struct json_scan *self, uint8_t *out, size_t *ret_size)
{
    uint8_t *to = out;
    if (!json_scan_take (self, '"'))
        return false;
    for (const uint8_t *at = self->at; at;) {
        size_t plain = utf8_copy_plain (at, self->end, to);
        at += plain;
        to += plain;
        if (at == self->end)
            return false;
        if (*at == '"') {
            self->at = at + 1;
            *ret_size = (size_t)(to - out);
            return true;
        }
        if (*at == '\\')
            at = read_escape (at + 1, self->end, &to);
        else
            at = *at >= 0x80 ? copy_characters (at, self->end, &to) : NULL;
    }
    return false;
}

bool json_scan_frame (struct json_scan *self, uint8_t *out, size_t *ret_size)
{
    static const struct json_name name = JSON_NAME ("b64");
    if (!json_scan_take (self, '{'))
        return json_scan_string (self, out, ret_size);
    if (!json_scan_name (self, &name) || !json_scan_take (self, '"'))
        return false;
    // Base64 contains no quote or backslash: the next quote ends it, and nothing is escaped.
    const uint8_t *end = memchr (self->at, '"', bytes_left (self));
    size_t size;
    if (!end || !base64_decode (span_of (self->at, (size_t)(end - self->at)), out, &size))
        return false;
    self->at = end + 1;
    if (!json_scan_take (self, '}'))
        return false;
    *ret_size = size;
    return true;
}

// -- any value

// Consume a string; `ret` is what is between its quotes.
static bool skip_string (struct json_scan *self, struct span *ret)
{
    if (!json_scan_take (self, '"'))
        return false;
    const uint8_t *start = self->at;
    for (const uint8_t *at = start; at;) {
        uint8_t decoded[4], *out = decoded;
        at += utf8_plain_size (at, self->end);
        if (at == self->end)
            return false;
        if (*at == '"') {
            self->at = at + 1;
            *ret = span_of (start, (size_t)(at - start));
            return true;
        }
        size_t size = utf8_size (at, self->end);
        if (*at == '\\')
            at = read_escape (at + 1, self->end, &out);
        else
            at = *at >= 0x80 && size ? at + size : NULL;
    }
    return false;
}

// Consume a number: integers and short decimals are checked here, all others by jansson.
static bool skip_number (struct json_scan *self)
{
    enum { DECIMALS_MAX = 18 };
    static const char more[] = "0123456789+-.eE";
    const uint8_t *start = self->at;
    int64_t integer;
    if (json_scan_integer (self, &integer) && json_scan_is_next (self, '.')) {
        const uint8_t *first = ++self->at;
        while (self->at < self->end && *self->at >= '0' && *self->at <= '9')
            self->at++;
        if (self->at == first || self->at - first > DECIMALS_MAX)
            self->at = start;
    }
    if (self->at > start && (self->at == self->end || !memchr (more, *self->at, sizeof more - 1)))
        return true;
    for (self->at = start; self->at < self->end; self->at++)
        if (!memchr (more, *self->at, sizeof more - 1))
            break;
    json_t *number =
        json_loadb ((const char *)start, (size_t)(self->at - start), JSON_DECODE_ANY, NULL);
    json_decref (number);
    return number;
}

// Consume a value inside `depth` others. False: it is invalid or too deep.
static bool skip_json_value (struct json_scan *self, int depth)
{
    struct span ignored;
    json_scan_space (self);
    if (json_scan_is_next (self, '"'))
        return skip_string (self, &ignored);
    bool is_object = json_scan_is_next (self, '{');
    if (!is_object && !json_scan_is_next (self, '['))
        return take_bytes (self, "true", 4) || take_bytes (self, "false", 5) ||
               take_bytes (self, "null", 4) || skip_number (self);
    uint8_t end = is_object ? '}' : ']';
    self->at++;
    if (depth == JSON_DEPTH_MAX)
        return false;
    if (json_scan_take (self, end))
        return true;
    do {
        if ((is_object && !json_scan_any_name (self, &ignored)) ||
            !skip_json_value (self, depth + 1))
            return false;
    } while (json_scan_take (self, ','));
    return json_scan_take (self, end);
}

bool json_scan_value (struct json_scan *self, struct span *ret)
{
    json_scan_space (self);
    const uint8_t *start = self->at;
    if (!skip_json_value (self, 0))
        return false;
    *ret = span_of (start, (size_t)(self->at - start));
    return true;
}

bool json_scan_any_name (struct json_scan *self, struct span *ret)
{
    return skip_string (self, ret) && json_scan_take (self, ':');
}
