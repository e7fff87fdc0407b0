// JSON read without a tree: each token that is accepted, jansson reads alike.
#include "json.h"
#include "json_scan.h"
#include "rows.h"

// The value that jansson reads from a text; NULL: the text is not one value.
static json_t *parse (struct span text)
{
    return json_loadb ((const char *)text.data, text.size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
                       NULL);
}

// -- strings

// Either both readers accept the string, with the same result, or neither does.
static void check_string (struct span text)
{
    uint8_t *bytes = exact_bytes (text), *out = malloc (text.size + 1);
    size_t size = 77;
    struct json_scan scan = json_scan_of (span_of (bytes, text.size));
    bool taken = json_scan_string (&scan, out, &size);
    CHECK (quoted (text), taken || size == 77);
    taken = taken && json_scan_ended (&scan);
    json_t *value = parse (text);
    CHECK_INT (quoted (text), taken, json_is_string (value));
    if (taken)
        CHECK (quoted (text),
               span_equal (span_of (out, size),
                           span_of (json_string_value (value), json_string_length (value))));
    json_decref (value);
    free (out);
    free (bytes);
}

static const struct span strings[] = {
    BYTES ("\"\""),
    BYTES ("  \"abc\" \r\n\t"),
    BYTES ("\"12345678\""),
    BYTES ("\"1234567\\\"89\""),
    BYTES ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""),
    BYTES ("\"\\u0041\\u00e9\\u00E9\\u8ba1\\uffff\""),
    BYTES ("\"\\ud83d\\ude00\""),
    BYTES ("\"\\uD83D\\uDE00x\""),
    BYTES ("\"\\ud800\\udc00\\udbff\\udfff\""),
    BYTES ("\"\x7f\xc3\xa9\xe8\xae\xa1\xf0\x9f\x98\x80/\""),
    BYTES (""),
    BYTES ("\""),
    BYTES ("\"a"),
    BYTES ("\"12345678"),
    BYTES ("\"\\"),
    BYTES ("\"\\\""),
    BYTES ("\"\\u"),
    BYTES ("\"\\u004"),
    BYTES ("\"\\u004\""),
    BYTES ("\"\\u00g0\""),
    BYTES ("\"\\U0041\""),
    BYTES ("\"\\x41\""),
    BYTES ("\"\\'\""),
    BYTES ("\"\\\0\""),
    BYTES ("\"\\\xc3\xa9\""),
    BYTES ("\"\\u0000\""),
    BYTES ("\"\\ud83d\""),
    BYTES ("\"\\ud83d"),
    BYTES ("\"\\ud83d\\"),
    BYTES ("\"\\ud83d\\u"),
    BYTES ("\"\\ud83d\\ude0"),
    BYTES ("\"\\ud83d\\ude0\""),
    BYTES ("\"\\ud83dx\""),
    BYTES ("\"\\ud83d\\n\""),
    BYTES ("\"\\ud83d\\u0041\""),
    BYTES ("\"\\ud83d\\ud83d\""),
    BYTES ("\"\\ude00\""),
    BYTES ("\"\\ude00\\ud83d\""),
    BYTES ("\"a\nb\""),
    BYTES ("\"a\0b\""),
    BYTES ("\"\xff\""),
    BYTES ("\"\xc0\xaf\""),
    BYTES ("\"\xed\xa0\x80\""),
    BYTES ("\"\xe2\x82\""),
    BYTES ("\"\xe2\x82"),
    BYTES ("\"a\"b"),
    BYTES ("\"a\"\""),
    BYTES ("\"a\"\0"),
    BYTES ("\xef\xbb\xbf\"a\""),
    BYTES ("\v\"a\""),
    BYTES ("'a'"),
    BYTES ("a"),
};

static void strings_are_read_as_by_jansson (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (strings); i++)
        check_string (strings[i]);
}

static void every_byte_and_code_is_read_as_by_jansson (void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        const uint8_t two[] = {'"', (uint8_t)(i >> 8), (uint8_t)i, '"'};
        char code[16];
        check_string (span_of (two, sizeof two));
        snprintf (code, sizeof code, i % 2 ? "\"\\u%04x\"" : "\"\\u%04X\"", i);
        check_string (span_text (code));
        snprintf (code, sizeof code, "\"\\u%04x\\u%04x\"", 0xD700 + i % 0x600, 0xDB00 + i / 0x40);
        check_string (span_text (code));
    }
    for (unsigned i = 0; i < 0x100; i++) {
        const uint8_t escape[] = {'"', '\\', (uint8_t)i, '"'};
        check_string (span_of (escape, sizeof escape));
    }
}

