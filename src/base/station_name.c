#include "station_name.h"

bool station_name_valid (struct span name)
{
    if (name.size < 1 || name.size > STATION_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = name.data[i];
        bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        bool digit = byte >= '0' && byte <= '9';
        if (!letter && !digit && byte != '_' && byte != '.' && byte != '-')
            return false;
    }
    return true;
}
