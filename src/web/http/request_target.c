#include "request_target.h"

#include <stdlib.h>

#include "memory.h"
#include "percent.h"
#include "utf8.h"

static bool is_plain_text (const char *text, size_t size)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    while (at < end) {
        size_t bytes = utf8_size (at, end);
        if (bytes == 0 || *at < 0x20 || *at == 0x7f)
            return false;
        at += bytes;
    }
    return true;
}

// Decode to `out`, which has room for raw.size bytes and a NUL. Returns the position after the NUL,
// or NULL for an invalid text.
static char *decode_percent (struct span raw, bool plus_is_blank, char *out)
{
    char *begin = out;
    for (size_t i = 0; i < raw.size; i++) {
        if (raw.data[i] == '%') {
            int byte = percent_byte (span_of (raw.data + i, raw.size - i));
            if (byte < 0)
                return NULL;
            i += 2;
            *out++ = (char)byte;
        } else {
            *out++ = plus_is_blank && raw.data[i] == '+' ? ' ' : (char)raw.data[i];
        }
    }
    *out = '\0';
    return is_plain_text (begin, (size_t)(out - begin)) ? out + 1 : NULL;
}

static struct span split_at (struct span *rest, char at)
{
    const uint8_t *end = rest->size ? memchr (rest->data, at, rest->size) : NULL;
    struct span part = span_of (rest->data, end ? (size_t)(end - rest->data) : rest->size);
    *rest = end ? span_of (end + 1, rest->size - part.size - 1) : (struct span){0};
    return part;
}

static int read_segments (struct span path, struct request_target *ret, char **at,
                          struct reason *reason)
{
    struct span rest = span_of (path.data + 1, path.size - 1);
    while (rest.size) {
        bool last = !memchr (rest.data, '/', rest.size);
        struct span raw = split_at (&rest, '/');
        char *text = *at;
        if (ret->segment_count == TARGET_SEGMENTS_MAX)
            return reason_set (reason, "path: too many segments");
        *at = raw.size ? decode_percent (raw, false, text) : NULL;
        if (!*at)
            return reason_set (reason,
                               "path: want UTF-8 text, segments that are not empty, and %%HH");
        if (strpbrk (text, "/\\") || strcmp (text, ".") == 0 || strcmp (text, "..") == 0)
            return reason_set (reason, "path: want no slash, backslash, . or .. in a segment");
        ret->segments[ret->segment_count++] = text;
        if (!last && !rest.size)
            return reason_set (reason, "path: want no slash at its end");
    }
    return 0;
}

static int read_query_fields (struct span rest, struct request_target *ret, char **at,
                              struct reason *reason)
{
    while (rest.size) {
        struct span value = split_at (&rest, '&');
        struct span name = split_at (&value, '=');
        struct query_field field = {.name = *at};
        if (name.size == 0 && value.size == 0)
            continue;
        if (ret->field_count == TARGET_FIELDS_MAX)
            return reason_set (reason, "query: want at most 32 fields");
        field.value = *at = decode_percent (name, true, *at);
        *at = *at ? decode_percent (value, true, *at) : NULL;
        if (!*at)
            return reason_set (reason, "query: want UTF-8 text and %%HH");
        if (request_target_field (ret, field.name))
            return reason_set (reason, "query: %s is given twice", quoted (span_text (field.name)));
        ret->fields[ret->field_count++] = field;
    }
    return 0;
}

// The target from its path on; the authority of an absolute URL is returned in `ret_authority`.
static struct span strip_authority (struct span raw, struct span *ret_authority)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen (schemes[i]);
        if (raw.size <= size || memcmp (raw.data, schemes[i], size) != 0)
            continue;
        struct span rest = span_of (raw.data + size, raw.size - size);
        const uint8_t *slash = memchr (rest.data, '/', rest.size);
        size_t before = slash ? (size_t)(slash - rest.data) : rest.size;
        *ret_authority = span_of (rest.data, before);
        return span_of (rest.data + before, rest.size - before);
    }
    return raw;
}

int request_target_read (struct span raw, struct request_target *ret, struct reason *reason)
{
    struct request_target self = {0};
    if (raw.size > TARGET_SIZE_MAX ||
        (raw.size && (memchr (raw.data, '#', raw.size) || memchr (raw.data, ' ', raw.size))))
        return reason_set (reason, "target: want at most 8192 bytes, without blanks or a fragment");
    struct span query = strip_authority (raw, &self.authority);
    struct span path = split_at (&query, '?');
    if (path.size == 0 || path.data[0] != '/')
        return reason_set (reason, "target: want a path");
    // Decoding makes no part longer, and there is space for a NUL after each.
    char *at = self.text = memory_new (raw.size + 2 * TARGET_FIELDS_MAX + 2);
    if (read_segments (path, &self, &at, reason) || read_query_fields (query, &self, &at, reason)) {
        request_target_clear (&self);
        return -1;
    }
    *ret = self;
    return 0;
}

void request_target_clear (struct request_target *self)
{
    free (self->text);
    *self = (struct request_target){0};
}

const char *request_target_field (const struct request_target *self, const char *name)
{
    for (size_t i = 0; i < self->field_count; i++)
        if (strcmp (self->fields[i].name, name) == 0)
            return self->fields[i].value;
    return NULL;
}
