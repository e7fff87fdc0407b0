// The base layer: ids, the heap of deadlines, reasons, settings and owned frames.
#include <inttypes.h>
#include <time.h>

#include "decimal.h"
#include "frames.h"
#include "heap.h"
#include "ident.h"
#include "rows.h"
#include "duration.h"
#include "settings.h"

// -- ids

static const struct ident_row {
    const char *name;
    struct span text;
    bool good;
    uint64_t id;
    const char *canonical; // NULL: the text itself
} ident_rows[] = {
    {"one digit", BYTES ("1"), true, 1, NULL},
    {"all lower digits", BYTES ("123456789abcdef"), true, 0x123456789abcdef, NULL},
    {"upper case", BYTES ("ABCDEF"), true, 0xabcdef, "abcdef"},
    {"mixed case", BYTES ("aBcD"), true, 0xabcd, "abcd"},
    {"padded", BYTES ("000000000000001f"), true, 0x1f, "1f"},
    {"greatest", BYTES ("7fffffffffffffff"), true, INT64_MAX, NULL},
    {"greatest plus one", BYTES ("8000000000000000"), false, 0, NULL},
    {"all ones", BYTES ("ffffffffffffffff"), false, 0, NULL},
    {"zero", BYTES ("0"), false, 0, NULL},
    {"sixteen zeros", BYTES ("0000000000000000"), false, 0, NULL},
    {"empty", BYTES (""), false, 0, NULL},
    {"seventeen digits", BYTES ("00000000000000001"), false, 0, NULL},
    {"prefix 0x", BYTES ("0x1"), false, 0, NULL},
    {"sign", BYTES ("-1"), false, 0, NULL},
    {"plus", BYTES ("+1"), false, 0, NULL},
    {"space before", BYTES (" 1"), false, 0, NULL},
    {"space behind", BYTES ("1 "), false, 0, NULL},
    {"NUL behind", BYTES ("1\0"), false, 0, NULL},
    {"letter after f", BYTES ("1g"), false, 0, NULL},
    {"at sign, before A", BYTES ("1@"), false, 0, NULL},
    {"grave, before a", BYTES ("1`"), false, 0, NULL},
    {"colon, after 9", BYTES ("1:"), false, 0, NULL},
    {"slash, before 0", BYTES ("1/"), false, 0, NULL},
    {"0x10 with bit 5 set is 0", BYTES ("1\x10"), false, 0, NULL},
    {"high bytes", BYTES ("\xff\xfe"), false, 0, NULL},
};

static void ident_reads_and_writes_hex (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (ident_rows); i++) {
        const struct ident_row *row = &ident_rows[i];
        uint8_t *bytes = exact_bytes (row->text);
        uint64_t id = 4711;
        bool good = ident_parse (span_of (bytes, row->text.size), &id);
        free (bytes);
        CHECK (row->name, good == row->good);
        CHECK (row->name, id == (row->good ? row->id : 4711));
        if (!good)
            continue;
        char text[IDENT_SIZE], wanted[IDENT_SIZE] = "";
        if (!row->canonical)
            memcpy (wanted, row->text.data, row->text.size);
        CHECK_TEXT (row->name, ident_text (id, text), row->canonical ? row->canonical : wanted);
    }
}

static void ident_is_written_as_by_printf (void **state)
{
    (void)state;
    uint64_t random = 88172645463325252U;
    for (int i = 0; i < 10000; i++) {
        // An id of each length, and 0.
        uint64_t id = i < 65 ? (i ? UINT64_MAX >> (i - 1) : 0) : next_random (&random) >> i % 64;
        char text[IDENT_SIZE], want[IDENT_SIZE];
        snprintf (want, sizeof want, "%" PRIx64, id);
        CHECK_TEXT (want, ident_text (id, text), want);
    }
}

// -- the heap

enum { HEAP_NODES = 200, HEAP_STEPS = 20000 };

static void heap_keeps_the_smallest_first (void **state)
{
    (void)state;
    struct heap heap = {0};
    struct heap_node nodes[5] = {{0}};
    static const int64_t keys[5] = {30, -10, 20, INT64_MAX, INT64_MIN};
    assert_null (heap_first (&heap));
    heap_remove (&heap, &nodes[0]); // not in: nothing happens
    for (size_t i = 0; i < 5; i++)
        heap_set (&heap, &nodes[i], keys[i]);
    assert_ptr_equal (heap_first (&heap), &nodes[4]);
    heap_set (&heap, &nodes[4], 25); // moved down
    assert_ptr_equal (heap_first (&heap), &nodes[1]);
    heap_set (&heap, &nodes[3], -11); // moved up
    static const size_t order[5] = {3, 1, 2, 4, 0};
    for (size_t i = 0; i < 5; i++) {
        assert_ptr_equal (heap_first (&heap), &nodes[order[i]]);
        heap_remove (&heap, &nodes[order[i]]);
        heap_remove (&heap, &nodes[order[i]]);
        assert_int_equal (nodes[order[i]].position, 0);
    }
    assert_null (heap_first (&heap));
    heap_free (&heap);
    assert_null (heap.nodes);
}

