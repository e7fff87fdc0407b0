// Methods of strings. Positions count code points; strings are valid UTF-8. Searches use memmem,
// which is linear, except for a factor bounded by the size of a short needle.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "expr_functions.h"

static bool starts_character (char byte)
{
    return ((unsigned char)byte & 0xC0) != 0x80;
}

static int64_t count_characters (const char *text, size_t size)
{
    int64_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += starts_character (text[i]);
    return count;
}

// The byte offset of character `number`; that of the end if `number` is the length.
static size_t character_offset (const struct expr_value *text, int64_t number)
{
    size_t at = 0;
    for (int64_t passed = 0; at < text->size; at++)
        if (starts_character (text->string[at]) && passed++ == number)
            break;
    return at;
}

bool expr_length (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    *ret = expr_of_integer (count_characters (arguments->string, arguments->size));
    return expr_charge_bytes (run, arguments->size);
}

bool expr_substring (struct expr_run *run, const struct expr_value *arguments,
                     struct expr_value *ret)
{
    const struct expr_value *text = &arguments[0];
    if (!expr_charge_bytes (run, text->size))
        return false;
    int64_t length = count_characters (text->string, text->size);
    int64_t from = arguments[1].integer, to = run->op->count > 1 ? arguments[2].integer : length;
    if (from < 0 || to < from || to > length)
        return expr_fail (run, EXPR_RANGE, "substring: %" PRId64 "..%" PRId64 " of %" PRId64, from,
                          to, length);
    size_t begin = character_offset (text, from), end = character_offset (text, to);
    *ret = expr_of_string (span_of (text->string + begin, end - begin));
    return true;
}

bool expr_change_case (struct expr_run *run, const struct expr_value *arguments,
                       struct expr_value *ret)
{
    char first = expr_method_kind (run) == TEXT_UPPER ? 'a' : 'A';
    char *text = expr_allocate_string (run, arguments->size);
    if (!text)
        return false;
    for (size_t i = 0; i < arguments->size; i++) {
        char byte = arguments->string[i];
        text[i] = byte >= first && byte < first + 26 ? (char)(byte ^ 0x20) : byte;
    }
    *ret = expr_of_string (span_of (text, arguments->size));
    return true;
}

