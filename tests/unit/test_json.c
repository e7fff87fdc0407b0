// Base64, strict JSON, and frames as JSON values.
#include <malloc.h>

#include "base64.h"
#include "json.h"
#include "json_pool.h"
#include "rows.h"

// -- base64

static const struct base64_row {
    struct span bytes;
    const char *text;
} base64_rows[] = {
    // RFC 4648 10
    {BYTES (""), ""},
    {BYTES ("f"), "Zg=="},
    {BYTES ("fo"), "Zm8="},
    {BYTES ("foo"), "Zm9v"},
    {BYTES ("foob"), "Zm9vYg=="},
    {BYTES ("fooba"), "Zm9vYmE="},
    {BYTES ("foobar"), "Zm9vYmFy"},
    {BYTES ("\0"), "AA=="},
    {BYTES ("\0\0\0"), "AAAA"},
    {BYTES ("\xff\xff\xff"), "////"},
    {BYTES ("\xfb\xef\xbe"), "++++"},
};

static void base64_goes_there_and_back (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (base64_rows); i++) {
        const struct base64_row *row = &base64_rows[i];
        char text[BASE64_SIZE (6)];
        uint8_t bytes[6];
        size_t size = 77;
        base64_encode (row->bytes, text);
        CHECK_TEXT (row->text, text, row->text);
        CHECK (row->text, base64_decode (span_text (text), bytes, &size));
        CHECK (row->text, span_equal (span_of (bytes, size), row->bytes));
    }
}

static const struct span broken_base64[] = {
    BYTES ("Z"),    BYTES ("Zg"),           BYTES ("Zg="),      BYTES ("Zg==="),
    BYTES ("===="), BYTES ("Z==="),         BYTES ("Zg==Zg=="), BYTES ("Zm8=Zm9v"),
    BYTES ("Z=g="), BYTES ("=Zg="),         BYTES ("Zm9\0"),    BYTES ("Zm-_"),
    BYTES ("Zm 9"), BYTES ("Zm9v\n\n\n\n"), BYTES ("Zm9\xff"),  BYTES ("Zg= "),
};

static void base64_refuses_what_is_none (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (broken_base64); i++) {
        uint8_t *text = exact_bytes (broken_base64[i]);
        uint8_t out[16];
        size_t size;
        CHECK (quoted (broken_base64[i]),
               !base64_decode (span_of (text, broken_base64[i].size), out, &size));
        free (text);
    }
}

// -- strict reading

#define DEEP_15     "[[[[[[[[[[[[[[["
#define DEEP_15_END "]]]]]]]]]]]]]]]"

