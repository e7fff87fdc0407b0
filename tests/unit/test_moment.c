// Instants for people, and their distance from now.
#include "rows.h"

#include "moment.h"

enum { NOW = 1795176000 }; // 2026-11-20T12:00:00Z

static void relative (void **state)
{
    static const struct {
        int64_t distance_s;
        const char *text;
    } rows[] = {
        {0, "now"},
        {1, "in 1 s"},
        {-1, "1 s ago"},
        {119, "in 119 s"},
        {120, "in 2 min"},
        {-179, "2 min ago"},
        {7199, "in 119 min"},
        {7200, "in 2 h"},
        {-172799, "47 h ago"},
        {172800, "in 2 days"},
        {-86400 * 729, "729 days ago"},
        {86400 * 730, "in 2 years"},
        {-NOW, "56 years ago"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        char out[MOMENT_SIZE];
        CHECK_TEXT (rows[i].text, moment_text (NOW + rows[i].distance_s, NOW, MOMENT_RELATIVE, out),
                    rows[i].text);
    }
}

static void styles (void **state)
{
    static const struct {
        enum moment_style style;
        int64_t time;
        const char *text;
    } rows[] = {
        {MOMENT_ABSOLUTE, NOW, "2026-11-20T12:00:00Z"},
        {MOMENT_BOTH, NOW + 180, "2026-11-20T12:03:00Z (in 3 min)"},
        {MOMENT_BOTH, INT64_C (253402300799), "9999-12-31T23:59:59Z (in 7978 years)"},
        {MOMENT_UNIX, NOW, "1795176000"},
        {MOMENT_ABSOLUTE, 0, "1970-01-01T00:00:00Z"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        char out[MOMENT_SIZE];
        CHECK_TEXT (rows[i].text, moment_text (rows[i].time, NOW, rows[i].style, out),
                    rows[i].text);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (relative), cmocka_unit_test (styles)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
