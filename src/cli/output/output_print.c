#include "output_print.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "print.h"
#include "utf8.h"

// Write bytes, escaped for a terminal. Returns whether the last one was a newline.
static bool write_text (FILE *file, const uint8_t *bytes, size_t size, bool terminal)
{
    if (terminal)
        write_bytes_allowing (file, span_of (bytes, size), "\n\t\\");
    else
        fwrite (bytes, 1, size, file);
    return size > 0 && bytes[size - 1] == '\n';
}

bool output_print_frame (FILE *file, const json_t *frame)
{
    size_t size;
    uint8_t *bytes = frame_bytes (frame, &size);
    bool ended = write_text (file, bytes, size, isatty (fileno (file)));
    free (bytes);
    return ended;
}

void output_print (FILE *file, const json_t *output)
{
    size_t head_size, tail_size;
    bool terminal = isatty (fileno (file)), ended;
    json_int_t size = field_number (output, "size");
    const json_t *last = json_object_get (output, "tail");
    uint8_t *head = frame_bytes (json_object_get (output, "head"), &head_size);
    uint8_t *tail = frame_bytes (last, &tail_size);
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