static const struct read_row {
    const char *name;
    struct span text;
    bool good;
} read_rows[] = {
    {"empty object", BYTES ("{}"), true},
    {"space around", BYTES (" \t\r\n{ } \t\r\n"), true},
    {"all kinds", BYTES ("{\"a\":1,\"b\":-1.5e3,\"c\":\"x\",\"d\":[true,false,null],\"e\":{}}"),
     true},
    {"escapes", BYTES ("{\"\\u0061\\n\":\"\\ud83d\\ude00\\\"\\\\\"}"), true},
    {"depth 16", BYTES ("{\"a\":" DEEP_15 DEEP_15_END "}"), true},
    {"depth 17", BYTES ("{\"a\":" DEEP_15 "[" DEEP_15_END "]}"), false},
    {"depth 17, not closed", BYTES ("{\"a\":" DEEP_15 "["), false},
    {"brackets in a string are not deep", BYTES ("{\"a\":\"" DEEP_15 DEEP_15 "\\\"" DEEP_15 "\"}"),
     true},
    {"empty", BYTES (""), false},
    {"space only", BYTES ("  "), false},
    {"an array", BYTES ("[]"), false},
    {"a string", BYTES ("\"x\""), false},
    {"a number", BYTES ("1"), false},
    {"null", BYTES ("null"), false},
    {"two objects", BYTES ("{}{}"), false},
    {"trailing word", BYTES ("{} x"), false},
    {"trailing comma behind", BYTES ("{},"), false},
    {"trailing NUL", BYTES ("{}\0"), false},
    {"trailing brace", BYTES ("{}}"), false},
    {"not closed", BYTES ("{\"a\":1"), false},
    {"comma at the end", BYTES ("{\"a\":1,}"), false},
    {"duplicate field", BYTES ("{\"a\":1,\"a\":1}"), false},
    {"duplicate field, one escaped", BYTES ("{\"a\":1,\"\\u0061\":1}"), false},
    {"duplicate field inside", BYTES ("{\"a\":{\"b\":1,\"b\":2}}"), false},
    {"name without quotes", BYTES ("{a:1}"), false},
    {"single quotes", BYTES ("{'a':1}"), false},
    {"comment", BYTES ("{}//"), false},
    {"byte order mark", BYTES ("\xef\xbb\xbf{}"), false},
    {"leading zero", BYTES ("{\"a\":01}"), false},
    {"plus", BYTES ("{\"a\":+1}"), false},
    {"hex", BYTES ("{\"a\":0x1}"), false},
    {"NaN", BYTES ("{\"a\":NaN}"), false},
    {"Infinity", BYTES ("{\"a\":Infinity}"), false},
    {"real out of range", BYTES ("{\"a\":1e999}"), false},
    {"int64 max", BYTES ("{\"a\":9223372036854775807}"), true},
    {"int64 max plus one", BYTES ("{\"a\":9223372036854775808}"), false},
    {"int64 min", BYTES ("{\"a\":-9223372036854775808}"), true},
    {"int64 min minus one", BYTES ("{\"a\":-9223372036854775809}"), false},
    {"escaped NUL in a string", BYTES ("{\"a\":\"\\u0000\"}"), false},
    {"escaped NUL in a name", BYTES ("{\"a\\u0000b\":1}"), false},
    {"NUL in a string", BYTES ("{\"a\":\"x\0y\"}"), false},
    {"NUL between", BYTES ("{\0}"), false},
    {"newline in a string", BYTES ("{\"a\":\"x\ny\"}"), false},
    {"UTF-8", BYTES ("{\"\xc3\xa9\":\"\xf0\x9f\x98\x80\"}"), true},
    {"bad UTF-8", BYTES ("{\"a\":\"\xff\"}"), false},
    {"bad UTF-8 in a name", BYTES ("{\"\xc3\":1}"), false},
    {"bad UTF-8 outside", BYTES ("{}\xff"), false},
    {"overlong", BYTES ("{\"a\":\"\xc0\xaf\"}"), false},
    {"surrogate in UTF-8", BYTES ("{\"a\":\"\xed\xa0\x80\"}"), false},
    {"lone escaped surrogate", BYTES ("{\"a\":\"\\ud800\"}"), false},
    {"over U+10FFFF", BYTES ("{\"a\":\"\xf4\x90\x80\x80\"}"), false},
    {"cut character", BYTES ("{\"a\":\"\xe2\x82\"}"), false},
};

static void json_is_read_strictly (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (read_rows); i++) {
        const struct read_row *row = &read_rows[i];
        uint8_t *text = exact_bytes (row->text);
        struct reason reason = {""};
        json_t *value = json_read_object (span_of (text, row->text.size), &reason);
        free (text);
        CHECK (row->name, (value != NULL) == row->good);
        CHECK (row->name, row->good || strncmp (reason.text, "JSON: ", 6) == 0);
        json_decref (value);
    }
}

