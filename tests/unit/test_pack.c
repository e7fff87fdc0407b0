// msgpack: writing, reading, and the reason of each rejection.
#include "json.h"
#include "pack.h"
#include "pack_write.h"
#include "rows.h"

// A field "a"; the bytes of its value follow.
#define MAP_A "\x81\xa1\x61"

// Read from a block of exactly this size.
static json_t *read_exact (struct span bytes, struct reason *reason)
{
    uint8_t *copy = exact_bytes (bytes);
    json_t *object = pack_read_object (span_of (copy, bytes.size), reason);
    free (copy);
    return object;
}

// Check that the bytes are read as this JSON text.
static void check_read (const char *name, struct span bytes, const char *want)
{
    struct reason reason = {""};
    json_t *object = read_exact (bytes, &reason);
    CHECK_TEXT (name, reason.text, "");
    char *text = json_write (object);
    CHECK_TEXT (name, text, want);
    free (text);
    json_decref (object);
}

// -- both ways

// The JSON text of an object, and the only bytes that are written for it.
static const struct row {
    const char *text;
    struct span bytes;
} rows[] = {
    {"{}", BYTES ("\x80")},
    {"{\"a\":null}", BYTES (MAP_A "\xc0")},
    {"{\"a\":false}", BYTES (MAP_A "\xc2")},
    {"{\"a\":true}", BYTES (MAP_A "\xc3")},
    {"{\"a\":0}", BYTES (MAP_A "\0")},
    {"{\"a\":127}", BYTES (MAP_A "\x7f")},
    {"{\"a\":128}", BYTES (MAP_A "\xcc\x80")},
    {"{\"a\":255}", BYTES (MAP_A "\xcc\xff")},
    {"{\"a\":256}", BYTES (MAP_A "\xcd\1\0")},
    {"{\"a\":65535}", BYTES (MAP_A "\xcd\xff\xff")},
    {"{\"a\":65536}", BYTES (MAP_A "\xce\0\1\0\0")},
    {"{\"a\":4294967295}", BYTES (MAP_A "\xce\xff\xff\xff\xff")},
    {"{\"a\":4294967296}", BYTES (MAP_A "\xcf\0\0\0\1\0\0\0\0")},
    {"{\"a\":9007199254740993}", BYTES (MAP_A "\xcf\0\x20\0\0\0\0\0\1")},
    {"{\"a\":9223372036854775807}", BYTES (MAP_A "\xcf\x7f\xff\xff\xff\xff\xff\xff\xff")},
    {"{\"a\":-1}", BYTES (MAP_A "\xff")},
    {"{\"a\":-32}", BYTES (MAP_A "\xe0")},
    {"{\"a\":-33}", BYTES (MAP_A "\xd0\xdf")},
    {"{\"a\":-128}", BYTES (MAP_A "\xd0\x80")},
    {"{\"a\":-129}", BYTES (MAP_A "\xd1\xff\x7f")},
    {"{\"a\":-32768}", BYTES (MAP_A "\xd1\x80\0")},
    {"{\"a\":-32769}", BYTES (MAP_A "\xd2\xff\xff\x7f\xff")},
    {"{\"a\":-2147483648}", BYTES (MAP_A "\xd2\x80\0\0\0")},
    {"{\"a\":-2147483649}", BYTES (MAP_A "\xd3\xff\xff\xff\xff\x7f\xff\xff\xff")},
    {"{\"a\":-9223372036854775808}", BYTES (MAP_A "\xd3\x80\0\0\0\0\0\0\0")},
    {"{\"a\":0.0}", BYTES (MAP_A "\xcb\0\0\0\0\0\0\0\0")},
    {"{\"a\":-0.0}", BYTES (MAP_A "\xcb\x80\0\0\0\0\0\0\0")},
    {"{\"a\":1.5}", BYTES (MAP_A "\xcb\x3f\xf8\0\0\0\0\0\0")},
    {"{\"a\":1.7976931348623157e308}", BYTES (MAP_A "\xcb\x7f\xef\xff\xff\xff\xff\xff\xff")},
    {"{\"a\":\"\"}", BYTES (MAP_A "\xa0")},
    {"{\"a\":\"x\"}", BYTES (MAP_A "\xa1x")},
    {"{\"a\":\"\xc3\xa9\xf0\x9f\x98\x80\"}", BYTES (MAP_A "\xa6\xc3\xa9\xf0\x9f\x98\x80")},
    {"{\"a\":\"\\n\\u0001\"}", BYTES (MAP_A "\xa2\n\1")},
    {"{\"\":1}", BYTES ("\x81\xa0\1")},
    {"{\"\xc3\xa9\":1}", BYTES ("\x81\xa2\xc3\xa9\1")},
    {"{\"a\":[]}", BYTES (MAP_A "\x90")},
    {"{\"a\":[1,\"x\",null,[]]}", BYTES (MAP_A "\x94\1\xa1x\xc0\x90")},
    {"{\"a\":{}}", BYTES (MAP_A "\x80")},
    {"{\"a\":{\"a\":{\"a\":1}},\"b\":2}", BYTES ("\x82\xa1\x61" MAP_A MAP_A "\1\xa1\x62\2")},
    {"{\"z\":1,\"a\":2,\"m\":3}", BYTES ("\x83\xa1z\1\xa1\x61\2\xa1m\3")},
};

