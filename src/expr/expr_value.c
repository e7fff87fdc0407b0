#include "expr_value.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "civil.h"
#include "decimal.h"
#include "rfc3339.h"

const char *expr_type_name (enum expr_type type)
{
    static const char *const names[] = {
        [EXPR_NULL] = "null",       [EXPR_BOOLEAN] = "boolean", [EXPR_INTEGER] = "integer",
        [EXPR_DECIMAL] = "decimal", [EXPR_STRING] = "string",   [EXPR_LIST] = "list",
        [EXPR_OBJECT] = "object",   [EXPR_TIME] = "time",
    };
    return names[type];
}

int expr_error_set (struct expr_error *error, enum expr_code code, const char *format, ...)
{
    va_list args;
    *error = (struct expr_error){.code = code};
    va_start (args, format);
    reason_format (&error->reason, format, args);
    va_end (args);
    return code;
}

struct expr_value expr_of_json (const json_t *json)
{
    switch (json_typeof (json)) {
    case JSON_TRUE:
    case JSON_FALSE:
        return expr_of_boolean (json_is_true (json));
    case JSON_INTEGER:
        return expr_of_integer (json_integer_value (json));
    case JSON_REAL:
        return (struct expr_value){.type = EXPR_DECIMAL, .decimal = json_real_value (json)};
    case JSON_STRING:
        return expr_of_string (span_of (json_string_value (json), json_string_length (json)));
    case JSON_ARRAY:
        return (struct expr_value){.type = EXPR_LIST,
                                   .from_json = true,
                                   .size = (uint32_t)json_array_size (json),
                                   .json = json};
    case JSON_OBJECT:
        return (struct expr_value){
            .type = EXPR_OBJECT, .size = (uint32_t)json_object_size (json), .json = json};
    case JSON_NULL:
        break;
    }
    return (struct expr_value){.type = EXPR_NULL};
}

struct expr_value expr_of_string (struct span text)
{
    return (struct expr_value){
        .type = EXPR_STRING, .size = (uint32_t)text.size, .string = (const char *)text.data};
}

struct expr_value expr_of_integer (int64_t integer)
{
    return (struct expr_value){.type = EXPR_INTEGER, .integer = integer};
}

struct expr_value expr_of_boolean (bool boolean)
{
    return (struct expr_value){.type = EXPR_BOOLEAN, .boolean = boolean};
}

struct expr_value expr_of_time (int64_t local)
{
    assert (local >= EXPR_TIME_MIN && local <= EXPR_TIME_MAX);
    return (struct expr_value){.type = EXPR_TIME, .time = local};
}

struct expr_value expr_item (const struct expr_value *list, uint32_t index)
{
    assert (list->type == EXPR_LIST && index < list->size);
    return list->from_json ? expr_of_json (json_array_get (list->json, index)) : list->items[index];
}

bool expr_member (const struct expr_value *object, struct span name, struct expr_value *ret)
{
    const json_t *member = json_object_getn (object->json, (const char *)name.data, name.size);
    if (!member)
        return false;
    *ret = expr_of_json (member);
    return true;
}

// -- texts

// Write the shortest digits that read back, as a decimal of JSON and expressions: always with a
// fraction, with an exponent if that is below -4 or above 15. Returns the length.
static size_t write_shortest_decimal (double value, char out[EXPR_SCALAR_SIZE])
{
    char digits[EXPR_SCALAR_SIZE];
    // If a normal number needs fewer than DBL_DIG digits, DBL_DIG digits only add zeros.
    int precision = fabs (value) < DBL_MIN ? 0 : DBL_DIG - 1;
    do
        snprintf (digits, sizeof digits, "%.*e", precision, value);
    while (strtod (digits, NULL) != value && ++precision < DBL_DECIMAL_DIG);
    char *mark = strchr (digits, 'e'), *end = mark;
    if (precision > 0) {
        while (end[-1] == '0')
            end--;
        end -= end[-1] == '.';
        memmove (end, mark, strlen (mark) + 1);
        mark = end;
    }
    long exponent = strtol (mark + 1, NULL, 10);
    if (exponent < -4 || exponent > 15)
        return (size_t)snprintf (out, EXPR_SCALAR_SIZE, "%s", digits);
    int fraction = (int)(mark - digits) - (digits[0] == '-') - 1; // digits after the first
    fraction = (fraction ? fraction - 1 : 0) - (int)exponent;
    return (size_t)snprintf (out, EXPR_SCALAR_SIZE, "%.*f", fraction > 1 ? fraction : 1, value);
}