// More than any counter of the owner's would tell apart in a key, and where the heap's own begins
// anew.
static void heap_keeps_the_order_of_equal_keys (void **state)
{
    enum { EQUAL = 3000 };
    static const uint32_t starts[] = {0, UINT32_MAX - EQUAL / 2};
    (void)state;
    struct heap_node *nodes = calloc (EQUAL, sizeof *nodes);
    assert_non_null (nodes);
    for (size_t k = 0; k < ROWS (starts); k++) {
        struct heap heap = {.turns = starts[k]};
        for (size_t i = 0; i < EQUAL; i++)
            heap_set (&heap, &nodes[i], i % 3 ? 7 : 8);
        for (size_t i = 0; i < EQUAL; i++) {
            size_t of_seven = i + i / 2 + 1, of_eight = (i - EQUAL / 3 * 2) * 3;
            size_t expected = i < EQUAL / 3 * 2 ? of_seven : of_eight;
            assert_int_equal (heap_first (&heap) - nodes, expected);
            heap_remove (&heap, heap_first (&heap));
        }
        heap_free (&heap);
    }
    free (nodes);
}

static int compare_keys (const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

// The keys of the nodes in the heap, in the order in which the heap must return them.
static size_t sorted_keys (const struct heap_node *nodes, int64_t keys[HEAP_NODES])
{
    size_t count = 0;
    for (size_t i = 0; i < HEAP_NODES; i++)
        if (nodes[i].position)
            keys[count++] = nodes[i].at;
    qsort (keys, count, sizeof *keys, compare_keys);
    return count;
}

static void heap_is_as_a_sorted_array (void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time (NULL) | 1, random = seed * 2654435761U | 1;
    struct heap heap = {0};
    struct heap_node nodes[HEAP_NODES] = {{0}};
    int64_t keys[HEAP_NODES];
    char name[64];
    snprintf (name, sizeof name, "heap, seed %" PRIu64, seed);

    for (size_t step = 0; step < HEAP_STEPS; step++) {
        struct heap_node *node = &nodes[next_random (&random) % HEAP_NODES];
        if (next_random (&random) % 3 == 0)
            heap_remove (&heap, node);
        else
            heap_set (&heap, node, (int64_t)(next_random (&random) % 300));
        if (step % 50 == 0) {
            size_t count = sorted_keys (nodes, keys);
            CHECK_INT (name, heap.count, count);
            CHECK (name, count == 0 || heap_first (&heap)->at == keys[0]);
        }
    }
    size_t count = sorted_keys (nodes, keys);
    for (size_t i = 0; i < count; i++) {
        CHECK (name, heap_first (&heap) != NULL);
        CHECK_INT (name, heap_first (&heap)->at, keys[i]);
        heap_remove (&heap, heap_first (&heap));
    }
    CHECK (name, heap_first (&heap) == NULL);
    heap_free (&heap);
}

// -- reasons

// The text is `before` bytes of "x" and then the character, as often as there is room.
static const struct cut_row {
    const char *name;
    size_t before;
    const char *character;
    size_t shown_min, shown_max; // bytes kept
} cut_rows[] = {
    {"short", 10, "", 10, 10},
    {"fits exactly", 199, "", 199, 199},
    {"one byte too long", 200, "", 199, 199},
    {"far too long", 2000, "", 199, 199},
    {"2 bytes, cut in the middle", 198, "\xc3\xa9", 198, 198},
    {"2 bytes, fits exactly", 197, "\xc3\xa9", 199, 199},
    {"3 bytes, one fits", 198, "\xe2\x82\xac", 198, 198},
    {"3 bytes, two fit", 197, "\xe2\x82\xac", 197, 197},
    {"3 bytes, all fit", 196, "\xe2\x82\xac", 199, 199},
    {"4 bytes, one fits", 198, "\xf0\x9f\x98\x80", 198, 198},
    {"4 bytes, two fit", 197, "\xf0\x9f\x98\x80", 197, 197},
    {"4 bytes, three fit", 196, "\xf0\x9f\x98\x80", 196, 196},
    {"4 bytes, all fit", 195, "\xf0\x9f\x98\x80", 199, 199},
};

static void reason_is_cut_between_characters (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (cut_rows); i++) {
        const struct cut_row *row = &cut_rows[i];
        char text[2100];
        struct reason reason;
        memset (text, 'x', row->before);
        memcpy (text + row->before, row->character, strlen (row->character) + 1);
        reason_set (&reason, "%s", text);
        size_t size = strlen (reason.text);
        CHECK (row->name, size >= row->shown_min && size <= row->shown_max);
        CHECK (row->name, strncmp (reason.text, text, size) == 0);
    }
}