static void values_go_there_and_back (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct reason reason = {""};
        json_t *object = json_read_object (span_text (rows[i].text), &reason);
        CHECK_TEXT (rows[i].text, reason.text, "");
        size_t size = 0;
        char *bytes = pack_write (object, &size);
        CHECK_TEXT (rows[i].text, quoted (span_of (bytes, size)), quoted (rows[i].bytes));
        CHECK (rows[i].text, span_equal (span_of (bytes, size), rows[i].bytes));
        free (bytes);
        json_decref (object);
        check_read (rows[i].text, rows[i].bytes, rows[i].text);
    }
}

static const struct value_row {
    const char *text;
    struct span bytes;
} value_rows[] = {
    {"[]", BYTES ("\x90")},
    {"[1,[2]]", BYTES ("\x92\1\x91\2")},
    {"\"x\"", BYTES ("\xa1x")},
    {"1", BYTES ("\1")},
    {"null", BYTES ("\xc0")},
    {"true", BYTES ("\xc3")},
    {"\"\\u0000\"", BYTES ("\xa1\0")},
};

static void any_value_is_written (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (value_rows); i++) {
        json_t *value = json_loads (value_rows[i].text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        CHECK (value_rows[i].text, value != NULL);
        size_t size = 0;
        char *bytes = pack_write (value, &size);
        CHECK (value_rows[i].text, span_equal (span_of (bytes, size), value_rows[i].bytes));
        free (bytes);
        json_decref (value);
    }
}

// Strings, arrays and maps at the sizes at which their form changes.
static const struct size_row {
    size_t size;
    struct span string, array, map; // what they begin with
} size_rows[] = {
    {15, BYTES ("\xaf"), BYTES ("\x9f"), BYTES ("\x8f")},
    {16, BYTES ("\xb0"), BYTES ("\xdc\0\x10"), BYTES ("\xde\0\x10")},
    {31, BYTES ("\xbf"), BYTES ("\xdc\0\x1f"), BYTES ("\xde\0\x1f")},
    {32, BYTES ("\xd9\x20"), BYTES ("\xdc\0\x20"), BYTES ("\xde\0\x20")},
    {255, BYTES ("\xd9\xff"), BYTES ("\xdc\0\xff"), BYTES ("\xde\0\xff")},
    {256, BYTES ("\xda\1\0"), BYTES ("\xdc\1\0"), BYTES ("\xde\1\0")},
    {65535, BYTES ("\xda\xff\xff"), BYTES ("\xdc\xff\xff"), BYTES ("\xde\xff\xff")},
    {65536, BYTES ("\xdb\0\1\0\0"), BYTES ("\xdd\0\1\0\0"), BYTES ("\xdf\0\1\0\0")},
};

// The value as field "a" is written with this start, and read as it was.
static void check_start (json_t *value, struct span start)
{
    json_t *object = json_pack ("{so}", "a", value);
    size_t size = 0;
    char *bytes = pack_write (object, &size);
    CHECK_TEXT ("start", quoted (span_of (bytes + sizeof MAP_A - 1, start.size)), quoted (start));
    struct reason reason = {""};
    json_t *again = read_exact (span_of (bytes, size), &reason);
    CHECK_TEXT ("start", reason.text, "");
    CHECK (quoted (start), json_equal (object, again));
    free (bytes);
    json_decref (again);
    json_decref (object);
}