// Make a random text of these parts. Returns its size.
static size_t random_text (const char *const *parts, size_t count, uint64_t *random, uint8_t *out)
{
    size_t size = 0;
    for (uint64_t left = next_random (random) % 16; left > 0; left--) {
        const char *part = parts[next_random (random) % count];
        memcpy (out + size, part, strlen (part));
        size += strlen (part);
    }
    return size;
}

static void random_strings_are_read_as_by_jansson (void **state)
{
    (void)state;
    static const char *const parts[] = {
        "abcdefgh",
        "x",
        "yz",
        " ",
        "/",
        "\\\"",
        "\\\\",
        "\\/",
        "\\n",
        "\\u0041",
        "\\t",
        "\\u00e9",
        "\\ud83d",
        "\\ude00",
        "\\u",
        "\\",
        "\"",
        "\xc3\xa9",
        "\x7f",
        "\xe8\xae\xa1",
        "\xf0\x9f\x98\x80",
        "\x1f",
        "\xed\xa0\x80",
        "\xc3",
    };
    uint64_t random = 88172645463325252U;
    for (int round = 0; round < 50000; round++) {
        uint8_t text[256] = {'"'};
        size_t size = 1 + random_text (parts, round % 2 ? 14 : ROWS (parts), &random, text + 1);
        text[size++] = '"';
        check_string (span_of (text, size));
    }
}

// -- numbers and flags

static void check_integer (struct span text)
{
    uint8_t *bytes = exact_bytes (text);
    int64_t number = 77;
    struct json_scan scan = json_scan_of (span_of (bytes, text.size));
    bool taken = json_scan_integer (&scan, &number);
    CHECK (quoted (text), taken || number == 77);
    taken = taken && json_scan_ended (&scan);
    json_t *value = parse (text);
    // jansson ignores a NUL after a number.
    bool lost = text.size && memchr (text.data, 0, text.size);
    CHECK_INT (quoted (text), taken, json_is_integer (value) && !lost);
    if (taken)
        CHECK_INT (quoted (text), number, json_integer_value (value));
    json_decref (value);
    free (bytes);
}

static const struct span integers[] = {
    BYTES ("0"),
    BYTES ("-0"),
    BYTES (" 7 "),
    BYTES ("-7"),
    BYTES ("1767225611000001"),
    BYTES ("0               "),
    BYTES ("9223372036854775806"),
    BYTES ("9223372036854775807"),
    BYTES ("9223372036854775808"),
    BYTES ("9999999999999999999"),
    BYTES ("18446744073709551616"),
    BYTES ("99999999999999999999999"),
    BYTES ("-9223372036854775807"),
    BYTES ("-9223372036854775808"),
    BYTES ("-9223372036854775809"),
    BYTES ("00"),
    BYTES ("01"),
    BYTES ("-01"),
    BYTES ("00000000000000000000001"),
    BYTES ("+1"),
    BYTES ("-"),
    BYTES ("--1"),
    BYTES ("- 1"),
    BYTES ("1.0"),
    BYTES ("1."),
    BYTES ("1e0"),
    BYTES ("1E+2"),
    BYTES ("0x1"),
    BYTES ("1 2"),
    BYTES ("1,"),
    BYTES ("1\0"),
    BYTES (""),
    BYTES (" "),
    BYTES ("\"1\""),
    BYTES ("true"),
    BYTES ("null"),
    BYTES ("NaN"),
};

static void integers_are_read_as_by_jansson (void **state)
{
    (void)state;
    static const char *const parts[] = {"0", "1", "9", "5", "8",       "7",
                                        "-", ".", "e", " ", "12345678"};
    uint64_t random = 362436069362436069U;
    for (size_t i = 0; i < ROWS (integers); i++)
        check_integer (integers[i]);
    for (int round = 0; round < 50000; round++) {
        uint8_t text[256];
        size_t size = random_text (parts, round % 4 ? 6 : ROWS (parts), &random, text);
        check_integer (span_of (text, size));
    }
}

static const struct flag_row {
    struct span text;
    int flag; // -1: none
} flag_texts[] = {
    {BYTES ("true"), 1},      {BYTES ("false"), 0},   {BYTES (" \ttrue\r\n"), 1},
    {BYTES ("True"), -1},     {BYTES ("tru"), -1},    {BYTES ("truex"), -1},
    {BYTES ("true1"), -1},    {BYTES ("fals"), -1},   {BYTES ("falsee"), -1},
    {BYTES ("null"), -1},     {BYTES ("1"), -1},      {BYTES (""), -1},
    {BYTES ("\"true\""), -1}, {BYTES ("true\0"), -1},
};

