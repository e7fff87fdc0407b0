#include "station_name.h"

bool name_valid_with (struct span name, const char *more)
{
    if (name.size < 1 || name.size > STATION_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = name.data[i];
        bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        bool digit = byte >= '0' && byte <= '9';
        if (!letter && !digit && byte != '_' && byte != '.' && byte != '-' &&
            !(byte && strchr (more, byte)))
            return false;
    }
    return true;
}

bool station_name_valid (struct span name)
{
    return name_valid_with (name, "");
}

bool command_names_valid (struct span names)
{
    enum { NAME_MAX_BYTES = 256 };
    struct span name;
    if (!names.size || names.size > COMMAND_NAMES_MAX || memchr (names.data, '\0', names.size))
        return false;
    while (span_take_item (&names, &name))
        if (!name.size || name.size > NAME_MAX_BYTES)
            return false;
    return true;
}
