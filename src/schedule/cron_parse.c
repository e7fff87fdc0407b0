// A cursor moves through the text once; each field has a row with its range and names.
#include "cron_parse.h"

#include <ctype.h>
#include <stddef.h>
#include <strings.h>

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

enum { NUMBER_DIGITS = 9, NUMBER_LARGE = 1000, NAME_SIZE = 3, WEEKDAY_NAMES = 7, MONTH_NAMES = 12 };

struct parser {
    const uint8_t *start, *at, *end;
    const char *name; // name of the expression, for the reason
    struct reason *reason;
    struct cron_rule *rule;
    uint64_t sets[FIELDS];
    bool all_days, all_weekdays; // the field begins with * or ?
    bool has_plus;               // a + precedes the weekdays: day and weekday must match
};

static const char weekday_names[] = "SUNMONTUEWEDTHUFRISAT";
static const char month_names[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";

static const struct cron_field {
    int min, max;
    const char *wanted;
    const char *names; // names of the values from min on, three letters each
    int name_count;
} fields[FIELDS] = {
    [SECOND] = {0, 59, "0..59", NULL, 0},
    [MINUTE] = {0, 59, "0..59", NULL, 0},
    [HOUR] = {0, 23, "0..23", NULL, 0},
    [DAY] = {1, 31, "1..31", NULL, 0},
    [MONTH] = {1, 12, "1..12 or JAN..DEC", month_names, MONTH_NAMES},
    [WEEKDAY] = {0, 6, "0..7 or SUN..SAT", weekday_names, WEEKDAY_NAMES},
};

static const struct {
    const char *name, *text;
} shorthands[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

static bool is_blank (uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static uint8_t to_upper (uint8_t byte)
{
    return byte >= 'a' && byte <= 'z' ? (uint8_t)(byte - 'a' + 'A') : byte;
}

static bool at_field_end (const struct parser *self)
{
    return self->at == self->end || is_blank (*self->at);
}

static bool next_char_is (const struct parser *self, char wanted)
{
    return self->at < self->end && to_upper (*self->at) == (uint8_t)wanted;
}

static bool parse_char (struct parser *self, char wanted)
{
    bool found = next_char_is (self, wanted);
    self->at += found;
    return found;
}

// The text from `at` to the end of its item, for the reason.
static const char *item_at (const struct parser *self, const uint8_t *at)
{
    const uint8_t *end = at;
    while (end < self->end && !is_blank (*end) && *end != ',')
        end++;
    return end > at ? quoted (span_of (at, (size_t)(end - at))) : "nothing";
}

// Set the reason: what is wanted at this place, and what is there. Returns false.
static bool reject_cron_item (const struct parser *self, const uint8_t *at, const char *wanted)
{
    return reason_reject (self->reason, "%s: column %d: want %s, got %s", self->name,
                          (int)(at - self->start) + 1, wanted, item_at (self, at));
}

// Read a decimal number. A value that is too large for any field is not computed in full.
static bool parse_number (struct parser *self, int *ret)
{
    const uint8_t *start = self->at;
    int number = 0;
    while (self->at < self->end && isdigit (*self->at)) {
        if (number < NUMBER_LARGE)
            number = number * 10 + (*self->at - '0');
        self->at++;
    }
    *ret = number;
    return self->at > start;
}

// Read a number within min..max.
static bool parse_bounded_number (struct parser *self, int min, int max, const char *wanted,
                                  int *ret)
{
    const uint8_t *start = self->at;
    if (!parse_number (self, ret))
        return reject_cron_item (self, start, wanted);
    if (*ret >= min && *ret <= max)
        return true;
    const uint8_t *digits = start; // leading zeros are not shown
    while (self->at - digits > NUMBER_DIGITS && *digits == '0')
        digits++;
    int count = (int)(self->at - digits);
    return reason_reject (self->reason, "%s: column %d: want %s, got %.*s", self->name,
                          (int)(start - self->start) + 1, wanted,
                          count < NUMBER_DIGITS ? count : NUMBER_DIGITS, (const char *)digits);
}

// Read a name of three letters; the caller checks what follows it.
static bool parse_name (struct parser *self, const struct cron_field *field, int *ret)
{
    if (self->end - self->at < NAME_SIZE)
        return false;
    for (int i = 0; i < field->name_count; i++) {
        if (strncasecmp ((const char *)self->at, field->names + i * NAME_SIZE, NAME_SIZE) != 0)
            continue;
        self->at += NAME_SIZE;
        *ret = field->min + i;
        return true;
    }
    return false;
}

// Read a value of a field: a name or a number.
static bool parse_value (struct parser *self, int number, int *ret)
{
    const struct cron_field *field = &fields[number];
    int max = number == WEEKDAY ? 7 : field->max;
    return parse_name (self, field, ret) ||
           parse_bounded_number (self, field->min, max, field->wanted, ret);
}

// Add every step-th value from low to high to the set of a field. If high is below low, the range
// wraps around.
static void add_values (struct parser *self, int number, int low, int high, int step)
{
    const struct cron_field *field = &fields[number];
    int value_count = field->max - field->min + 1;
    if (high < low)
        high += value_count;
    for (int value = low; value <= high; value += step)
        self->sets[number] |= UINT64_C (1) << (field->min + (value - field->min) % value_count);
}

// Read "/n", if present.
static bool parse_step (struct parser *self, int number, int *ret)
{
    static const char *const wanted[FIELDS] = {
        [SECOND] = "a step of 1..60", [MINUTE] = "a step of 1..60", [HOUR] = "a step of 1..24",
        [DAY] = "a step of 1..31",    [MONTH] = "a step of 1..12",  [WEEKDAY] = "a step of 1..7",
    };
    *ret = 1;
    if (!parse_char (self, '/'))
        return true;
    int max = fields[number].max - fields[number].min + 1;
    return parse_bounded_number (self, 1, max, wanted[number], ret);
}

// Read what follows the L of L, LW or L-n, which only the day field has.
static bool parse_last_day (struct parser *self)
{
    int before = 0;
    if (parse_char (self, 'W'))
        self->rule->last_weekday = true;
    else if (!parse_char (self, '-') || parse_bounded_number (self, 0, 30, "0..30 days", &before))
        self->rule->days_before_last |= UINT32_C (1) << before;
    else
        return false;
    return true;
}

static bool has_suffix (const struct parser *self, int number)
{
    return number == DAY
               ? next_char_is (self, 'W')
               : number == WEEKDAY && (next_char_is (self, 'L') || next_char_is (self, '#'));
}

// Read W after a day, or L or #n after a weekday.
static bool parse_suffix (struct parser *self, int value)
{
    uint8_t weekday = (uint8_t)(1 << value % 7);
    int nth;
    if (parse_char (self, 'W'))
        self->rule->nearest_weekdays |= UINT32_C (1) << value;
    else if (parse_char (self, 'L'))
        self->rule->last |= weekday;
    else if (parse_char (self, '#') && parse_bounded_number (self, 1, CRON_NTH_MAX, "1..5", &nth))
        self->rule->nth[nth - 1] |= weekday;
    else
        return false;
    return true;
}

// Read an item of a field: a value, a range or all, with a step; or a value with a suffix.
static bool parse_item (struct parser *self, int number)
{
    const struct cron_field *field = &fields[number];
    int low, high, step;
    bool of_day = number == DAY || number == WEEKDAY;
    bool all = parse_char (self, '*') || (of_day && parse_char (self, '?'));
    if (all) {
        low = field->min;
        high = field->max;
    } else {
        if (!parse_value (self, number, &low))
            return false;
        if (has_suffix (self, number))
            return parse_suffix (self, low);
        high = low;
    }
    bool range = !all && parse_char (self, '-');
    if (range && !parse_value (self, number, &high))
        return false;
    bool to_end = !all && !range && next_char_is (self, '/');
    // Sunday has two numbers: 7, alone or as the start of a range, is read as 0.
    if (number == WEEKDAY && low == 7) {
        low = 0;
        high %= 7;
    }
    if (!parse_step (self, number, &step))
        return false;
    add_values (self, number, low, to_end ? field->max : high, step);
    return true;
}

static bool parse_field (struct parser *self, int number)
{
    if (number == WEEKDAY)
        self->has_plus = parse_char (self, '+');
    bool all = next_char_is (self, '*') || next_char_is (self, '?');
    if (number == DAY)
        self->all_days = all;
    else if (number == WEEKDAY)
        self->all_weekdays = all;
    do {
        bool is_last = number == DAY && parse_char (self, 'L');
        if (is_last ? !parse_last_day (self) : !parse_item (self, number))
            return false;
    } while (parse_char (self, ','));
    return at_field_end (self) || reject_cron_item (self, self->at, "a comma or a blank");
}

static void skip_blanks (struct parser *self)
{
    while (self->at < self->end && is_blank (*self->at))
        self->at++;
}

static int count_fields (struct parser self)
{
    int count = 0;
    for (skip_blanks (&self); self.at < self.end; skip_blanks (&self), count++)
        while (!at_field_end (&self))
            self.at++;
    return count;
}

static bool parse_fields (struct parser *self)
{
    int count = count_fields (*self);
    if (count != FIELDS && count != FIELDS - 1)
        return reason_reject (self->reason, "%s: column 1: want 5 or 6 fields, got %d", self->name,
                              count);
    self->sets[SECOND] = 1; // with 5 fields: second 0
    for (int number = FIELDS - count; number < FIELDS; number++) {
        skip_blanks (self);
        if (number == SECOND)
            self->sets[SECOND] = 0;
        if (!parse_field (self, number))
            return false;
    }
    return true;
}

// Replace a shorthand such as "@daily" by its fields.
static bool expand_shorthand (struct parser *self)
{
    struct span word = span_of (self->at, 0);
    while (self->at + word.size < self->end && !is_blank (self->at[word.size]))
        word.size++;
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++) {
        struct span name = span_text (shorthands[i].name);
        if (word.size != name.size ||
            strncasecmp ((const char *)word.data, shorthands[i].name, name.size) != 0)
            continue;
        struct parser rest = *self;
        rest.at += word.size;
        skip_blanks (&rest);
        if (rest.at < rest.end)
            return reject_cron_item (&rest, rest.at, "nothing more");
        struct span text = span_text (shorthands[i].text);
        self->at = text.data;
        self->end = text.data + text.size;
        return true;
    }
    return reject_cron_item (self, self->at,
                             "@yearly, @monthly, @weekly, @daily, @hourly or fields");
}

int cron_parse (struct span text, const char *name, struct cron_rule *ret, struct reason *reason)
{
    struct cron_rule rule = {0};
    static const uint8_t nothing;
    const uint8_t *start = text.size ? text.data : &nothing;
    struct parser parser = {
        .start = start,
        .at = start,
        .end = start + text.size,
        .name = name,
        .reason = reason,
        .rule = &rule,
    };
    skip_blanks (&parser);
    if ((next_char_is (&parser, '@') && !expand_shorthand (&parser)) || !parse_fields (&parser))
        return -1;
    rule.seconds = parser.sets[SECOND];
    rule.minutes = parser.sets[MINUTE];
    rule.hours = (uint32_t)parser.sets[HOUR];
    rule.days = (uint32_t)parser.sets[DAY];
    rule.months = (uint32_t)parser.sets[MONTH];
    rule.weekdays = (uint8_t)parser.sets[WEEKDAY];
    rule.either = !parser.all_days && !parser.all_weekdays && !parser.has_plus;
    *ret = rule;
    return 0;
}