// The parser's reason has no escapes, and no bytes of the text that are not ASCII.
static void a_reason_is_plain (void **state)
{
    static const struct {
        struct span text;
        const char *reason;
    } rows[] = {
        {BYTES ("x"), "JSON: \"[\" or \"{\" expected near \"x\" at byte 1"},
        {BYTES ("{\"a\":'}"), "JSON: invalid token near \"\"\" at byte 6, in field 'a'"},
        {BYTES ("\xc3\xa4"), "JSON: \"[\" or \"{\" expected near \"??\" at byte 2"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct reason reason = {""};
        assert_null (json_read_object (rows[i].text, &reason));
        CHECK_TEXT (rows[i].reason, reason.text, rows[i].reason);
    }
}

static const struct read_row array_rows[] = {
    {"empty array", BYTES ("[]"), true},
    {"space around", BYTES (" [ 1 , {} , \"x\" ] "), true},
    {"depth 16", BYTES ("[" DEEP_15 DEEP_15_END "]"), true},
    {"depth 17", BYTES ("[[" DEEP_15 DEEP_15_END "]]"), false},
    {"an object", BYTES ("{}"), false},
    {"a number", BYTES ("1"), false},
    {"empty", BYTES (""), false},
    {"not closed", BYTES ("[1"), false},
    {"comma at the end", BYTES ("[1,]"), false},
    {"two arrays", BYTES ("[][]"), false},
    {"trailing NUL", BYTES ("[]\0"), false},
    {"duplicate field inside", BYTES ("[{\"a\":1,\"a\":1}]"), false},
    {"bad UTF-8", BYTES ("[\"\xff\"]"), false},
};

static void arrays_are_read_as_strictly (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (array_rows); i++) {
        const struct read_row *row = &array_rows[i];
        uint8_t *text = exact_bytes (row->text);
        struct reason reason = {""};
        json_t *value = json_read_array (span_of (text, row->text.size), &reason);
        free (text);
        CHECK (row->name, (value != NULL) == row->good);
        CHECK (row->name, row->good || strncmp (reason.text, "JSON: ", 6) == 0);
        json_decref (value);
    }
}

static void json_of_a_megabyte_of_brackets_is_refused (void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc (SIZE);
    assert_non_null (text);
    static const char bytes[] = "[{\"\\";
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
        memset (text, bytes[i], SIZE);
        struct reason reason = {""};
        assert_null (json_read_object (span_of (text, SIZE), &reason));
        assert_memory_equal (reason.text, "JSON: ", 6);
    }
    free (text);
}

// Texts are read without jansson, and must be accepted and rejected as by jansson.
static void texts_are_read_as_jansson_reads_them (void **state)
{
    static const char *const texts[] = {
        "{\"a\":1,\"b\":-1.5e3,\"c\":\"x\",\"d\":[true,false,null],\"e\":{}}",
        " [ 1 , -0 , {\"a\" : [ ] , \"\" : {} } , \"\" , 12e1, 9223372036854775807 ] ",
        "{\"\\u0061\\n\":\"\\ud83d\\ude00\\\"\\\\/\",\"\xc3\xa9\":[\"\xf0\x9f\x98\x80\",\"\x7f\"]}",
        "{\"aa\":{\"ab\":{\"ac\":[[0.5,1,\"aa\"]],\"ad\":null},\"ae\":\"\"},\"ab\":[]}",
    };
    static const char bytes[] = "{}[],:\"\\ 0123e.-+untrfalse\n\xc3\xa9";
    (void)state;
    uint64_t random = 88172645463325252U;
    for (unsigned round = 0; round < 100000; round++) {
        char text[100];
        size_t size = strlen (texts[round % ROWS (texts)]);
        memcpy (text, texts[round % ROWS (texts)], size);
        for (uint64_t changes = next_random (&random) % 4; changes; changes--)
            text[next_random (&random) % size] = bytes[next_random (&random) % sizeof bytes];
        if (next_random (&random) % 8 == 0)
            size = next_random (&random) % size;
        struct reason reason;
        uint8_t *exact = exact_bytes (span_of (text, size));
        bool lists = size && text[strspn (text, " \n")] == '[';
        json_t *value =
            (lists ? json_read_array : json_read_object) (span_of (exact, size), &reason);
        json_t *wanted = json_loadb (text, size, JSON_REJECT_DUPLICATES, NULL);
        assert_true (!value == !wanted);
        assert_true (!value || json_equal (value, wanted));
        free (exact);
        json_decref (value);
        json_decref (wanted);
    }
}