static size_t write_time (int64_t local, char out[EXPR_SCALAR_SIZE])
{
    struct civil_date date = civil_date (civil_day_of (local));
    int seconds = (int)civil_time_of_day (local);
    return (size_t)snprintf (out, EXPR_SCALAR_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d", (int)date.year,
                             date.month, date.day, seconds / 3600, seconds / 60 % 60, seconds % 60);
}

size_t expr_scalar_text (const struct expr_value *value, char out[EXPR_SCALAR_SIZE])
{
    switch (value->type) {
    case EXPR_INTEGER:
        return decimal_text (value->integer, out);
    case EXPR_DECIMAL:
        return write_shortest_decimal (value->decimal, out);
    case EXPR_TIME:
        return write_time (value->time, out);
    default:
        assert (value->type == EXPR_BOOLEAN);
        return (size_t)snprintf (out, EXPR_SCALAR_SIZE, "%s", value->boolean ? "true" : "false");
    }
}

bool expr_text (const struct expr_value *value, char buffer[EXPR_SCALAR_SIZE], struct span *ret)
{
    if (value->type == EXPR_NULL || value->type == EXPR_LIST || value->type == EXPR_OBJECT)
        return false;
    *ret = value->type == EXPR_STRING ? span_of (value->string, value->size)
                                      : span_of (buffer, expr_scalar_text (value, buffer));
    return true;
}

// Parse two digits of a time or date, at most `max`; -1: invalid.
static int parse_two_digits (const uint8_t *at, int max)
{
    if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
        return -1;
    int value = (at[0] - '0') * 10 + at[1] - '0';
    return value <= max ? value : -1;
}

bool expr_time_parse (struct span text, const struct zone *zone, int64_t *ret_local)
{
    enum { DATE = 10, MINUTES = 16, SECONDS = 19 };
    struct reason reason;
    int64_t instant;
    if (text.size > SECONDS) {
        if (rfc3339_parse (text, &instant, &reason))
            return false;
        int64_t local = instant + (zone ? zone_offset (zone, instant) : 0);
        if (local > EXPR_TIME_MAX)
            return false;
        *ret_local = local;
        return true;
    }
    if (text.size != DATE && text.size != MINUTES && text.size != SECONDS)
        return false;
    const uint8_t *at = text.data;
    int century = parse_two_digits (at, 99), year = parse_two_digits (at + 2, 99);
    int month = parse_two_digits (at + 5, 12), day = parse_two_digits (at + 8, 31);
    if (at[4] != '-' || at[7] != '-' || century < 0 || year < 0 || century + year == 0 ||
        month < 1 || day < 1 || day > civil_month_length (century * 100 + year, month))
        return false;
    int hour = 0, minute = 0, second = 0;
    if (text.size > DATE) {
        hour = at[10] == 'T' && at[13] == ':' ? parse_two_digits (at + 11, 23) : -1;
        minute = parse_two_digits (at + 14, 59);
    }
    if (text.size > MINUTES)
        second = at[16] == ':' ? parse_two_digits (at + 17, 59) : -1;
    if (hour < 0 || minute < 0 || second < 0)
        return false;
    struct civil_date date = {century * 100 + year, month, day};
    *ret_local = civil_days (date) * CIVIL_DAY + hour * 3600 + minute * 60 + second;
    return true;
}
