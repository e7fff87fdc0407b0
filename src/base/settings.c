#include "settings.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "duration.h"

void settings_reset (const struct setting_table *table, void *values)
{
    for (size_t i = 0; i < table->count; i++) {
        struct reason reason;
        if (table->rows[i].fallback &&
            setting_set (&table->rows[i], values, table->rows[i].fallback, &reason))
            assert (!"the default of a setting must be valid");
    }
}

const struct setting *settings_named (const struct setting_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp (table->rows[i].name, name) == 0)
            return &table->rows[i];
    return NULL;
}

const struct setting *settings_option (const struct setting_table *table, const char *option)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].option && strcmp (table->rows[i].option, option) == 0)
            return &table->rows[i];
    return NULL;
}

const char *settings_topic (const struct setting_table *table, const struct setting *row)
{
    for (size_t i = 0; i < table->topic_count; i++)
        if (strcmp (table->topics[i].first, row->name) == 0)
            return table->topics[i].title;
    return NULL;
}

bool number_parse (const char *text, int64_t *ret)
{
    const char *digits = *text == '-' ? text + 1 : text;
    if (*digits < '0' || *digits > '9')
        return false;
    char *end;
    errno = 0;
    long long number = strtoll (text, &end, 10);
    if (errno || *end)
        return false;
    *ret = number;
    return true;
}

static int set_text (const struct setting *row, char *field, const char *text,
                     struct reason *reason)
{
    size_t size = strlen (text);
    if (size >= SETTING_TEXT_MAX)
        return reason_set (reason, "%s: at most %d bytes", row->name, SETTING_TEXT_MAX - 1);
    memcpy (field, text, size + 1);
    return 0;
}

// Set a number or a time that is within the bounds of the row.
static int set_number (const struct setting *row, int64_t *field, const char *text,
                       struct reason *reason)
{
    int64_t number;
    bool valid =
        row->unit_ms ? duration_count (text, row->unit_ms, &number) : number_parse (text, &number);
    if (!valid || number < row->min || number > row->max) {
        const char *what = !row->unit_ms       ? "a number"
                           : row->unit_ms == 1 ? "milliseconds, or a duration as 5s,"
                                               : "seconds, or a duration as 5m,";
        return reason_set (reason, "%s: want %s %" PRId64 "..%" PRId64 ", got %s", row->name, what,
                           row->min, row->max, quoted (span_text (text)));
    }
    *field = number;
    return 0;
}

static int set_flag (const struct setting *row, bool *field, const char *text,
                     struct reason *reason)
{
    if (strcmp (text, "0") != 0 && strcmp (text, "1") != 0)
        return reason_set (reason, "%s: want 0 or 1, got %s", row->name, quoted (span_text (text)));
    *field = *text == '1';
    return 0;
}

static size_t field_size (const struct setting *row)
{
    static const size_t sizes[] = {[SETTING_TEXT] = SETTING_TEXT_MAX,
                                   [SETTING_NUMBER] = sizeof (int64_t),
                                   [SETTING_FLAG] = sizeof (bool)};
    assert (row->type != SETTING_OWN && row->type != SETTING_LIST);
    return sizes[row->type];
}

bool setting_same (const struct setting *row, const void *a, const void *b)
{
    const uint8_t *left = (const uint8_t *)a + row->offset,
                  *right = (const uint8_t *)b + row->offset;
    if (row->type == SETTING_TEXT)
        return strcmp ((const char *)left, (const char *)right) == 0;
    return memcmp (left, right, field_size (row)) == 0;
}

void setting_copy (const struct setting *row, void *to, const void *from)
{
    memcpy ((uint8_t *)to + row->offset, (const uint8_t *)from + row->offset, field_size (row));
}

int setting_set (const struct setting *row, void *values, const char *text, struct reason *reason)
{
    void *field = (uint8_t *)values + row->offset;
    switch (row->type) {
    case SETTING_TEXT:
        return set_text (row, field, text, reason);
    case SETTING_NUMBER:
        return set_number (row, field, text, reason);
    case SETTING_FLAG:
        return set_flag (row, field, text, reason);
    case SETTING_OWN:
    case SETTING_LIST:
        return row->add (values, text, reason);
    }
    return -1;
}