static bool is_blank (char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool expr_trim (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    const char *text = arguments->string;
    size_t begin = 0, end = arguments->size;
    while (begin < end && is_blank (text[begin]))
        begin++;
    while (end > begin && is_blank (text[end - 1]))
        end--;
    *ret = expr_of_string (span_of (text + begin, end - begin));
    return expr_charge_bytes (run, arguments->size);
}

// -- searches

// The byte offset of the first needle at or after `from`; SIZE_MAX: there is none.
static size_t find_needle (const struct expr_value *text, size_t from,
                           const struct expr_value *needle)
{
    if (!needle->size)
        return from;
    if (from >= text->size)
        return SIZE_MAX;
    const char *found =
        memmem (text->string + from, text->size - from, needle->string, needle->size);
    return found ? (size_t)(found - text->string) : SIZE_MAX;
}

bool expr_contains_text (struct expr_run *run, const struct expr_value *arguments,
                         struct expr_value *ret)
{
    const struct expr_value *text = &arguments[0], *needle = &arguments[1];
    bool fits = needle->size <= text->size, found = false;
    size_t start = expr_method_kind (run) == TEXT_START || !fits ? 0 : text->size - needle->size;
    if (expr_method_kind (run) == TEXT_ANYWHERE)
        found = find_needle (text, 0, needle) != SIZE_MAX;
    else if (fits)
        found = !needle->size || memcmp (text->string + start, needle->string, needle->size) == 0;
    *ret = expr_of_boolean (found);
    return expr_charge_bytes (run, text->size);
}

bool expr_index_of (struct expr_run *run, const struct expr_value *arguments,
                    struct expr_value *ret)
{
    size_t at = find_needle (&arguments[0], 0, &arguments[1]);
    *ret = expr_of_integer (at == SIZE_MAX ? -1 : count_characters (arguments->string, at));
    return expr_charge_bytes (run, arguments->size);
}

// Count the occurrences of a needle in a text, not overlapping.
static bool count_needles (struct expr_run *run, const char *method, const struct expr_value *text,
                           const struct expr_value *needle, size_t *ret)
{
    enum { PLACES_PER_STEP = 8 };
    if (!needle->size)
        return expr_fail (run, EXPR_RANGE, "%s: the string to find is empty", method);
    if (!expr_charge_bytes (run, text->size))
        return false;
    size_t places = 0;
    for (size_t at = find_needle (text, 0, needle); at != SIZE_MAX;
         at = find_needle (text, at + needle->size, needle))
        places++;
    *ret = places;
    return expr_charge_steps (run, places / PLACES_PER_STEP);
}

bool expr_replace (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    const struct expr_value *text = &arguments[0], *needle = &arguments[1], *by = &arguments[2];
    size_t places = 0, from = 0;
    if (!count_needles (run, "replace", text, needle, &places))
        return false;
    size_t size = text->size - places * needle->size + places * by->size;
    char *result = expr_allocate_string (run, size), *out = result;
    if (!result)
        return false;
    for (size_t at = find_needle (text, 0, needle); at != SIZE_MAX;
         at = find_needle (text, from, needle)) {
        memcpy (out, text->string + from, at - from);
        out += at - from;
        if (by->size)
            memcpy (out, by->string, by->size);
        out += by->size;
        from = at + needle->size;
    }
    if (from < text->size)
        memcpy (out, text->string + from, text->size - from);
    *ret = expr_of_string (span_of (result, size));
    return true;
}

bool expr_split (struct expr_run *run, const struct expr_value *arguments, struct expr_value *ret)
{
    const struct expr_value *text = &arguments[0], *needle = &arguments[1];
    size_t places = 0, from = 0, count = 0;
    if (!count_needles (run, "split", text, needle, &places))
        return false;
    struct expr_value *items = expr_allocate_list (run, places + 1);
    if (!items)
        return false;
    for (size_t at = find_needle (text, 0, needle); at != SIZE_MAX;
         at = find_needle (text, from, needle)) {
        items[count++] = expr_of_string (span_of (text->string + from, at - from));
        from = at + needle->size;
    }
    items[count++] = expr_of_string (span_of (text->string + from, text->size - from));
    *ret = expr_of_list (items, count);
    return true;
}

// -- numbers

static size_t count_digits (const struct expr_value *text, size_t at)
{
    size_t begin = at;
    while (at < text->size && text->string[at] >= '0' && text->string[at] <= '9')
        at++;
    return at - begin;
}

bool expr_to_integer (struct expr_run *run, const struct expr_value *arguments,
                      struct expr_value *ret)
{
    bool negative = arguments->size && arguments->string[0] == '-';
    size_t digits = count_digits (arguments, negative);
    bool valid = digits && digits + negative == arguments->size;
    int64_t integer = 0;
    for (size_t at = negative; valid && at < arguments->size; at++) {
        int digit = arguments->string[at] - '0';
        valid = !__builtin_mul_overflow (integer, 10, &integer) &&
                !__builtin_add_overflow (integer, negative ? -digit : digit, &integer);
    }
    if (!valid)
        return expr_fail (run, EXPR_RANGE, "no integer: %s",
                          quoted (span_of (arguments->string, arguments->size)));
    *ret = expr_of_integer (integer);
    return expr_charge_bytes (run, arguments->size);
}

// Whether a text is a decimal of the expression grammar: sign, digits, fraction, exponent.
static bool is_decimal (const struct expr_value *text)
{
    size_t at = text->size && text->string[0] == '-';
    size_t digits = count_digits (text, at);
    at += digits;
    if (digits && at + 1 < text->size && text->string[at] == '.') {
        digits = count_digits (text, at + 1);
        at += 1 + digits;
    }
    if (digits && at + 1 < text->size && (text->string[at] | 0x20) == 'e') {
        at += text->string[at + 1] == '+' || text->string[at + 1] == '-' ? 2 : 1;
        digits = count_digits (text, at);
        at += digits;
    }
    return digits && at == text->size;
}

bool expr_to_decimal (struct expr_run *run, const struct expr_value *arguments,
                      struct expr_value *ret)
{
    char *copy = expr_allocate_string (run, arguments->size + 1U);
    if (!copy)
        return false;
    if (arguments->size)
        memcpy (copy, arguments->string, arguments->size);
    copy[arguments->size] = '\0';
    double decimal = is_decimal (arguments) ? strtod (copy, NULL) : HUGE_VAL;
    if (!isfinite (decimal))
        return expr_fail (run, EXPR_RANGE, "no decimal: %s",
                          quoted (span_of (arguments->string, arguments->size)));
    *ret = (struct expr_value){.type = EXPR_DECIMAL, .decimal = decimal};
    return true;
}