static void sizes_choose_the_form (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (size_rows); i++) {
        const struct size_row *row = &size_rows[i];
        char *letters = malloc (row->size);
        assert_non_null (letters);
        memset (letters, 'x', row->size);
        check_start (json_stringn (letters, row->size), row->string);
        free (letters);
        json_t *array = json_array (), *map = json_object ();
        for (size_t n = 0; n < row->size; n++) {
            char name[24];
            snprintf (name, sizeof name, "%zu", n);
            json_object_set_new (map, name, json_integer (1));
            json_array_append_new (array, json_null ());
        }
        check_start (array, row->array);
        check_start (map, row->map);
    }
}

// -- what is read though it is not written so

#define ARRAYS_14 "\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91"
#define MAPS_15                                                                                    \
    "\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81\xa0\x81" \
    "\xa0\x81\xa0\x81\xa0\x81\xa0"

static const struct good_row {
    const char *name;
    struct span bytes;
    const char *text;
} good_rows[] = {
    {"map 16", BYTES ("\xde\0\1\xa1\x61\1"), "{\"a\":1}"},
    {"map 32", BYTES ("\xdf\0\0\0\1\xa1\x61\1"), "{\"a\":1}"},
    {"map 16 of none", BYTES ("\xde\0\0"), "{}"},
    {"map 32 of none", BYTES ("\xdf\0\0\0\0"), "{}"},
    {"name as str 8", BYTES ("\x81\xd9\1\x61\1"), "{\"a\":1}"},
    {"name as str 16", BYTES ("\x81\xda\0\1\x61\1"), "{\"a\":1}"},
    {"name as str 32", BYTES ("\x81\xdb\0\0\0\1\x61\1"), "{\"a\":1}"},
    {"no name as str 8", BYTES ("\x81\xd9\0\1"), "{\"\":1}"},
    {"str 8", BYTES (MAP_A "\xd9\1x"), "{\"a\":\"x\"}"},
    {"str 16", BYTES (MAP_A "\xda\0\1x"), "{\"a\":\"x\"}"},
    {"str 32", BYTES (MAP_A "\xdb\0\0\0\1x"), "{\"a\":\"x\"}"},
    {"str 8 of none", BYTES (MAP_A "\xd9\0"), "{\"a\":\"\"}"},
    {"str 16 of none", BYTES (MAP_A "\xda\0\0"), "{\"a\":\"\"}"},
    {"str 32 of none", BYTES (MAP_A "\xdb\0\0\0\0"), "{\"a\":\"\"}"},
    {"array 16", BYTES (MAP_A "\xdc\0\1\1"), "{\"a\":[1]}"},
    {"array 32", BYTES (MAP_A "\xdd\0\0\0\1\1"), "{\"a\":[1]}"},
    {"array 16 of none", BYTES (MAP_A "\xdc\0\0"), "{\"a\":[]}"},
    {"array 32 of none", BYTES (MAP_A "\xdd\0\0\0\0"), "{\"a\":[]}"},
    {"uint 8", BYTES (MAP_A "\xcc\1"), "{\"a\":1}"},
    {"uint 16", BYTES (MAP_A "\xcd\0\1"), "{\"a\":1}"},
    {"uint 32", BYTES (MAP_A "\xce\0\0\0\1"), "{\"a\":1}"},
    {"uint 64", BYTES (MAP_A "\xcf\0\0\0\0\0\0\0\1"), "{\"a\":1}"},
    {"int 8", BYTES (MAP_A "\xd0\1"), "{\"a\":1}"},
    {"int 8, greatest", BYTES (MAP_A "\xd0\x7f"), "{\"a\":127}"},
    {"int 8, negative", BYTES (MAP_A "\xd0\xff"), "{\"a\":-1}"},
    {"int 16", BYTES (MAP_A "\xd1\0\1"), "{\"a\":1}"},
    {"int 16, greatest", BYTES (MAP_A "\xd1\x7f\xff"), "{\"a\":32767}"},
    {"int 16, negative", BYTES (MAP_A "\xd1\xff\xff"), "{\"a\":-1}"},
    {"int 32", BYTES (MAP_A "\xd2\0\0\0\1"), "{\"a\":1}"},
    {"int 32, greatest", BYTES (MAP_A "\xd2\x7f\xff\xff\xff"), "{\"a\":2147483647}"},
    {"int 32, negative", BYTES (MAP_A "\xd2\xff\xff\xff\xff"), "{\"a\":-1}"},
    {"int 64", BYTES (MAP_A "\xd3\0\0\0\0\0\0\0\1"), "{\"a\":1}"},
    {"int 64, greatest", BYTES (MAP_A "\xd3\x7f\xff\xff\xff\xff\xff\xff\xff"),
     "{\"a\":9223372036854775807}"},
    {"int 64, negative", BYTES (MAP_A "\xd3\xff\xff\xff\xff\xff\xff\xff\xff"), "{\"a\":-1}"},
    {"float 32", BYTES (MAP_A "\xca\x3f\xc0\0\0"), "{\"a\":1.5}"},
    {"float 32, whole", BYTES (MAP_A "\xca\x3f\x80\0\0"), "{\"a\":1.0}"},
    {"depth 16 by arrays", BYTES (MAP_A ARRAYS_14 "\x90"),
     "{\"a\":[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]}"},
    {"depth 16 by maps", BYTES (MAPS_15 "\x80"),
     "{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{\"\":{}}"
     "}}}}}}}}}}}}}}"},
    {"the same name at two depths", BYTES ("\x82\xa1\x61" MAP_A "\1\xa1\x62" MAP_A "\2"),
     "{\"a\":{\"a\":1},\"b\":{\"a\":2}}"},
    {"names that differ in case", BYTES ("\x82\xa1\x61\1\xa1\x41\2"), "{\"a\":1,\"A\":2}"},
};