static const struct integer_row {
    const char *name, *text;
    int64_t min, max;
    bool good;
    int64_t number;
} integer_rows[] = {
    {"within", "{\"n\":5}", 0, 9, true, 5},
    {"at the bounds", "{\"n\":9}", 9, 9, true, 9},
    {"below", "{\"n\":-1}", 0, 9, false, 0},
    {"above", "{\"n\":10}", 0, 9, false, 0},
    {"exact to the last bit", "{\"n\":9223372036854775807}", 0, INT64_MAX, true, INT64_MAX},
    {"exact to the last bit less one", "{\"n\":9223372036854775806}", 0, INT64_MAX, true,
     INT64_MAX - 1},
    {"exact over 2^53", "{\"n\":9007199254740993}", 0, INT64_MAX, true, 9007199254740993},
    {"smallest", "{\"n\":-9223372036854775808}", INT64_MIN, 0, true, INT64_MIN},
    {"absent", "{\"m\":5}", 0, 9, false, 0},
    {"real", "{\"n\":5.0}", 0, 9, false, 0},
    {"exponent", "{\"n\":5e0}", 0, 9, false, 0},
    {"string", "{\"n\":\"5\"}", 0, 9, false, 0},
    {"true", "{\"n\":true}", 0, 9, false, 0},
    {"null", "{\"n\":null}", 0, 9, false, 0},
    {"array", "{\"n\":[5]}", 0, 9, false, 0},
};

static void json_integers_are_exact_and_bounded (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (integer_rows); i++) {
        const struct integer_row *row = &integer_rows[i];
        struct reason reason;
        json_t *object = json_read_object (span_text (row->text), &reason);
        int64_t number = 4711;
        CHECK (row->name, json_get_integer (object, "n", row->min, row->max, &number) == row->good);
        CHECK (row->name, number == (row->good ? row->number : 4711));
        json_decref (object);
    }
}

// -- frames

static const struct frame_row {
    const char *name;
    struct span frame;
    const char *json;
} frame_rows[] = {
    {"text", BYTES ("abc"), "\"abc\""},
    {"empty", BYTES (""), "\"\""},
    {"no bytes", {NULL, 0}, "\"\""},
    {"UTF-8 stays", BYTES ("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\""},
    {"quotes and backslash", BYTES ("\"\\"), "\"\\\"\\\\\""},
    {"control bytes", BYTES ("\n\x01"), "\"\\n\\u0001\""},
    {"NUL inside", BYTES ("a\0b"), "{\"b64\":\"YQBi\"}"},
    {"NUL", BYTES ("\0"), "{\"b64\":\"AA==\"}"},
    {"a description", BYTES ("\1\2T\0"), "{\"b64\":\"AQJUAA==\"}"},
    {"no UTF-8", BYTES ("\xff"), "{\"b64\":\"/w==\"}"},
    {"overlong", BYTES ("\xc0\xaf"), "{\"b64\":\"wK8=\"}"},
    {"surrogate", BYTES ("\xed\xa0\x80"), "{\"b64\":\"7aCA\"}"},
    {"text like the object", BYTES ("{\"b64\":\"\"}"), "\"{\\\"b64\\\":\\\"\\\"}\""},
};

static void frames_become_strings_or_base64 (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (frame_rows); i++) {
        const struct frame_row *row = &frame_rows[i];
        json_t *value = json_from_frame (row->frame);
        char *text = json_write (value);
        CHECK_TEXT (row->name, text, row->json);
        uint8_t out[64];
        size_t size = 77;
        CHECK (row->name, json_to_frame (value, out, &size));
        CHECK_INT (row->name, json_frame_size (value), size);
        CHECK (row->name, span_equal (span_of (out, size), row->frame));
        json_decref (value);
        free (text);
    }
}

