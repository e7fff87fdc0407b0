#include "flow_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_yaml.h"
#include "memory.h"

// All of a file, up to a bound.
static char *read_all (FILE *file, size_t *ret_size, struct reason *reason)
{
    size_t size = 0, room = 65536;
    char *text = memory_new (room);
    while (size <= FLOW_FILE_MAX) {
        size_t got = fread (text + size, 1, room - size - 1, file);
        size += got;
        if (got == 0)
            break;
        if (size == room - 1)
            text = memory_resize (text, room *= 2);
    }
    if (ferror (file))
        reason_set (reason, "%s", strerror (errno));
    else if (size > FLOW_FILE_MAX)
        reason_set (reason, "larger than %d bytes", FLOW_FILE_MAX);
    else {
        text[size] = '\0';
        *ret_size = size;
        return text;
    }
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

// A byte order mark says nothing of UTF-8, and is no text.
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
    FILE *file = strcmp (name, "-") == 0 ? stdin : fopen (name, "re");
    if (!file) {
        reason_set (reason, "%s", strerror (errno));
        return NULL;
    }
    char *text = read_all (file, ret_size, reason);
    if (file != stdin)
        fclose (file);
    if (text)
        drop_mark (text, ret_size);
    if (!text || text[strspn (text, " \t\r\n")] == '{')
        return text;
    return json_of_yaml (text, ret_size, reason);
}