static void other_forms_are_read (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (good_rows); i++)
        check_read (good_rows[i].name, good_rows[i].bytes, good_rows[i].text);
}

// -- what is refused

#define CUT       "msgpack: cut short"
#define TOO_LARGE "msgpack: cut short, or a count that is too large"
#define NO_UTF8   "msgpack: a string that is not UTF-8"
#define DEEP      "msgpack: nested deeper than 16"
#define FIELD_A   ", in field 'a'"

static const struct bad_row {
    const char *name;
    struct span bytes;
    const char *reason;
} bad_rows[] = {
    {"empty", BYTES (""), "msgpack: want a map"},
    {"JSON", BYTES ("{}"), "msgpack: want a map"},
    {"an array", BYTES ("\x90"), "msgpack: want a map"},
    {"an array 32", BYTES ("\xdd\xff\xff\xff\xff"), "msgpack: want a map"},
    {"a string", BYTES ("\xa1x"), "msgpack: want a map"},
    {"nil", BYTES ("\xc0"), "msgpack: want a map"},
    {"an integer", BYTES ("\1"), "msgpack: want a map"},
    {"bin", BYTES ("\xc4\0"), "msgpack: want a map"},
    {"trailing nil", BYTES ("\x80\xc0"), "msgpack: bytes after the map"},
    {"trailing NUL", BYTES (MAP_A "\1\0"), "msgpack: bytes after the map"},
    {"trailing map", BYTES ("\x80\x80"), "msgpack: bytes after the map"},
    {"trailing c1", BYTES ("\x80\xc1"), "msgpack: bytes after the map"},
    {"trailing newline", BYTES ("\x80\n"), "msgpack: bytes after the map"},

    {"c1", BYTES (MAP_A "\xc1"), "msgpack: a byte c1, which has no meaning" FIELD_A},
    {"bin 8", BYTES (MAP_A "\xc4\1x"), "msgpack: bytes (bin), want a string" FIELD_A},
    {"bin 16", BYTES (MAP_A "\xc5\0\1x"), "msgpack: bytes (bin), want a string" FIELD_A},
    {"bin 32", BYTES (MAP_A "\xc6\0\0\0\1x"), "msgpack: bytes (bin), want a string" FIELD_A},
    {"bin 32, hostile", BYTES (MAP_A "\xc6\xff\xff\xff\xff"),
     "msgpack: bytes (bin), want a string" FIELD_A},
    {"ext 8", BYTES (MAP_A "\xc7\0\1"), "msgpack: an extension (ext)" FIELD_A},
    {"ext 16", BYTES (MAP_A "\xc8\0\0\1"), "msgpack: an extension (ext)" FIELD_A},
    {"ext 32", BYTES (MAP_A "\xc9\0\0\0\0\1"), "msgpack: an extension (ext)" FIELD_A},
    {"ext 32, hostile", BYTES (MAP_A "\xc9\xff\xff\xff\xff\1"),
     "msgpack: an extension (ext)" FIELD_A},
    {"fixext 1", BYTES (MAP_A "\xd4\1x"), "msgpack: an extension (ext)" FIELD_A},
    {"fixext 2", BYTES (MAP_A "\xd5\1xx"), "msgpack: an extension (ext)" FIELD_A},
    {"timestamp", BYTES (MAP_A "\xd6\xff\0\0\0\0"), "msgpack: an extension (ext)" FIELD_A},
    {"fixext 8", BYTES (MAP_A "\xd7\1xxxxxxxx"), "msgpack: an extension (ext)" FIELD_A},
    {"fixext 16", BYTES (MAP_A "\xd8\1xxxxxxxxxxxxxxxx"), "msgpack: an extension (ext)" FIELD_A},

    {"name 1", BYTES ("\x81\1\1"), "msgpack: a field name that is not a string"},
    {"name nil", BYTES ("\x81\xc0\1"), "msgpack: a field name that is not a string"},
    {"name true", BYTES ("\x81\xc3\1"), "msgpack: a field name that is not a string"},
    {"name bin", BYTES ("\x81\xc4\1\x61\1"), "msgpack: a field name that is not a string"},
    {"name ext", BYTES ("\x81\xd4\1\x61\1"), "msgpack: a field name that is not a string"},
    {"name c1", BYTES ("\x81\xc1\1"), "msgpack: a field name that is not a string"},
    {"name array", BYTES ("\x81\x91\1\1"), "msgpack: a field name that is not a string"},
    {"name map", BYTES ("\x81\x80\1"), "msgpack: a field name that is not a string"},
    {"second name 1", BYTES ("\x82\xa1\x61\1\1\1"), "msgpack: a field name that is not a string"},
    {"name 1 inside", BYTES (MAP_A "\x81\1\1"), "msgpack: a field name that is not a string"},

    {"a name twice", BYTES ("\x82\xa1\x61\1\xa1\x61\1"), "msgpack: a duplicate name" FIELD_A},
    {"a name twice in two forms", BYTES ("\x82\xa1\x61\1\xda\0\1\x61\2"),
     "msgpack: a duplicate name" FIELD_A},
    {"a name twice, not in a row", BYTES ("\x83\xa1\x61\1\xa1\x62\1\xa1\x61\1"),
     "msgpack: a duplicate name" FIELD_A},
    {"a name twice inside", BYTES (MAP_A "\x82\xa1\x62\1\xa1\x62\2"),
     "msgpack: a duplicate name, in field 'b'"},
    {"no name twice", BYTES ("\x82\xa0\1\xa0\1"), "msgpack: a duplicate name, in field ''"},

    {"uint 64, int64 max plus one", BYTES (MAP_A "\xcf\x80\0\0\0\0\0\0\0"),
     "msgpack: an integer over 9223372036854775807" FIELD_A},
    {"uint 64, greatest", BYTES (MAP_A "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
     "msgpack: an integer over 9223372036854775807" FIELD_A},
    {"uint 64 in an array behind a map", BYTES (MAP_A "\x92\x81\xa1\x62\1\xcf\x80\0\0\0\0\0\0\0"),
     "msgpack: an integer over 9223372036854775807" FIELD_A},
    {"NaN", BYTES (MAP_A "\xcb\x7f\xf8\0\0\0\0\0\0"),
     "msgpack: a number that is not finite" FIELD_A},
    {"infinity", BYTES (MAP_A "\xcb\x7f\xf0\0\0\0\0\0\0"),
     "msgpack: a number that is not finite" FIELD_A},
    {"minus infinity", BYTES (MAP_A "\xcb\xff\xf0\0\0\0\0\0\0"),
     "msgpack: a number that is not finite" FIELD_A},
    {"NaN, float 32", BYTES (MAP_A "\xca\x7f\xc0\0\0"),
     "msgpack: a number that is not finite" FIELD_A},
    {"infinity, float 32", BYTES (MAP_A "\xca\x7f\x80\0\0"),
     "msgpack: a number that is not finite" FIELD_A},

    {"NUL", BYTES (MAP_A "\xa1\0"), "msgpack: a string with a NUL" FIELD_A},
    {"NUL inside", BYTES (MAP_A "\xa3x\0y"), "msgpack: a string with a NUL" FIELD_A},
    {"NUL in a name", BYTES ("\x81\xa3\x61\0\x62\1"),
     "msgpack: a string with a NUL, in field 'a\\x00b'"},
    {"bad UTF-8", BYTES (MAP_A "\xa1\xff"), NO_UTF8 FIELD_A},
    {"overlong", BYTES (MAP_A "\xa2\xc0\xaf"), NO_UTF8 FIELD_A},
    {"surrogate", BYTES (MAP_A "\xa3\xed\xa0\x80"), NO_UTF8 FIELD_A},
    {"over U+10FFFF", BYTES (MAP_A "\xa4\xf4\x90\x80\x80"), NO_UTF8 FIELD_A},
    {"cut character", BYTES (MAP_A "\xa2\xe2\x82"), NO_UTF8 FIELD_A},
    {"bad UTF-8 in an array", BYTES (MAP_A "\x92\1\xa1\x80"), NO_UTF8 FIELD_A},
    {"bad UTF-8 in a name", BYTES ("\x81\xa1\xc3\1"), NO_UTF8 ", in field '\\xc3'"},

    {"depth 17 by arrays", BYTES (MAP_A "\x91" ARRAYS_14 "\x90"), DEEP},
    {"depth 17 by maps", BYTES (MAPS_15 "\x81\xa0\x80"), DEEP},
    {"depth 17, not closed", BYTES (MAP_A "\x91" ARRAYS_14 "\x91\1"), DEEP},
    {"depth 17 in two places", BYTES (MAP_A "\x92\x91" ARRAYS_14 "\1\x91" ARRAYS_14 "\x91\1"),
     DEEP},

    {"map of 15", BYTES ("\x8f"), TOO_LARGE},
    {"map of one, without a value", BYTES ("\x81\xa0"), TOO_LARGE},
    {"map 16 of 65535", BYTES ("\xde\xff\xff\xa1\x61\1"), TOO_LARGE},
    {"map 32 of 2^28", BYTES ("\xdf\x10\0\0\0\xa1\x61\1"), TOO_LARGE},
    {"map 32 of 2^31", BYTES ("\xdf\x80\0\0\0\xa1\x61\1"), TOO_LARGE},
    {"map 32 of 2^32 - 1", BYTES ("\xdf\xff\xff\xff\xff\xa1\x61\1"), TOO_LARGE},
    {"map 32 of 2^28 inside", BYTES (MAP_A "\xdf\x10\0\0\0\xa1\x61\1"), TOO_LARGE FIELD_A},
    {"array of 15", BYTES (MAP_A "\x9f"), TOO_LARGE FIELD_A},
    {"array 16 of 65535", BYTES (MAP_A "\xdc\xff\xff\1\1"), TOO_LARGE FIELD_A},
    {"array 32 of 2^24", BYTES (MAP_A "\xdd\1\0\0\0\1\1"), TOO_LARGE FIELD_A},
    {"array 32 of 2^28", BYTES (MAP_A "\xdd\x10\0\0\0"), TOO_LARGE FIELD_A},
    {"array 32 of 2^32 - 1", BYTES (MAP_A "\xdd\xff\xff\xff\xff"), TOO_LARGE FIELD_A},
    {"array one too large", BYTES (MAP_A "\x93\1\1"), TOO_LARGE FIELD_A},
    {"str 8 of 255", BYTES (MAP_A "\xd9\xffx"), TOO_LARGE FIELD_A},
    {"str 16 of 65535", BYTES (MAP_A "\xda\xff\xffx"), TOO_LARGE FIELD_A},
    {"str 32 of 2^32 - 1", BYTES (MAP_A "\xdb\xff\xff\xff\xffx"), TOO_LARGE FIELD_A},
    {"name of 2^32 - 1", BYTES ("\x81\xdb\xff\xff\xff\xffx"), TOO_LARGE},
    {"nested claims of 2^24", BYTES (MAP_A "\xdd\1\0\0\0\xdd\1\0\0\0\xdd\1\0\0\0"),
     TOO_LARGE FIELD_A},
    {"nested claims of all that is left", BYTES (MAP_A "\x98\x97\x96\x95\x94\x93\x92\x91\1"),
     CUT FIELD_A},
    {"hostile name in the reason", BYTES ("\x81\xa4%s\n\x1b\xc1"),
     "msgpack: a byte c1, which has no meaning, in field '%s\\x0a\\x1b'"},
};

static void the_rest_is_refused_in_words (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (bad_rows); i++) {
        struct reason reason = {""};
        json_t *object = read_exact (bad_rows[i].bytes, &reason);
        CHECK (bad_rows[i].name, !object);
        CHECK_TEXT (bad_rows[i].name, reason.text, bad_rows[i].reason);
    }
}