// The text of an object; its field "f" is the value.
static const struct no_frame_row {
    const char *text;
} no_frame_rows[] = {
    {"{\"f\":1}"},
    {"{\"f\":1.5}"},
    {"{\"f\":null}"},
    {"{\"f\":true}"},
    {"{\"f\":[]}"},
    {"{\"f\":[\"b64\"]}"},
    {"{\"f\":{}}"},
    {"{\"f\":{\"b64\":1}}"},
    {"{\"f\":{\"b64\":null}}"},
    {"{\"f\":{\"b64\":\"Zg=\"}}"},
    {"{\"f\":{\"b64\":\"Zg\"}}"},
    {"{\"f\":{\"b64\":\"\xc3\xa9==\"}}"},
    {"{\"f\":{\"b64\":\"Zg==\",\"x\":1}}"},
    {"{\"f\":{\"B64\":\"Zg==\"}}"},
};

static void other_values_are_no_frames (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (no_frame_rows); i++) {
        struct reason reason;
        json_t *object = json_read_object (span_text (no_frame_rows[i].text), &reason);
        CHECK (no_frame_rows[i].text, object != NULL);
        uint8_t out[64];
        size_t size;
        CHECK (no_frame_rows[i].text, !json_to_frame (json_object_get (object, "f"), out, &size));
        json_decref (object);
    }
}

static void random_frames_come_back (void **state)
{
    (void)state;
    uint64_t random = 362436069362436069U;
    for (int round = 0; round < 5000; round++) {
        uint8_t bytes[200];
        size_t size = next_random (&random) % sizeof bytes;
        // Half of the rounds are mostly ASCII, so that both forms are met.
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(next_random (&random) >> 24 & (round % 2 ? 0xFF : 0x7F));
        json_t *value = json_from_frame (span_of (bytes, size));
        char *text = json_write (value);
        json_t *again = json_loads (text, JSON_DECODE_ANY, NULL);
        assert_true (json_equal (value, again));
        uint8_t *out = malloc (strlen (text)); // the room that is promised to be enough
        size_t out_size;
        assert_true (json_to_frame (again, out, &out_size));
        assert_true (span_equal (span_of (out, out_size), span_of (bytes, size)));
        free (out);
        free (text);
        json_decref (again);
        json_decref (value);
    }
}

static void blocks_of_freed_trees_are_kept_until_they_are_released (void **state)
{
    (void)state;
    json_pool_use ();
    size_t before = mallinfo2 ().uordblks;
    json_t *tree = json_array ();
    for (int i = 0; i < 1000; i++)
        json_array_append_new (tree, json_pack ("{s:i}", "number", i));
    size_t used = mallinfo2 ().uordblks;
    json_decref (tree);
#ifndef __SANITIZE_ADDRESS__
    assert_true (mallinfo2 ().uordblks > before + (used - before) / 2);
#endif
    json_pool_release ();
    assert_true (mallinfo2 ().uordblks <= before + (used - before) / 8);
    json_decref (json_pack ("{s:i}", "number", 1));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (base64_goes_there_and_back),
        cmocka_unit_test (base64_refuses_what_is_none),
        cmocka_unit_test (json_is_read_strictly),
        cmocka_unit_test (a_reason_is_plain),
        cmocka_unit_test (arrays_are_read_as_strictly),
        cmocka_unit_test (json_of_a_megabyte_of_brackets_is_refused),
        cmocka_unit_test (texts_are_read_as_jansson_reads_them),
        cmocka_unit_test (json_integers_are_exact_and_bounded),
        cmocka_unit_test (frames_become_strings_or_base64),
        cmocka_unit_test (other_values_are_no_frames),
        cmocka_unit_test (random_frames_come_back),
        cmocka_unit_test (blocks_of_freed_trees_are_kept_until_they_are_released),
    };
    return cmocka_run_group_tests_name ("json", tests, NULL, NULL);
}