static void flags_are_two_words (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (flag_texts); i++) {
        const struct flag_row *row = &flag_texts[i];
        uint8_t *bytes = exact_bytes (row->text);
        bool flag = false;
        struct json_scan scan = json_scan_of (span_of (bytes, row->text.size));
        bool taken = json_scan_flag (&scan, &flag) && json_scan_ended (&scan);
        CHECK_INT (quoted (row->text), taken ? flag : -1, row->flag);
        free (bytes);
    }
}

// -- names and frames

static const struct name_row {
    struct span text;
    bool taken;
} name_rows[] = {
    {BYTES ("\"name\":"), true},        {BYTES (" \n\"name\":"), true},
    {BYTES ("\"name\": 1"), true},      {BYTES ("\"name\" :"), false},
    {BYTES ("\"nam\\u0065\":"), false}, {BYTES ("\"names\":"), false},
    {BYTES ("\"nam\":"), false},        {BYTES ("\"Name\":"), false},
    {BYTES ("\"name\""), false},        {BYTES ("name:"), false},
    {BYTES (",\"name\":"), false},      {BYTES (""), false},
};

static void names_are_known_as_they_are_written (void **state)
{
    (void)state;
    static const struct json_name name = JSON_NAME ("name");
    for (size_t i = 0; i < ROWS (name_rows); i++) {
        const struct name_row *row = &name_rows[i];
        uint8_t *bytes = exact_bytes (row->text);
        struct json_scan scan = json_scan_of (span_of (bytes, row->text.size));
        CHECK_INT (quoted (row->text), json_scan_name (&scan, &name), row->taken);
        free (bytes);
    }
}

// If the frame is accepted, json_to_frame must read the same. Returns whether it was accepted.
static bool check_frame (struct span text)
{
    uint8_t *bytes = exact_bytes (text), *out = malloc (text.size + 1);
    uint8_t *want = malloc (text.size + 1);
    size_t size, want_size = 0;
    struct json_scan scan = json_scan_of (span_of (bytes, text.size));
    bool taken = json_scan_frame (&scan, out, &size) && json_scan_ended (&scan);
    json_t *value = parse (text);
    bool read = value && json_to_frame (value, want, &want_size);
    CHECK (quoted (text), !taken || read);
    CHECK (quoted (text), !taken || span_equal (span_of (out, size), span_of (want, want_size)));
    json_decref (value);
    free (want);
    free (out);
    free (bytes);
    return taken;
}

static const struct name_row frame_rows[] = {
    {BYTES ("\"abc\""), true},
    {BYTES ("\"\""), true},
    {BYTES ("{\"b64\":\"\"}"), true},
    {BYTES ("{\"b64\":\"AA==\"}"), true},
    {BYTES (" { \"b64\": \"AAECAwQF\" } "), true},
    {BYTES ("{\"b64\":\"\\u0041A==\"}"), false}, // one for jansson
    {BYTES ("{\"b64\":\"AA=\"}"), false},
    {BYTES ("{\"b64\":\"AA==\\\"\"}"), false},
    {BYTES ("{\"b64\":\"AA==\\\"}"), false},
    {BYTES ("{\"b64\":\"A\xc3\xa9=\"}"), false},
    {BYTES ("{\"b64\":\"AA==\",\"x\":1}"), false},
    {BYTES ("{\"b64\":\"AA==\",\"b64\":\"AA==\"}"), false},
    {BYTES ("{\"b64\":\"AA==\",}"), false},
    {BYTES ("{\"b64\":\"AA==\""), false},
    {BYTES ("{\"b64\":\"AA=="), false},
    {BYTES ("{\"b64\":\""), false},
    {BYTES ("{\"b64\":1}"), false},
    {BYTES ("{\"b64\":null}"), false},
    {BYTES ("{\"B64\":\"AA==\"}"), false},
    {BYTES ("{}"), false},
    {BYTES ("{"), false},
    {BYTES ("[\"abc\"]"), false},
    {BYTES ("1"), false},
    {BYTES ("null"), false},
    {BYTES (""), false},
};