static void reason_of_characters_only_is_cut_between_them (void **state)
{
    (void)state;
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < ROWS (characters); i++) {
        for (size_t before = 0; before < 8; before++) {
            char text[800];
            size_t width = strlen (characters[i]), size = before;
            memset (text, 'x', before);
            for (; size + width < sizeof text; size += width)
                memcpy (text + size, characters[i], width);
            struct reason reason;
            reason_set (&reason, "%.*s", (int)size, text);
            size_t kept = strlen (reason.text);
            CHECK_INT (characters[i], (kept - before) % width, 0);
            CHECK (characters[i], kept < REASON_MAX && kept + 2 * width >= REASON_MAX - 1);
        }
    }
}

// -- quoted

static const struct quoted_row {
    const char *name;
    struct span bytes;
    const char *text;
} quoted_rows[] = {
    {"plain", BYTES ("abc XYZ 09 ~!"), "'abc XYZ 09 ~!'"},
    {"empty", BYTES (""), "''"},
    {"no bytes", {NULL, 0}, "''"},
    {"NUL inside", BYTES ("a\0b"), "'a\\x00b'"},
    {"control", BYTES ("\t\n\r\x1b\x7f"), "'\\x09\\x0a\\x0d\\x1b\\x7f'"},
    {"quotes", BYTES ("'\""), "'\\x27\\x22'"},
    {"backslash is told from an escape", BYTES ("\\x00"), "'\\x5cx00'"},
    {"no UTF-8", BYTES ("\xff\xc3("), "'\\xff\\xc3('"},
    {"percent is no format", BYTES ("%s%n"), "'%s%n'"},
    {"64 bytes are all shown",
     BYTES ("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"),
     "'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'"},
    {"of 65 the last is not",
     BYTES ("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"),
     "'0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef...'"},
};

static void quoted_shows_any_bytes (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (quoted_rows); i++) {
        const struct quoted_row *row = &quoted_rows[i];
        uint8_t *bytes = exact_bytes (row->bytes);
        CHECK_TEXT (row->name, quoted (span_of (bytes, row->bytes.size)), row->text);
        free (bytes);
    }
    uint8_t worst[1000];
    memset (worst, 0xFF, sizeof worst);
    assert_int_equal (strlen (quoted (span_of (worst, sizeof worst))), 64 * 4 + 2 + 3);
    const char *texts[8];
    for (size_t i = 0; i < 8; i++)
        texts[i] = quoted (span_of ("01234567" + i, 1));
    for (size_t i = 0; i < 8; i++)
        assert_int_equal (texts[i][1], '0' + (int)i);
}

// -- settings

static const struct number_row {
    const char *text;
    bool good;
    int64_t number;
} number_rows[] = {
    {"0", true, 0},
    {"7", true, 7},
    {"-7", true, -7},
    {"007", true, 7},
    {"-0", true, 0},
    {"9223372036854775807", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0},
    {"-9223372036854775809", false, 0},
    {"99999999999999999999999", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {"--1", false, 0},
    {"+1", false, 0},
    {" 1", false, 0},
    {"- 1", false, 0},
    {"1 ", false, 0},
    {"1\n", false, 0},
    {"0x10", false, 0},
    {"1.0", false, 0},
    {"1e3", false, 0},
    {"1k", false, 0},
    {"one", false, 0},
};

static void number_parse_takes_whole_decimal_text (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (number_rows); i++) {
        const struct number_row *row = &number_rows[i];
        int64_t number = 4711;
        CHECK (row->text, number_parse (row->text, &number) == row->good);
        CHECK (row->text, number == (row->good ? row->number : 4711));
    }
}

struct values {
    char text[SETTING_TEXT_MAX];
    int64_t number;
    bool flag;
    size_t listed;
};

