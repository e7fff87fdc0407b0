#include "cursor.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "sha1.h"

// A hash of the filter without the fields that differ from page to page.
static void filter_hash (const json_t *filter, char out[17])
{
    uint8_t sum[SHA1_SIZE];
    json_t *copy = json_copy ((json_t *)(uintptr_t)filter);
    json_object_del (copy, "after");
    json_object_del (copy, "limit");
    char *text = json_dumps (copy, JSON_COMPACT | JSON_SORT_KEYS);
    const struct span part = span_text (text ? text : "");
    sha1_sum (&part, 1, sum);
    sodium_bin2hex (out, 17, sum, 8);
    free (text);
    json_decref (copy);
}

const char *cursor_write (char order, const char *position, const json_t *filter,
                          char out[CURSOR_SIZE])
{
    char text[CURSOR_POSITION_SIZE + 24], sum[17];
    filter_hash (filter, sum);
    snprintf (text, sizeof text, "%c%s%.127s", order, sum, position);
    return sodium_bin2base64 (out, CURSOR_SIZE, (const uint8_t *)text, strlen (text),
                              sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

int cursor_read (const char *text, char order, const json_t *filter,
                 char ret_position[CURSOR_POSITION_SIZE], struct reason *reason)
{
    char sum[17];
    uint8_t bytes[CURSOR_SIZE];
    size_t size = strlen (text), got = 0;
    filter_hash (filter, sum);
    if (size >= CURSOR_SIZE ||
        sodium_base642bin (bytes, sizeof bytes, text, size, NULL, &got, NULL,
                           sodium_base64_VARIANT_URLSAFE_NO_PADDING) ||
        got < 18 || got - 17 >= CURSOR_POSITION_SIZE || bytes[0] != (uint8_t)order ||
        memchr (bytes, '\0', got))
        return reason_set (reason, "after: want the next of the previous page");
    if (memcmp (bytes + 1, sum, 16) != 0)
        return reason_set (reason, "after: is of a list with another filter");
    memcpy (ret_position, bytes + 17, got - 17);
    ret_position[got - 17] = '\0';
    return 0;
}