static void maps_are_told_by_the_first_byte (void **state)
{
    (void)state;
    for (unsigned first = 0; first < 256; first++) {
        char name[8];
        snprintf (name, sizeof name, "%02x", first);
        uint8_t byte = (uint8_t)first;
        bool want = (first >= 0x80 && first <= 0x8f) || first == 0xde || first == 0xdf;
        CHECK (name, pack_is (span_of (&byte, 1)) == want);
    }
    assert_false (pack_is ((struct span){0}));
}

// Every form in one map.
static const uint8_t all_forms[] =
    "\xde\0\x10\xa1\x61\1\xa1\x62\xff\xa1\x63\xc0\xa1\x64\xc3\xa1\x65\xcc\x80\xa1\x66\xcd\1\0"
    "\xa1g\xce\0\1\0\0\xa1h\xcf\0\0\0\1\0\0\0\0\xa1i\xd0\x80\xa1j\xd1\x80\0\xa1k\xd2\x80\0\0\0"
    "\xa1l\xd3\x80\0\0\0\0\0\0\0\xa1m\xca\x3f\xc0\0\0\xd9\1n\xcb\x3f\xf8\0\0\0\0\0\0"
    "\xda\0\1o\xdc\0\3\xa3\xe6\x97\xa5\xd9\1x\xdd\0\0\0\1\x90"
    "\xdb\0\0\0\1p\xdf\0\0\0\2\xa1\x61\x81\xa0\xc2\xa1\x62\xda\0\2\xc3\xa9";
