// What a run wrote, as it is kept: cut between characters, and read back of its own run only.
#include "rows.h"

#include <string.h>

#include "output.h"

static void what_fits_is_whole_and_the_rest_is_cut_in_its_middle (void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        size_t keep;
        const char *json;
    } rows[] = {
        {"whole", "hello\n", 6, "{\"head\":\"hello\\n\",\"size\":6}"},
        {"first and last", "0123456789", 4, "{\"head\":\"01\",\"size\":10,\"tail\":\"89\"}"},
        {"an odd number", "0123456789", 5, "{\"head\":\"012\",\"size\":10,\"tail\":\"89\"}"},
        {"one byte", "0123456789", 1, "{\"head\":\"0\",\"size\":10,\"tail\":\"\"}"},
        {"between characters", "aöööb", 5, "{\"head\":\"aö\",\"size\":8,\"tail\":\"b\"}"},
        {"a long character at both cuts", "x\xF0\x9F\x98\x80yyyy\xF0\x9F\x98\x80z", 8,
         "{\"head\":\"x\",\"size\":14,\"tail\":\"z\"}"},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        size_t size;
        char *made = output_make (span_text ("jobs"), 0x1f, 0xabc, span_text (rows[i].text),
                                  rows[i].keep, &size);
        CHECK (rows[i].name, memcmp (made, "jobs:1f abc ", 12) == 0);
        json_t *object = output_json (span_of (made, size), 0xabc);
        char *json = json_dumps (object, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
        json_t *wanted = json_loads (rows[i].json, 0, NULL);
        if (!json_equal (object, wanted))
            fail_msg ("%s: %s", rows[i].name, json);
        CHECK (rows[i].name, !output_json (span_of (made, size), 0xabd));
        size_t again_size;
        char *again = output_from_json (span_text ("jobs"), 0x1f, 0xabc, object, &again_size);
        CHECK (rows[i].name, again_size == size && memcmp (again, made, size) == 0);
        free (again);
        json_decref (wanted);
        json_decref (object);
        free (json);
        free (made);
    }
}

static void bytes_that_are_no_text (void **state)
{
    (void)state;
    size_t size;
    char *made = output_make (span_text ("jobs"), 1, 2, span_of ("\xff\0\n", 3), 100, &size);
    json_t *object = output_json (span_of (made, size), 2);
    assert_string_equal (
        json_string_value (json_object_get (json_object_get (object, "head"), "b64")), "/wAK");
    json_decref (object);
    free (made);
}

static void what_is_none_of_ours_is_none (void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "\n",
        "jobs:1f abc 5 5",
        "jobs:1f abc 5 6\nhello",
        "jobs:1f abc 4 5\nhello",
        "jobs:1f abc x 5\nhello",
        "jobs:1f  5 5\nhello",
        "jobs:1f abd 5 5\nhello",
        "jobs:1fabc55\nhello",
        "jobs:1f 0123456789abcdef0123456789 5 5\nhello",
        "jobs:1f abc 99999999999999999999999 5\nhello",
    };
    for (size_t i = 0; i < ROWS (rows); i++)
        CHECK (rows[i], !output_json (span_text (rows[i]), 0xabc));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (what_fits_is_whole_and_the_rest_is_cut_in_its_middle),
        cmocka_unit_test (bytes_that_are_no_text),
        cmocka_unit_test (what_is_none_of_ours_is_none),
    };
    return cmocka_run_group_tests_name ("output", tests, NULL, NULL);
}