static int add_listed (void *values, const char *text, struct reason *reason)
{
    if (strcmp (text, "bad") == 0) {
        reason_set (reason, "list: is bad");
        return -1;
    }
    ((struct values *)values)->listed++;
    return 0;
}

static void duration_count_takes_numbers_and_durations (void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t unit_ms, count; // count -1: it is none
    } rows[] = {
        {"90", 1000, 90},
        {"90", 1, 90},
        {"90s", 1000, 90},
        {"5m", 1000, 300},
        {"1h30m", 1, 5400000},
        {"500ms", 1, 500},
        {"2d", 1000, 172800},
        {"3000ms", 1000, 3},
        {"500ms", 1000, -1},
        {"5x", 1000, -1},
        {"", 1, -1},
        {"s", 1, -1},
        {"5 s", 1, -1},
        {"5ms1s", 1, -1},
        {"ms", 1, -1},
        {"1.5s", 1, -1},
        {"9999999999999d", 1000, -1},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        int64_t count = -1;
        bool good = duration_count (rows[i].text, rows[i].unit_ms, &count);
        CHECK_INT (rows[i].text, good, rows[i].count >= 0);
        if (good)
            CHECK_INT (rows[i].text, count, rows[i].count);
    }
}

static void durations_as_they_are_typed (void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {{0, "0s"},      {59, "59s"},
                {60, "1m"},     {90, "1m30s"},
                {3600, "1h"},   {5400, "1h30m"},
                {86400, "1d"},  {90061, "1d1h1m1s"},
                {604800, "7d"}, {DURATION_MAX_S, "2932896d23h59m59s"}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        char text[DURATION_SIZE];
        int64_t again = -1;
        CHECK (rows[i].text, strcmp (duration_option (rows[i].seconds, text), rows[i].text) == 0);
        CHECK (rows[i].text, duration_seconds (text, &again));
        CHECK_INT (rows[i].text, again, rows[i].seconds);
    }
}

static const struct setting setting_rows[] = {
    {"text", "--text", "TEXT", "some", SETTING_TEXT, offsetof (struct values, text), 0, 0, NULL,
     ""},
    {"number", "--number", "N", "5", SETTING_NUMBER, offsetof (struct values, number), -5, 10, NULL,
     ""},
    {"flag", "--flag", NULL, "1", SETTING_FLAG, offsetof (struct values, flag), 0, 0, NULL, ""},
    {"list", NULL, "ITEM", NULL, SETTING_LIST, 0, 0, 0, add_listed, ""},
};
static const struct setting_table settings = {setting_rows, ROWS (setting_rows)};

static const struct set_row {
    const char *setting, *text;
    const char *reason; // what it starts with; NULL: it is taken
} set_rows[] = {
    {"text", "", NULL},
    {"text", "other", NULL},
    {"number", "-5", NULL},
    {"number", "10", NULL},
    {"number", "-6", "number: want a number -5..10, got '-6'"},
    {"number", "11", "number: want a number -5..10, got '11'"},
    {"number", "", "number: want a number -5..10, got ''"},
    {"number", "5 ", "number: want a number -5..10, got '5 '"},
    {"flag", "0", NULL},
    {"flag", "1", NULL},
    {"flag", "yes", "flag: want 0 or 1, got 'yes'"},
    {"flag", "", "flag: want 0 or 1, got ''"},
    {"flag", "01", "flag: want 0 or 1, got '01'"},
    {"list", "good", NULL},
    {"list", "bad", "list: is bad"},
};

static void settings_are_found_and_set (void **state)
{
    (void)state;
    struct values values = {.listed = 0};
    settings_reset (&settings, &values);
    assert_string_equal (values.text, "some");
    assert_int_equal (values.number, 5);
    assert_true (values.flag);
    assert_int_equal (values.listed, 0);
    for (size_t i = 0; i < ROWS (set_rows); i++) {
        const struct set_row *row = &set_rows[i];
        struct reason reason = {""};
        struct values before = values;
        int rc =
            setting_set (settings_named (&settings, row->setting), &values, row->text, &reason);
        CHECK_INT (row->text, rc, row->reason ? -1 : 0);
        CHECK_TEXT (row->text, reason.text, row->reason ? row->reason : "");
        CHECK (row->text, !row->reason || memcmp (&before, &values, sizeof values) == 0);
    }
    assert_string_equal (values.text, "other");
    assert_int_equal (values.number, 10);
    assert_true (values.flag);
    assert_int_equal (values.listed, 1);
}

