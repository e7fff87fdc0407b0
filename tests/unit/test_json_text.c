// JSON written without a tree: each text is the one that jansson would write.
#include <inttypes.h>

#include "json.h"
#include "json_text.h"
#include "rows.h"
#include "utf8.h"

static const int64_t integers[] = {
    0,  9,   10,   11,    99,     100,     101,           999,       1000,          1001,
    -1, -10, -100, 12345, 123456, 1234567, INT64_MAX - 1, INT64_MAX, INT64_MIN + 1, INT64_MIN,
};

static void check_integer (int64_t value)
{
    static const struct json_name name = JSON_NAME ("n");
    struct json_text text;
    char want[32];
    size_t size;
    snprintf (want, sizeof want, "{\"n\":%" PRId64, value);
    json_text_start (&text, 0);
    json_text_raw (&text, span_text ("{"));
    json_text_number (&text, &name, value, 0);
    char *got = json_text_end (&text, &size);
    CHECK_TEXT (want, got, want);
    CHECK_INT (want, size, strlen (want));
    free (got);
}

static void integers_are_written_in_full (void **state)
{
    (void)state;
    uint64_t random = 88172645463325252U;
    for (size_t i = 0; i < ROWS (integers); i++)
        check_integer (integers[i]);
    for (int round = 0; round < 20000; round++)
        check_integer ((int64_t)next_random (&random) >> round % 64);
}

static const struct padded_row {
    int64_t value;
    size_t width;
    const char *text;
} padded_rows[] = {
    {0, 0, "{\"n\":0,\"n\":0"},
    {0, 3, "{\"n\":0  ,\"n\":0  "},
    {12, 3, "{\"n\":12 ,\"n\":12 "},
    {123, 3, "{\"n\":123,\"n\":123"},
    {1234, 3, "{\"n\":1234,\"n\":1234"},
    {-1, 3, "{\"n\":-1 ,\"n\":-1 "},
    {7, 16, "{\"n\":7               ,\"n\":7               "},
    {INT64_MIN, 21, "{\"n\":-9223372036854775808 ,\"n\":-9223372036854775808 "},
};

static void numbers_are_padded_behind (void **state)
{
    (void)state;
    static const struct json_name name = JSON_NAME ("n");
    for (size_t i = 0; i < ROWS (padded_rows); i++) {
        struct json_text text;
        size_t size;
        json_text_start (&text, 0);
        json_text_raw (&text, span_text ("{"));
        for (int twice = 0; twice < 2; twice++)
            json_text_number (&text, &name, padded_rows[i].value, padded_rows[i].width);
        char *got = json_text_end (&text, &size);
        CHECK_TEXT (padded_rows[i].text, got, padded_rows[i].text);
        free (got);
    }
}

static void commas_stand_between (void **state)
{
    (void)state;
    static const struct json_name names[] = {JSON_NAME ("a"), JSON_NAME ("longest_name"),
                                             JSON_NAME ("")};
    struct json_text text;
    size_t size;
    json_text_start (&text, 0);
    json_text_raw (&text, span_text ("{"));
    json_text_name (&text, &names[0]);
    json_text_raw (&text, span_text ("{"));
    json_text_name (&text, &names[1]);
    json_text_frame (&text, span_text ("{"));
    json_text_name (&text, &names[2]);
    json_text_raw (&text, span_text ("["));
    for (int i = 0; i < 3; i++) {
        json_text_item (&text);
        json_text_frame (&text, span_text ("["));
    }
    json_text_raw (&text, span_text ("]}"));
    json_text_name (&text, &names[0]);
    json_text_raw (&text, span_text ("false}"));
    char *got = json_text_end (&text, &size);
    assert_string_equal (got,
                         "{\"a\":{\"longest_name\":\"{\",\"\":[\"[\",\"[\",\"[\"]},\"a\":false}");
    assert_int_equal (size, strlen (got));
    free (got);
}

// -- frames

// Write a frame in a block of just its size to a text that has to grow.
static void check_frame (struct span frame)
{
    struct json_text text;
    size_t size;
    uint8_t *bytes = exact_bytes (frame);
    json_text_start (&text, 0);
    json_text_frame (&text, span_of (bytes, frame.size));
    char *got = json_text_end (&text, &size);
    json_t *value = json_from_frame (frame);
    char *want = json_dumps (value, JSON_COMPACT | JSON_ENCODE_ANY);
    CHECK_TEXT (quoted (frame), got, want);
    CHECK_INT (quoted (frame), size, strlen (want));
    json_decref (value);
    free (want);
    free (got);
    free (bytes);
}

static void frames_are_written_as_jansson_writes_them (void **state)
{
    (void)state;
    check_frame ((struct span){0});
    for (unsigned first = 0; first < 256; first++) {
        uint8_t bytes[2] = {(uint8_t)first};
        check_frame (span_of (bytes, 1));
        for (unsigned second = 0; second < 256; second++) {
            bytes[1] = (uint8_t)second;
            check_frame (span_of (bytes, 2));
        }
    }
}

// Bytes must be written as a string if json_stringn accepts them. `text` is reused by all calls.
static void check_utf8 (struct json_text *text, const uint8_t *bytes, size_t size)
{
    json_t *string = json_stringn ((const char *)bytes, size);
    text->size = 0;
    json_text_frame (text, span_of (bytes, size));
    if ((text->bytes[0] == '"') != (string && !memchr (bytes, 0, size)))
        fail_msg ("%s: jansson says %s", quoted (span_of (bytes, size)), string ? "yes" : "no");
    if (utf8_is_text (span_of (bytes, size)) != (text->bytes[0] == '"'))
        fail_msg ("%s: two functions judge it", quoted (span_of (bytes, size)));
    json_decref (string);
}