static void frames_are_read_as_they_are_written (void **state)
{
    (void)state;
    uint64_t random = 521288629521288629U;
    for (size_t i = 0; i < ROWS (frame_rows); i++)
        CHECK_INT (quoted (frame_rows[i].text), check_frame (frame_rows[i].text),
                   frame_rows[i].taken);
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[200];
        size_t size = next_random (&random) % sizeof bytes;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(next_random (&random) >> 24 & (round % 2 ? 0xFF : 0x7F));
        struct json_text text;
        json_text_start (&text, 0);
        json_text_frame (&text, span_of (bytes, size));
        assert_true (check_frame (span_of (text.bytes, text.size)));
        text.bytes[next_random (&random) % text.size] = (char)(next_random (&random) >> 24);
        check_frame (span_of (text.bytes, text.size));
        free (text.bytes);
    }
}

static void nothing_is_taken_of_no_text (void **state)
{
    (void)state;
    struct json_scan scan = json_scan_of ((struct span){0});
    assert_true (json_scan_ended (&scan));
    assert_false (json_scan_take (&scan, '{'));
}

// -- any value

static const struct span values[] = {
    BYTES ("\"\""),
    BYTES (" \"a\\n\\u00e9\xc3\xa9\" "),
    BYTES ("[]"),
    BYTES ("{}"),
    BYTES (" [ 1 , -2.5 , 3e4, \"x\", true, false, null, {\"a\" : [ ] , \"b\":{}} ] "),
    BYTES ("{\"a\":1,\"b\":\"]}\"}"),
    BYTES ("0"),
    BYTES ("-0"),
    BYTES ("0.5"),
    BYTES ("1795964976.002"),
    BYTES ("1.0E+2"),
    BYTES ("9223372036854775807"),
    BYTES ("9223372036854775808"),
    BYTES ("-9223372036854775808"),
    BYTES ("1e308"),
    BYTES ("1e309"),
    BYTES ("0.1234567890123456789012345"),
    BYTES ("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"),
    BYTES ("00"),
    BYTES ("01.5"),
    BYTES ("-"),
    BYTES ("-a"),
    BYTES ("+1"),
    BYTES ("1."),
    BYTES ("1.e3"),
    BYTES (".5"),
    BYTES ("1e"),
    BYTES ("1e+"),
    BYTES ("1.5.5"),
    BYTES ("tru"),
    BYTES ("nul"),
    BYTES ("[1,]"),
    BYTES ("[,1]"),
    BYTES ("[1 2]"),
    BYTES ("[1"),
    BYTES ("[1}"),
    BYTES ("{\"a\"}"),
    BYTES ("{\"a\":}"),
    BYTES ("{\"a\":1,}"),
    BYTES ("{a:1}"),
    BYTES ("{1:1}"),
    BYTES ("\"\x1f\""),
    BYTES ("\"\xff\""),
    BYTES ("\"\xe9\x8f\""),
    BYTES ("\"\\ud800\""),
    BYTES ("\"a"),
    BYTES (""),
};

static void values_are_taken_as_by_jansson (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        uint8_t *bytes = exact_bytes (values[i]);
        struct json_scan scan = json_scan_of (span_of (bytes, values[i].size));
        struct span taken;
        bool good = json_scan_value (&scan, &taken) && json_scan_ended (&scan);
        json_t *value = parse (values[i]), *again = good ? parse (taken) : NULL;
        CHECK_INT (quoted (values[i]), good, value != NULL);
        CHECK (quoted (values[i]), !good || json_equal (value, again));
        json_decref (value);
        json_decref (again);
        free (bytes);
    }
}

static void deep_values_are_not_taken (void **state)
{
    (void)state;
    char text[2 * JSON_DEPTH_MAX + 3] = "";
    struct span taken;
    for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
        memset (text, '[', (size_t)depth);
        memset (text + depth, ']', (size_t)depth);
        struct json_scan scan = json_scan_of (span_of (text, 2 * (size_t)depth));
        CHECK_INT (text, json_scan_value (&scan, &taken), depth == JSON_DEPTH_MAX);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (strings_are_read_as_by_jansson),
        cmocka_unit_test (every_byte_and_code_is_read_as_by_jansson),
        cmocka_unit_test (random_strings_are_read_as_by_jansson),
        cmocka_unit_test (integers_are_read_as_by_jansson),
        cmocka_unit_test (flags_are_two_words),
        cmocka_unit_test (names_are_known_as_they_are_written),
        cmocka_unit_test (frames_are_read_as_they_are_written),
        cmocka_unit_test (nothing_is_taken_of_no_text),
        cmocka_unit_test (values_are_taken_as_by_jansson),
        cmocka_unit_test (deep_values_are_not_taken),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