static void settings_of_unknown_names_are_none (void **state)
{
    (void)state;
    assert_null (settings_named (&settings, "numbe"));
    assert_null (settings_named (&settings, "Number"));
    assert_null (settings_named (&settings, ""));
    assert_null (settings_named (&settings, "--number"));
    assert_null (settings_option (&settings, "number"));
    assert_null (settings_option (&settings, ""));
    assert_ptr_equal (settings_option (&settings, "--number"), &setting_rows[1]);
    assert_ptr_equal (settings_named (&settings, "list"), &setting_rows[3]);
}

static void settings_bound_their_text (void **state)
{
    (void)state;
    struct values values = {.number = 4711};
    struct reason reason = {""};
    char text[SETTING_TEXT_MAX + 1];
    memset (text, 'a', sizeof text);
    text[SETTING_TEXT_MAX] = '\0';
    assert_int_equal (setting_set (&setting_rows[0], &values, text, &reason), -1);
    assert_string_equal (reason.text, "text: at most 511 bytes");
    assert_string_equal (values.text, "");
    text[SETTING_TEXT_MAX - 1] = '\0';
    assert_int_equal (setting_set (&setting_rows[0], &values, text, &reason), 0);
    assert_string_equal (values.text, text);
    assert_int_equal (values.number, 4711);
}

// -- decimal

static void decimal_is_written_as_by_printf (void **state)
{
    (void)state;
    uint64_t seed = 7;
    int64_t edges[] = {0, 1, 9, 10, 11, 99, 100, 101, 999999, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (size_t i = 0; i < 20000; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        int64_t value = i < sizeof edges / sizeof *edges ? edges[i] : (int64_t)seed >> seed % 64;
        for (int sign = 0; sign < 2 && value > INT64_MIN; sign++, value = -value) {
            char out[DECIMAL_SIZE], wanted[32];
            snprintf (wanted, sizeof wanted, "%" PRId64, value);
            assert_int_equal (decimal_text (value, out), strlen (wanted));
            assert_string_equal (out, wanted);
        }
    }
    char out[DECIMAL_SIZE];
    for (int64_t power = 1;; power *= 10) { // where another digit begins
        for (int64_t value = power - 1; value <= power; value++) {
            char wanted[32];
            snprintf (wanted, sizeof wanted, "%" PRId64, value);
            assert_int_equal (decimal_text (value, out), strlen (wanted));
            assert_string_equal (out, wanted);
        }
        if (power > INT64_MAX / 10)
            break;
    }
    assert_int_equal (decimal_text (INT64_MIN, out), 20);
    assert_string_equal (out, "-9223372036854775808");
}

// -- frames

static void frames_copy_owns_its_bytes (void **state)
{
    (void)state;
    char first[] = "first", third[] = "\0third";
    const struct span frames[] = {span_text (first), {NULL, 0}, span_of (third, 6), {NULL, 0}};
    struct frames *copy = frames_copy (frames, 4);
    memset (first, 'x', 5);
    memset (third, 'x', 6);
    assert_int_equal (copy->count, 4);
    assert_true (span_is (copy->at[0], "first"));
    assert_int_equal (copy->at[1].size, 0);
    assert_true (span_equal (copy->at[2], span_of ("\0third", 6)));
    assert_int_equal (copy->at[3].size, 0);
    free (copy);
    copy = frames_copy (NULL, 0);
    assert_int_equal (copy->count, 0);
    free (copy);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (ident_reads_and_writes_hex),
        cmocka_unit_test (ident_is_written_as_by_printf),
        cmocka_unit_test (heap_keeps_the_smallest_first),
        cmocka_unit_test (heap_keeps_the_order_of_equal_keys),
        cmocka_unit_test (heap_is_as_a_sorted_array),
        cmocka_unit_test (reason_is_cut_between_characters),
        cmocka_unit_test (reason_of_characters_only_is_cut_between_them),
        cmocka_unit_test (quoted_shows_any_bytes),
        cmocka_unit_test (number_parse_takes_whole_decimal_text),
        cmocka_unit_test (duration_count_takes_numbers_and_durations),
        cmocka_unit_test (durations_as_they_are_typed),
        cmocka_unit_test (settings_are_found_and_set),
        cmocka_unit_test (settings_of_unknown_names_are_none),
        cmocka_unit_test (settings_bound_their_text),
        cmocka_unit_test (decimal_is_written_as_by_printf),
        cmocka_unit_test (frames_copy_owns_its_bytes),
    };
    return cmocka_run_group_tests_name ("base", tests, NULL, NULL);
}
