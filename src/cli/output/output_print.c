#include "output_print.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "memory.h"
#include "print.h"
#include "utf8.h"

// Decode the bytes of a frame of JSON; free them.
static uint8_t *bytes_of (const json_t *frame, size_t *ret_size)
{
    const json_t *encoded = json_object_get (frame, "b64");
    uint8_t *bytes = memory_new (json_string_length (encoded ? encoded : frame) + 1);
    if (!json_to_frame (frame, bytes, ret_size))
        *ret_size = 0;
    return bytes;
}

// Write newlines, tabs and backslashes unchanged, and other control characters escaped.
static void write_printable (FILE *file, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0, end; at < size; at = end + 1) {
        end = at;
        while (end < size && bytes[end] != '\n' && bytes[end] != '\t' && bytes[end] != '\\')
            end++;
        write_bytes (file, span_of (bytes + at, end - at));
        if (end < size)
            fputc (bytes[end], file);
    }
}

// Write bytes, escaped for a terminal. Returns whether the last one was a newline.
static bool write_text (FILE *file, const uint8_t *bytes, size_t size, bool terminal)
{
    if (terminal)
        write_printable (file, bytes, size);
    else
        fwrite (bytes, 1, size, file);
    return size > 0 && bytes[size - 1] == '\n';
}

bool output_print_frame (FILE *file, const json_t *frame)
{
    size_t size;
    uint8_t *bytes = bytes_of (frame, &size);
    bool ended = write_text (file, bytes, size, isatty (fileno (file)));
    free (bytes);
    return ended;
}

void output_print (FILE *file, const json_t *output)
{
    size_t head_size, tail_size = 0;
    bool terminal = isatty (fileno (file)), ended;
    json_int_t size = field_number (output, "size");
    const json_t *last = json_object_get (output, "tail");
    uint8_t *head = bytes_of (json_object_get (output, "head"), &head_size);
    uint8_t *tail = last ? bytes_of (last, &tail_size) : NULL;
    ended = write_text (file, head, head_size, terminal);
    if (last) {
        fprintf (file, "%s[... %lld bytes are not kept ...]\n", ended ? "" : "\n",
                 (long long)size - (long long)head_size - (long long)tail_size);
        ended = tail_size == 0 || write_text (file, tail, tail_size, terminal);
    }
    if (!ended)
        fputc ('\n', file);
    free (head);
    free (tail);
}

const char *output_last_line (const json_t *output, char out[OUTPUT_LINE_SIZE])
{
    const json_t *last = json_object_get (output, "tail");
    last = json_string_length (last) ? last : json_object_get (output, "head");
    const char *text = json_string_value (last);
    size_t end = json_string_length (last);
    while (end > 0 && (unsigned char)text[end - 1] <= ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    struct span line = end ? span_of (text + begin, end - begin) : (struct span){0};
    out[span_put (out, 0, utf8_cut (line, OUTPUT_LINE_SIZE - 1))] = '\0';
    return out;
}
