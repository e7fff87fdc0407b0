#include "arguments.h"

#include <stdlib.h>

#include "json.h"
#include "settings.h"

bool argument_number (struct span text, int64_t min, int64_t max, int64_t *ret)
{
    char copy[24];
    if (text.size == 0 || text.size >= sizeof copy || memchr (text.data, '\0', text.size))
        return false;
    memcpy (copy, text.data, text.size);
    copy[text.size] = '\0';
    return number_parse (copy, ret) && *ret >= min && *ret <= max;
}

bool stored_member_text (const char *name, const json_t *value, char *out, size_t room)
{
    char *text = json_write (value);
    int size = snprintf (out, room, "\"%s\":%s", name, text);
    free (text);
    return size < (int)room;
}

bool copy_json_text (const json_t *value, char *out, size_t room)
{
    if (!json_is_string (value) || json_string_length (value) >= room)
        return false;
    memcpy (out, json_string_value (value), json_string_length (value) + 1);
    return true;
}