static const struct span whole = {all_forms, sizeof all_forms - 1};

static void a_map_cut_anywhere_is_refused (void **state)
{
    (void)state;
    struct reason reason = {""};
    json_t *object = read_exact (whole, &reason);
    assert_string_equal (reason.text, "");
    assert_int_equal (json_object_size (object), 16);
    json_decref (object);
    for (size_t size = 1; size < whole.size; size++) {
        assert_null (read_exact (span_of (whole.data, size), &reason));
        assert_memory_equal (reason.text, CUT, sizeof CUT - 1);
    }
}

static void a_frame_of_one_byte_again_and_again_is_refused (void **state)
{
    (void)state;
    enum { SIZE = 1 << 16 };
    uint8_t *bytes = malloc (SIZE);
    assert_non_null (bytes);
    for (unsigned byte = 0; byte < 256; byte++) {
        memset (bytes, (int)byte, SIZE);
        struct reason reason = {""};
        assert_null (pack_read_object (span_of (bytes, SIZE), &reason));
        assert_memory_equal (reason.text, "msgpack: ", 9);
        // These bytes as the value of a field.
        memcpy (bytes, MAP_A, 3);
        assert_null (pack_read_object (span_of (bytes, SIZE), &reason));
        assert_memory_equal (reason.text, "msgpack: ", 9);
    }
    free (bytes);
}

