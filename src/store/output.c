#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ident.h"
#include "json.h"
#include "memory.h"

enum { HEAD_MAX = 128 }; // size of the line before the bytes, without the station's name

// Whether the byte at `at` continues a UTF-8 character, so that the text must not be cut before it.
static bool is_continuation_byte (struct span text, size_t at)
{
    return at < text.size && (text.data[at] & 0xC0) == 0x80;
}

// Pack the kept head and tail of a text of `size` bytes. Free it.
static char *pack_output (struct span station, uint64_t plan_id, uint64_t exec_id, size_t size,
                          struct span head, struct span tail, size_t *ret_size)
{
    char plan[IDENT_SIZE], run[IDENT_SIZE];
    size_t room = HEAD_MAX + station.size;
    char *out = memory_new (room + head.size + tail.size);
    size_t at = (size_t)snprintf (out, room, "%.*s:%s %s %zu %zu\n", (int)station.size,
                                  (const char *)station.data, ident_text (plan_id, plan),
                                  ident_text (exec_id, run), size, head.size);
    if (head.size)
        memcpy (out + at, head.data, head.size);
    if (tail.size)
        memcpy (out + at + head.size, tail.data, tail.size);
    *ret_size = at + head.size + tail.size;
    return out;
}

char *output_make (struct span station, uint64_t plan_id, uint64_t exec_id, struct span text,
                   size_t keep, size_t *ret_size)
{
    enum { CHARACTER_MAX = 4 };
    size_t head = text.size, tail = 0; // bytes of each
    if (text.size > keep) {
        head = keep - keep / 2;
        tail = keep / 2;
        for (size_t i = 1; i < CHARACTER_MAX && head > 0 && is_continuation_byte (text, head); i++)
            head--;
        for (size_t i = 1;
             i < CHARACTER_MAX && tail > 0 && is_continuation_byte (text, text.size - tail); i++)
            tail--;
    }
    return pack_output (station, plan_id, exec_id, text.size, span_of (text.data, head),
                        span_of (tail ? text.data + text.size - tail : NULL, tail), ret_size);
}

char *output_from_json (struct span station, uint64_t plan_id, uint64_t exec_id,
                        const json_t *output, size_t *ret_size)
{
    int64_t size;
    size_t head_size, tail_size = 0;
    const json_t *head = json_object_get (output, "head"), *tail = json_object_get (output, "tail");
    char *text = json_write (output), *packed = NULL;
    uint8_t *bytes = memory_new (strlen (text) + 1);
    free (text);
    if (json_get_integer (output, "size", 1, INT64_MAX, &size) && head &&
        json_to_frame (head, bytes, &head_size) &&
        (!tail || json_to_frame (tail, bytes + head_size, &tail_size)) &&
        (tail ? head_size + tail_size < (size_t)size : head_size == (size_t)size))
        packed = pack_output (station, plan_id, exec_id, (size_t)size, span_of (bytes, head_size),
                              span_of (bytes + head_size, tail_size), ret_size);
    free (bytes);
    return packed;
}

json_t *output_json (struct span output, uint64_t exec_id)
{
    char line[HEAD_MAX + 256], run[IDENT_SIZE + 1];
    uint64_t size, head, known;
    const uint8_t *end = output.size ? memchr (output.data, '\n', output.size) : NULL;
    size_t line_size = end ? (size_t)(end - output.data) : sizeof line;
    if (line_size >= sizeof line)
        return NULL;
    memcpy (line, output.data, line_size);
    line[line_size] = '\0';
    const char *rest = strchr (line, ' ');
    struct span bytes = span_of (end + 1, output.size - line_size - 1);
    if (!rest || sscanf (rest, " %16s %" SCNu64 " %" SCNu64, run, &size, &head) != 3 ||
        !ident_parse (span_text (run), &known) || known != exec_id || head > bytes.size ||
        size < bytes.size || size > INT64_MAX)
        return NULL;
    json_t *tail =
        size > head ? json_from_frame (span_of (bytes.data + head, bytes.size - head)) : NULL;
    return json_pack ("{s:I, s:o, s:o*}", "size", (json_int_t)size, "head",
                      json_from_frame (span_of (bytes.data, head)), "tail", tail);
}
