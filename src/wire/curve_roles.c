// Parse the lists of a certificate: the roles of a key, and the targets that they are for.
#include "curve.h"

#include <string.h>

#include "station_name.h"

// The list, for span_take_item; "" has no items.
static struct span items_of (const char *list)
{
    return *list ? span_text (list) : (struct span){0};
}

int curve_roles_read (const char *text, unsigned *ret, struct reason *reason)
{
    static const struct {
        const char *name;
        unsigned role;
    } known[] = {{"submit", CURVE_ROLE_SUBMIT},
                 {"observe", CURVE_ROLE_OBSERVE},
                 {"manage", CURVE_ROLE_MANAGE},
                 {"result", CURVE_ROLE_RESULT},
                 {"signal", CURVE_ROLE_SIGNAL}};
    unsigned roles = 0;
    struct span rest = items_of (text), part;
    while (span_take_item (&rest, &part)) {
        unsigned role = 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (span_is (part, known[i].name))
                role = known[i].role;
        if (!role)
            return reason_set (
                reason, "roles: want one or more of submit,observe,manage,result,signal, got %s",
                quoted (part));
        roles |= role;
    }
    *ret = roles;
    return 0;
}

static bool station_pattern_valid (struct span pattern)
{
    bool is_prefix = pattern.size && pattern.data[pattern.size - 1] == '*';
    return station_name_valid (span_of (pattern.data, pattern.size - is_prefix)) ||
           (is_prefix && pattern.size == 1);
}

int curve_stations_check (const char *text, struct reason *reason)
{
    struct span rest = items_of (text), part;
    while (span_take_item (&rest, &part)) {
        if (station_pattern_valid (part))
            continue;
        return reason_set (
            reason,
            "stations: want names of 1..64 A-Z a-z 0-9 _ . - or prefixes of them that end "
            "with *, got %s",
            quoted (part));
    }
    return 0;
}

static bool pattern_matches (struct span pattern, struct span station)
{
    if (pattern.size == 0 || pattern.data[pattern.size - 1] != '*')
        return span_equal (pattern, station);
    size_t size = pattern.size - 1;
    return station.size >= size &&
           span_equal (span_of (pattern.data, size), span_of (station.data, size));
}

bool curve_stations_have (const char *text, struct span station)
{
    struct span rest = items_of (text), pattern;
    bool found = !rest.data;
    while (!found && span_take_item (&rest, &pattern))
        found = pattern_matches (pattern, station);
    return found;
}
