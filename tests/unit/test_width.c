// Columns of a text on a terminal.
#include "rows.h"

#include <locale.h>

#include "width.h"

static void widths (void **state)
{
    static const struct {
        const char *name;
        struct span text;
        int width;
        int columns; // of which so many bytes fit into so many columns
        size_t fitting;
    } rows[] = {
        {"empty", BYTES (""), 0, 5, 0},
        {"plain", BYTES ("report"), 6, 4, 4},
        {"all of it", BYTES ("report"), 6, 6, 6},
        {"no room", BYTES ("report"), 6, 0, 0},
        {"accents", BYTES ("f\xc3\xbcr"), 3, 2, 3},
        {"wide", BYTES ("\xe4\xb8\xad\xe6\x96\x87"), 4, 3, 3},
        {"wide to the end", BYTES ("\xe4\xb8\xad\xe6\x96\x87"), 4, 4, 6},
        {"a mark on a letter stays on it", BYTES ("e\xcc\x81x"), 2, 1, 3},
        {"an emoji", BYTES ("\xf0\x9f\x98\x80!"), 3, 2, 4},
        {"no UTF-8", BYTES ("a\xff"), 2, 1, 1},
        {"cut in a character", BYTES ("a\xe4\xb8"), 3, 2, 2},
    };
    (void)state;
    if (!setlocale (LC_CTYPE, "C.UTF-8"))
        fail_msg ("no locale C.UTF-8");
    for (size_t i = 0; i < ROWS (rows); i++) {
        uint8_t *copy = exact_bytes (rows[i].text);
        struct span text = span_of (copy, rows[i].text.size);
        CHECK_INT (rows[i].name, text_width (text), rows[i].width);
        CHECK_INT (rows[i].name, text_fit (text, rows[i].columns), rows[i].fitting);
        free (copy);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (widths)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
