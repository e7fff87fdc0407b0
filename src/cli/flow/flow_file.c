#include "flow_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "flow_yaml.h"
#include "memory.h"

char *flow_file_bytes (const char *name, size_t max, const char *max_text, size_t *ret_size,
                       struct reason *reason)
{
    size_t size = 0, room = 65536, got;
    FILE *file = strcmp (name, "-") == 0 ? stdin : fopen (name, "re");
    if (!file) {
        reason_set (reason, "%s", strerror (errno));
        return NULL;
    }
    char *text = memory_new (room);
    while (size <= max && (got = fread (text + size, 1, room - size - 1, file)) > 0) {
        size += got;
        if (size == room - 1)
            text = memory_resize (text, room *= 2);
    }
    text[size] = '\0';
    *ret_size = size;
    bool good = !ferror (file) && size <= max;
    if (ferror (file))
        reason_set (reason, "%s", strerror (errno));
    else if (!good)
        reason_set (reason, "larger than %s", max_text);
    if (file != stdin)
        fclose (file);
    if (good)
        return text;
    free (text);
    return NULL;
}

static char *json_of_yaml (char *yaml, size_t *size, struct reason *reason)
{
    json_t *json = flow_yaml_read (span_of (yaml, *size), reason);
    free (yaml);
    char *text = json ? json_dumps (json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref (json);
    if (text)
        *size = strlen (text);
    return text;
}

// Drop a byte order mark, which is not part of the text.
static void drop_mark (char *text, size_t *size)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t length = sizeof mark - 1;
    if (strncmp (text, mark, length) != 0)
        return;
    *size -= length;
    memmove (text, text + length, *size + 1);
}

char *flow_file_read (const char *name, size_t *ret_size, struct reason *reason)
{
    // A definition is smaller, but YAML may have comments.
    char *text = flow_file_bytes (name, 4000000, "4000000 bytes", ret_size, reason);
    if (text)
        drop_mark (text, ret_size);
    if (!text || text[strspn (text, " \t\r\n")] == '{')
        return text;
    return json_of_yaml (text, ret_size, reason);
}

json_t *flow_file_json (const char *name, struct reason *reason)
{
    size_t size;
    char *text = flow_file_read (name, &size, reason);
    json_t *json = text ? expr_read_json (span_of (text, size), reason) : NULL;
    free (text);
    return json;
}
