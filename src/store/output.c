#include "output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ident.h"
#include "json.h"
#include "memory.h"

enum { HEAD_MAX = 128 }; // of the line before the bytes, beside the station's name

static bool is_inside (struct span text, size_t at)
{
    return at < text.size && (text.data[at] & 0xC0) == 0x80;
}

char *output_make (struct span station, uint64_t plan_id, uint64_t exec_id, struct span text,
                   size_t keep, size_t *ret_size)
{
    enum { CHARACTER_MAX = 4 };
    char plan[IDENT_SIZE], run[IDENT_SIZE];
    size_t head = text.size, tail = 0; // bytes of each
    if (text.size > keep) {
        head = keep - keep / 2;
        tail = keep / 2;
        for (size_t i = 1; i < CHARACTER_MAX && head > 0 && is_inside (text, head); i++)
            head--;
        for (size_t i = 1; i < CHARACTER_MAX && tail > 0 && is_inside (text, text.size - tail); i++)
            tail--;
    }
    char *out = memory_new (HEAD_MAX + station.size + head + tail);
    int size = snprintf (out, HEAD_MAX + station.size, "%.*s:%s %s %zu %zu\n", (int)station.size,
                         (const char *)station.data, ident_text (plan_id, plan),
                         ident_text (exec_id, run), text.size, head);
    if (head)
        memcpy (out + size, text.data, head);
    if (tail)
        memcpy (out + size + head, text.data + text.size - tail, tail);
    *ret_size = (size_t)size + head + tail;
    return out;
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
    json_t *object = json_object ();
    json_object_set_new (object, "size", json_integer ((json_int_t)size));
    json_object_set_new (object, "head", json_from_frame (span_of (bytes.data, head)));
    if (size > head)
        json_object_set_new (object, "tail",
                             json_from_frame (span_of (bytes.data + head, bytes.size - head)));
    return object;
}