// -- chance

static json_t *random_value (uint64_t *random, unsigned depth);

static json_t *random_container (uint64_t *random, unsigned depth)
{
    bool is_map = next_random (random) % 2;
    json_t *container = is_map ? json_object () : json_array ();
    for (uint64_t count = next_random (random) % 20; count; count--) {
        char name[8];
        snprintf (name, sizeof name, "n%u", (unsigned)(next_random (random) % 1000));
        json_t *value = random_value (random, depth + 1);
        if (is_map)
            json_object_set_new (container, name, value);
        else
            json_array_append_new (container, value);
    }
    return container;
}

static json_t *random_value (uint64_t *random, unsigned depth)
{
    char text[64];
    size_t size;
    // Shifted, so that integers of each size occur.
    int64_t number = (int64_t)next_random (random) >> (next_random (random) % 64);
    switch (next_random (random) % (depth < 5 ? 7 : 5)) {
    case 0:
        return json_null ();
    case 1:
        return json_boolean (number % 2);
    case 2:
        return json_integer (number);
    case 3:
        return json_real ((double)number / 256);
    case 4:
        size = next_random (random) % sizeof text;
        for (size_t i = 0; i < size; i++)
            text[i] = (char)(1 + next_random (random) % 127);
        return json_stringn (text, size);
    default:
        return random_container (random, depth);
    }
}

