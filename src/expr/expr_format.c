// format (pattern): repeated letters, as yyyy, are a part of the time, '...' is literal text, '' a
// quote; other characters are copied. The pattern is processed twice: for the size, then for the
// text.
#include <stdio.h>

#include "civil.h"
#include "expr_functions.h"

struct output {
    char *at; // NULL: only count the size
    size_t size;
};

static void append_text (struct output *self, const char *text, size_t size)
{
    if (self->at)
        memcpy (self->at + self->size, text, size);
    self->size += size;
}

static void append_number (struct output *self, int value, int digits)
{
    char text[16];
    append_text (self, text, (size_t)snprintf (text, sizeof text, "%0*d", digits, value));
}

struct parts {
    struct civil_date date;
    int weekday; // Sunday is 0
    int year_day, hour, minute, second;
};

// Split a wall-clock time into its parts.
static struct parts time_parts_of (int64_t local)
{
    int64_t day = civil_day_of (local);
    int seconds = (int)civil_time_of_day (local);
    struct civil_date date = civil_date (day);
    return (struct parts){
        .date = date,
        .weekday = civil_weekday (day),
        .year_day = (int)(day - civil_days ((struct civil_date){date.year, 1, 1})) + 1,
        .hour = seconds / 3600,
        .minute = seconds / 60 % 60,
        .second = seconds % 60,
    };
}

// How often a letter may be repeated: bit n is set if n times is valid.
enum { ONE = 1 << 1, TWO = 1 << 2, THREE = 1 << 3, FOUR = 1 << 4, NINE = (1 << 10) - 2 };
static const uint16_t valid_repetitions['z' + 1] = {['y'] = TWO | FOUR,
                                                    ['M'] = ONE | TWO | THREE | FOUR,
                                                    ['D'] = ONE | TWO | THREE,
                                                    ['d'] = ONE | TWO,
                                                    ['H'] = ONE | TWO,
                                                    ['h'] = ONE | TWO,
                                                    ['m'] = ONE | TWO,
                                                    ['s'] = ONE | TWO,
                                                    ['S'] = NINE,
                                                    ['E'] = ONE | FOUR,
                                                    ['a'] = ONE};

static void append_name (struct output *self, const char *name, bool in_full)
{
    enum { SHORT_SIZE = 3 };
    append_text (self, name, in_full ? strlen (name) : SHORT_SIZE);
}

// Append the part of the time that `count` letters mean; both were checked before.
static void append_part (struct output *self, const struct parts *parts, char letter, int count)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const char *const weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday"};
    if (letter == 'y')
        append_number (self, (int)(count == 2 ? parts->date.year % 100 : parts->date.year), count);
    else if (letter == 'M' && count <= 2)
        append_number (self, parts->date.month, count);
    else if (letter == 'M')
        append_name (self, months[parts->date.month - 1], count == 4);
    else if (letter == 'd')
        append_number (self, parts->date.day, count);
    else if (letter == 'D')
        append_number (self, parts->year_day, count);
    else if (letter == 'H')
        append_number (self, parts->hour, count);
    else if (letter == 'h')
        append_number (self, parts->hour % 12 ? parts->hour % 12 : 12, count);
    else if (letter == 'm')
        append_number (self, parts->minute, count);
    else if (letter == 's')
        append_number (self, parts->second, count);
    else if (letter == 'S')
        append_number (self, 0, count);
    else if (letter == 'E')
        append_name (self, weekdays[parts->weekday], count == 4);
    else
        append_text (self, parts->hour < 12 ? "AM" : "PM", 2);
}

// Append the literal text that begins with the quote at `at`; '' in it is a quote, and so is ''
// alone. Returns the offset after it; 0: the closing quote is missing.
static size_t append_quoted (struct output *self, const char *pattern, size_t at, size_t size)
{
    size_t begin = at + 1;
    for (at = begin; at < size; at++) {
        bool quote = pattern[at] == '\'';
        if (quote && (at + 1 == size || pattern[at + 1] != '\'')) {
            if (at == begin)
                append_text (self, "'", 1);
            return at + 1;
        }
        at += quote;
        append_text (self, pattern + at, 1);
    }
    return 0;
}

static bool is_letter (char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// Append the time as the pattern says; fail if the pattern is not valid.
static bool append_pattern (struct expr_run *run, const struct parts *parts,
                            const struct expr_value *pattern, struct output *output)
{
    const char *text = pattern->string;
    for (size_t at = 0; at < pattern->size;) {
        if (text[at] == '\'') {
            at = append_quoted (output, text, at, pattern->size);
            if (!at)
                return expr_fail (run, EXPR_RANGE, "format: an open quote");
        } else if (is_letter (text[at])) {
            size_t count = 1;
            while (at + count < pattern->size && text[at + count] == text[at])
                count++;
            unsigned counts = valid_repetitions[(unsigned char)text[at]];
            if (!counts)
                return expr_fail (run, EXPR_RANGE, "format: no letter '%c'", text[at]);
            if (count > 9 || !(counts >> count & 1))
                return expr_fail (run, EXPR_RANGE, "format: no letter '%c' of %zu in a row",
                                  text[at], count);
            append_part (output, parts, text[at], (int)count);
            at += count;
        } else {
            append_text (output, text + at++, 1);
        }
    }
    return true;
}

bool expr_time_format (struct expr_run *run, const struct expr_value *arguments,
                       struct expr_value *ret)
{
    struct parts parts = time_parts_of (arguments[0].time);
    struct output output = {NULL, 0};
    if (!expr_charge_bytes (run, arguments[1].size) ||
        !append_pattern (run, &parts, &arguments[1], &output))
        return false;
    char *text = expr_allocate_string (run, output.size);
    if (!text)
        return false;
    output = (struct output){text, 0};
    append_pattern (run, &parts, &arguments[1], &output);
    *ret = expr_of_string (span_of (text, output.size));
    return true;
}