static void utf8_of_three_bytes_is_judged_as_by_jansson (void **state)
{
    (void)state;
    struct json_text text;
    json_text_start (&text, 0);
    for (uint32_t i = 0; i < 0x1000000; i++) {
        uint8_t bytes[] = {(uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
        check_utf8 (&text, bytes, sizeof bytes);
    }
    free (text.bytes);
}

static void utf8_of_four_bytes_is_judged_as_by_jansson (void **state)
{
    (void)state;
    // The bounds of continuation bytes, and other bytes.
    static const uint8_t others[] = {0,    'x',  0x7F, 0x80, 0x8F, 0x90, 0x9F,
                                     0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xF0, 0xFF};
    enum { OTHERS = sizeof others };
    uint64_t random = 362436069362436069U;
    struct json_text text;
    json_text_start (&text, 0);
    for (unsigned i = 0; i < 32 * OTHERS * OTHERS * OTHERS; i++) {
        uint8_t bytes[] = {(uint8_t)(0xE0 + i % 32), others[i / 32 % OTHERS],
                           others[i / 32 / OTHERS % OTHERS], others[i / 32 / OTHERS / OTHERS]};
        check_utf8 (&text, bytes, sizeof bytes);
    }
    for (int round = 0; round < 300000; round++) {
        uint64_t number = next_random (&random);
        uint8_t bytes[4] = {(uint8_t)(0xE0 | number >> 8)};
        for (size_t i = 1; i < 4; i++) // mostly such as may follow
            bytes[i] = (uint8_t)(number >> (8 + 8 * i) & (round % 16 ? 0xBF : 0xFF)) | 0x80;
        check_utf8 (&text, bytes, sizeof bytes);
    }
    free (text.bytes);
}

// Frames with an escape at each place of the eight bytes that are tested at once.
static void long_frames_are_written_as_jansson_writes_them (void **state)
{
    (void)state;
    static const char *const parts[] = {
        "abcdefgh",         "x", "\"", "\\", "/", "\x1F", "\x7F", "\n", "\xc3\xa9", "\xe8\xae\xa1",
        "\xf0\x9f\x98\x80", " ", "!"};
    uint64_t random = 521288629521288629U;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[256];
        size_t size = 0;
        for (uint64_t count = next_random (&random) % 40; count > 0; count--) {
            const char *part = parts[next_random (&random) % (round % 4 ? 3 : ROWS (parts))];
            memcpy (bytes + size, part, strlen (part));
            size += strlen (part);
        }
        if (size && round % 8 == 7)
            bytes[next_random (&random) % size] = (uint8_t)(next_random (&random) >> 30);
        check_frame (span_of (bytes, size));
    }
}

// -- trees

static json_t *random_tree (uint64_t *random, int depth)
{
    static const char *const texts[] = {"", "text", "\"\\/\x1F", "\xc3\xa9\xe8\xae\xa1"};
    uint64_t number = next_random (random), kind = number % (depth ? 9 : 7);
    const char *text = texts[(number >> 8) % ROWS (texts)];
    json_t *tree = kind == 7 ? json_array () : json_object ();
    for (uint64_t parts = kind < 7 ? 0 : (number >> 16) % 5; parts > 0; parts--) {
        if (kind == 7)
            json_array_append_new (tree, random_tree (random, depth - 1));
        else
            json_object_set_new (tree, texts[parts - 1], random_tree (random, depth - 1));
    }
    if (kind >= 7)
        return tree;
    json_decref (tree);
    return kind == 0   ? json_null ()
           : kind == 1 ? json_boolean (number >> 16 & 1)
           : kind == 2 ? json_real ((double)(int64_t)number / 1024)
           : kind == 3 ? json_integer ((json_int_t)number >> (number >> 58))
           : kind == 4 ? json_stringn ("a\0b", 3)
                       : json_string (text);
}

static void trees_are_written_as_jansson_writes_them (void **state)
{
    (void)state;
    uint64_t random = 88172645463325252U;
    for (int round = 0; round < 20000; round++) {
        json_t *tree = random_tree (&random, 4);
        char *got = json_write (tree);
        char *want = json_dumps (tree, JSON_COMPACT | JSON_ENCODE_ANY);
        CHECK_TEXT (want, got, want);
        json_decref (tree);
        free (want);
        free (got);
    }
}

// -- texts that are cut

static const struct cut_row {
    const char *text;
    size_t most;
    const char *cut;
} cut_rows[] = {
    {"", 0, ""},
    {"abc", 0, ""},
    {"abc", 2, "ab"},
    {"abc", 3, "abc"},
    {"abc", 9, "abc"},
    {"a\xc3\xa9z", 2, "a"},
    {"a\xc3\xa9z", 3, "a\xc3\xa9"},
    {"\xf0\x9f\x98\x80", 3, ""},
    {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
    {"\x80\x80\x80", 2, ""}, // no character begins there
};

static void texts_are_cut_between_characters (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (cut_rows); i++) {
        struct span cut = utf8_cut (span_text (cut_rows[i].text), cut_rows[i].most);
        CHECK_TEXT (cut_rows[i].text, quoted (cut), quoted (span_text (cut_rows[i].cut)));
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (integers_are_written_in_full),
        cmocka_unit_test (numbers_are_padded_behind),
        cmocka_unit_test (commas_stand_between),
        cmocka_unit_test (frames_are_written_as_jansson_writes_them),
        cmocka_unit_test (utf8_of_three_bytes_is_judged_as_by_jansson),
        cmocka_unit_test (utf8_of_four_bytes_is_judged_as_by_jansson),
        cmocka_unit_test (long_frames_are_written_as_jansson_writes_them),
        cmocka_unit_test (trees_are_written_as_jansson_writes_them),
        cmocka_unit_test (texts_are_cut_between_characters),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