static void random_objects_come_back (void **state)
{
    (void)state;
    uint64_t random = 362436069362436069U;
    for (int round = 0; round < 3000; round++) {
        json_t *object = json_pack ("{so}", "x", random_value (&random, 1));
        size_t size = 0;
        char *bytes = pack_write (object, &size);
        struct reason reason = {""};
        json_t *again = read_exact (span_of (bytes, size), &reason);
        if (!json_equal (object, again))
            fail_msg ("round %d: %s", round, reason.text);
        json_decref (again);
        json_decref (object);
        free (bytes);
    }
}

enum { NOISE_MAX = 256 };

// Change, insert or remove one byte, or cut the end. Returns the new size.
static size_t mutate (uint8_t *bytes, size_t size, uint64_t *random)
{
    size_t at = next_random (random) % (size + 1);
    // Half of the new bytes are c0 or larger: most of these forms have counts.
    uint64_t drawn = next_random (random) >> 16;
    uint8_t byte = (uint8_t)(drawn & 0x100 ? 0xc0 | (drawn & 0x1f) : drawn);
    switch (next_random (random) % 8) {
    case 0:
        return at;
    case 1:
        if (at < size)
            memmove (bytes + at, bytes + at + 1, size - at - 1);
        return at < size ? size - 1 : size;
    case 2:
        if (size == NOISE_MAX)
            return size;
        memmove (bytes + at + 1, bytes + at, size - at);
        bytes[at] = byte;
        return size + 1;
    default:
        if (at < size)
            bytes[at] = byte;
        return size;
    }
}

// If the bytes are read, the value must be the same after writing and reading; else there is a
// reason.
static void check_noise (int round, struct span bytes, unsigned counts[2])
{
    struct reason reason = {""};
    json_t *object = read_exact (bytes, &reason);
    counts[object != NULL]++;
    if (!object) {
        if (strncmp (reason.text, "msgpack: ", 9) != 0)
            fail_msg ("round %d: \"%s\"", round, reason.text);
        return;
    }
    size_t size = 0;
    char *written = pack_write (object, &size);
    json_t *again = read_exact (span_of (written, size), &reason);
    if (!json_equal (object, again))
        fail_msg ("round %d: read, but not again: %s", round, reason.text);
    free (written);
    json_decref (again);
    json_decref (object);
}

static void mutated_maps_are_read_or_refused (void **state)
{
    (void)state;
    enum { ROUNDS = 200000 };
    uint64_t random = 88172645463325252U;
    unsigned counts[2] = {0, 0};
    for (int round = 0; round < ROUNDS; round++) {
        uint8_t bytes[NOISE_MAX];
        const struct span *seed = round % 2 ? &whole : &rows[(size_t)round / 2 % ROWS (rows)].bytes;
        size_t size = seed->size;
        memcpy (bytes, seed->data, size);
        for (uint64_t times = 1 + next_random (&random) % 4; times; times--)
            size = mutate (bytes, size, &random);
        check_noise (round, span_of (bytes, size), counts);
    }
    // Neither is rare, so both were tested.
    assert_true (counts[false] > ROUNDS / 4);
    assert_true (counts[true] > ROUNDS / 20);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (values_go_there_and_back),
        cmocka_unit_test (any_value_is_written),
        cmocka_unit_test (sizes_choose_the_form),
        cmocka_unit_test (other_forms_are_read),
        cmocka_unit_test (the_rest_is_refused_in_words),
        cmocka_unit_test (maps_are_told_by_the_first_byte),
        cmocka_unit_test (a_map_cut_anywhere_is_refused),
        cmocka_unit_test (a_frame_of_one_byte_again_and_again_is_refused),
        cmocka_unit_test (random_objects_come_back),
        cmocka_unit_test (mutated_maps_are_read_or_refused),
    };
    return cmocka_run_group_tests_name ("pack", tests, NULL, NULL);
}
