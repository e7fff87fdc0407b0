// format (pattern): repeated letters, as yyyy, are a part of the time, '...' is literal text, '' a
// quote; other characters are copied.
#include <stdio.h>
#include <stdlib.h>

#include "civil.h"
#include "expr_functions.h"

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

// Append the part of the time that `count` letters mean; letter and count are valid.
static void append_part (FILE *out, const struct parts *parts, char letter, int count)
{
    static const char *const months[] = {"January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December"};
    static const char *const weekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                           "Thursday", "Friday", "Saturday"};
    const char *name = letter == 'M' ? months[parts->date.month - 1] : weekdays[parts->weekday];
    int hour = parts->hour % 12 ? parts->hour % 12 : 12;
    if (letter == 'a')
        fputs (parts->hour < 12 ? "AM" : "PM", out);
    else if (letter == 'E' || (letter == 'M' && count > 2))
        fprintf (out, count == 4 ? "%s" : "%.3s", name);
    else
        fprintf (out, "%0*d", count,
                 letter == 'y'   ? (int)(count == 2 ? parts->date.year % 100 : parts->date.year)
                 : letter == 'M' ? parts->date.month
                 : letter == 'd' ? parts->date.day
                 : letter == 'D' ? parts->year_day
                 : letter == 'H' ? parts->hour
                 : letter == 'h' ? hour
                 : letter == 'm' ? parts->minute
                 : letter == 's' ? parts->second
                                 : 0); // S: fractions of a second, which times do not have
}

// Append the literal text that begins with the quote at `at`; '' in it is a quote, and so is ''
// alone. Returns the offset after it; 0: the closing quote is missing.
static size_t append_quoted (FILE *out, const char *pattern, size_t at, size_t size)
{
    size_t begin = at + 1;
    for (at = begin; at < size; at++) {
        bool quote = pattern[at] == '\'';
        if (quote && (at + 1 == size || pattern[at + 1] != '\'')) {
            if (at == begin)
                fputc ('\'', out);
            return at + 1;
        }
        at += quote;
        fputc (pattern[at], out);
    }
    return 0;
}

static bool is_letter (char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// Append the time as the pattern says; fail if the pattern is not valid.
static bool append_pattern (struct expr_run *run, const struct parts *parts,
                            const struct expr_value *pattern, FILE *out)
{
    const char *text = pattern->string;
    for (size_t at = 0; at < pattern->size;) {
        if (text[at] == '\'') {
            at = append_quoted (out, text, at, pattern->size);
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
            append_part (out, parts, text[at], (int)count);
            at += count;
        } else {
            fputc (text[at++], out);
        }
    }
    return true;
}

bool expr_time_format (struct expr_run *run, const struct expr_value *arguments,
                       struct expr_value *ret)
{
    struct parts parts = time_parts_of (arguments[0].time);
    char *text, *copy = NULL;
    size_t size;
    if (!expr_charge_bytes (run, arguments[1].size))
        return false;
    FILE *out = open_memstream (&text, &size);
    bool ok = append_pattern (run, &parts, &arguments[1], out);
    fclose (out);
    if (ok && (copy = expr_allocate_string (run, size)))
        *ret = expr_of_string (span_of (memcpy (copy, text, size), size));
    free (text);
    return copy;
}
