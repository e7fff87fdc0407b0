// Reading the messages of a MicroZero center: answers of real ones, and malformed ones.
#include "center.h"
#include "rows.h"

static struct found_list list; // large

static int read_frames (const struct span *frames, size_t count, struct reason *reason)
{
    uint8_t *copies[8];
    struct span exact[8] = {{0}};
    for (size_t i = 0; i < count; i++) {
        copies[i] = exact_bytes (frames[i]);
        exact[i] = span_of (copies[i], frames[i].size);
    }
    memset (&list, 0xA5, sizeof list);
    reason->text[0] = '\0';
    int rc = center_list_read (exact, count, "10.0.0.7", &list, reason);
    for (size_t i = 0; i < count; i++)
        free (copies[i]);
    return rc;
}

// -- the frames around the list

#define TEST_STATION "{\"name\":\"Test\",\"station_type\":3,\"request_port\":18008}"
#define PLAIN_DESC   BYTES ("\1\1\3\0")

static const struct frames_row {
    const char *name;
    size_t count;
    struct span frames[4];
    bool good;
} frames_rows[] = {
    {"1.0", 2, {PLAIN_DESC, BYTES ("[" TEST_STATION "]")}, true},
    {"without END", 2, {BYTES ("\1\1\3"), BYTES ("[" TEST_STATION "]")}, true},
    {"1.5",
     3,
     {BYTES ("\2\1\1\3\xfe\0\0\0\0\0"), BYTES ("281474976710657"), BYTES ("[" TEST_STATION "]")},
     true},
    {"other frames before and after",
     4,
     {BYTES ("\3\1\4\3>\0"), BYTES ("r"), BYTES ("[" TEST_STATION "]"), BYTES ("me")},
     true},
    {"padded with NUL", 2, {PLAIN_DESC, BYTES ("[" TEST_STATION "]\0\0\0")}, true},
    {"nothing but NUL", 2, {PLAIN_DESC, BYTES ("\0\0\0")}, false},
    {"empty", 2, {PLAIN_DESC, BYTES ("")}, false},
    {"an object", 2, {PLAIN_DESC, BYTES (TEST_STATION)}, false},
    {"a duplicate field", 2, {PLAIN_DESC, BYTES ("[{\"name\":\"a\",\"name\":\"a\"}]")}, false},
    {"something behind", 2, {PLAIN_DESC, BYTES ("[" TEST_STATION "] x")}, false},
    {"NUL inside", 2, {PLAIN_DESC, BYTES ("[" TEST_STATION "\0]")}, false},
    {"depth 17", 2, {PLAIN_DESC, BYTES ("[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]")}, false},
    {"not OK", 2, {BYTES ("\1\x80\3\0"), BYTES ("[" TEST_STATION "]")}, false},
    {"denied", 1, {BYTES ("\0\xf9\xfe\0\0\0\0\0\0\0")}, false},
    {"no such command, seed", 1, {BYTES ("\0\x84\0")}, false},
    {"OK without a list", 1, {BYTES ("\0\1\0")}, false},
    {"a list of another type", 2, {BYTES ("\1\1J\0"), BYTES ("[" TEST_STATION "]")}, false},
    {"count too large", 2, {BYTES ("\2\1\3\0"), BYTES ("[" TEST_STATION "]")}, false},
    {"count too small", 3, {PLAIN_DESC, BYTES ("[]"), BYTES ("")}, false},
    {"an identity before it", 3, {BYTES ("me"), PLAIN_DESC, BYTES ("[]")}, false},
    {"an empty frame before it", 3, {BYTES (""), PLAIN_DESC, BYTES ("[]")}, false},
    {"one empty frame", 1, {BYTES ("")}, false},
    {"one byte", 1, {BYTES ("\0")}, false},
    {"no frames", 0, {BYTES ("")}, false},
};

static void answers_are_read_by_frame_type (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (frames_rows); i++) {
        const struct frames_row *row = &frames_rows[i];
        struct reason reason;
        int rc = read_frames (row->frames, row->count, &reason);
        CHECK (row->name, (rc == 0) == row->good);
        CHECK (row->name, row->good || reason.text[0]);
        if (!row->good)
            continue;
        CHECK_INT (row->name, list.count, 1);
        CHECK_INT (row->name, list.left_out, 0);
        CHECK_TEXT (row->name, list.at[0].name, "Test");
        CHECK_TEXT (row->name, list.at[0].endpoint, "tcp://10.0.0.7:18008");
        CHECK_INT (row->name, list.at[0].type, TARGET_API);
    }
}

// -- one station

#define NAME_64 "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd"

static const struct station_row {
    const char *name, *json;
    const char *found; // "name type endpoint"; NULL: the station is ignored
    bool seed;
} station_rows[] = {
    {"api of 1.0",
     "{\"station_type\":3,\"request_port\":18008,\"worker_in_port\":18010,\"worker_out_port\":"
     "18009,"
     "\"name\":\"Test\",\"short_name\":\"tst\",\"description\":\"\xe6\xb5\x8b\",\"station_alias\":"
     "[\"T\"],\"station_state\":3,\"request_in\":7}",
     "Test api tcp://10.0.0.7:18008", false},
    {"api of the seed",
     "{\"station_name\":\"Test\",\"station_state\":3,\"short_name\":\"tst\",\"station_type\":3,"
     "\"request_port\":18008}",
     "Test api tcp://10.0.0.7:18008", true},
    {"pub", "{\"name\":\"News\",\"station_type\":2,\"request_port\":1}",
     "News pub tcp://10.0.0.7:1", false},
    {"queue", "{\"name\":\"Q\",\"station_type\":6,\"request_port\":65535}",
     "Q pub tcp://10.0.0.7:65535", false},
    {"vote", "{\"name\":\"V\",\"station_type\":4,\"request_port\":9}", "V vote tcp://10.0.0.7:9",
     false},
    {"longest name", "{\"name\":\"" NAME_64 "\",\"station_type\":3,\"request_port\":9}",
     NAME_64 " api tcp://10.0.0.7:9", false},

    {"the center itself", "{\"name\":\"S\",\"station_type\":1,\"request_port\":9}", NULL, false},
    {"plans", "{\"name\":\"S\",\"station_type\":255,\"request_port\":9}", NULL, false},
    {"base station", "{\"name\":\"S\",\"is_base\":true,\"station_type\":2,\"request_port\":9}",
     NULL, false},
    {"HealthCenter of the seed, which has no is_base",
     "{\"station_name\":\"HealthCenter\",\"station_type\":2,\"request_port\":9}", NULL, true},
    {"RemoteLog of the seed",
     "{\"station_name\":\"RemoteLog\",\"station_type\":2,\"request_port\":9}", NULL, true},
    {"RemoteLog as a user's name", "{\"name\":\"RemoteLog\",\"station_type\":2,\"request_port\":9}",
     "RemoteLog pub tcp://10.0.0.7:9", false},
    {"no base station", "{\"name\":\"S\",\"is_base\":false,\"station_type\":2,\"request_port\":9}",
     "S pub tcp://10.0.0.7:9", false},
    {"routing api", "{\"name\":\"S\",\"station_type\":5,\"request_port\":9}", NULL, false},
    {"trace", "{\"name\":\"S\",\"station_type\":253,\"request_port\":9}", NULL, false},
    {"proxy", "{\"name\":\"S\",\"station_type\":254,\"request_port\":9}", NULL, false},
    {"type 0", "{\"name\":\"S\",\"station_type\":0,\"request_port\":9}", NULL, false},
    {"no type", "{\"name\":\"S\",\"request_port\":9}", NULL, false},
    {"type as text", "{\"name\":\"S\",\"station_type\":\"3\",\"request_port\":9}", NULL, false},
    {"type of 3 and 2^32", "{\"name\":\"S\",\"station_type\":4294967299,\"request_port\":9}", NULL,
     false},

    {"paused", "{\"name\":\"S\",\"station_type\":3,\"request_port\":9,\"station_state\":4}",
     "S api tcp://10.0.0.7:9", false},
    {"closed", "{\"name\":\"S\",\"station_type\":3,\"request_port\":9,\"station_state\":7}",
     "S api tcp://10.0.0.7:9", false},
    {"destroyed", "{\"name\":\"S\",\"station_type\":3,\"request_port\":9,\"station_state\":8}",
     NULL, false},
    {"stopped", "{\"name\":\"S\",\"station_type\":3,\"request_port\":9,\"station_state\":9}",
     "S api tcp://10.0.0.7:9", false},
    {"uninstalled, seed",
     "{\"station_name\":\"S\",\"station_type\":3,\"request_port\":9,\"station_state\":9}", NULL,
     true},
    {"state unknown", "{\"name\":\"S\",\"station_type\":3,\"request_port\":9,\"station_state\":10}",
     "S api tcp://10.0.0.7:9", false},

    {"no port", "{\"name\":\"S\",\"station_type\":3}", NULL, false},
    {"port 0", "{\"name\":\"S\",\"station_type\":3,\"request_port\":0}", NULL, false},
    {"port negative", "{\"name\":\"S\",\"station_type\":3,\"request_port\":-1}", NULL, false},
    {"port too large", "{\"name\":\"S\",\"station_type\":3,\"request_port\":65536}", NULL, false},
    {"port as text", "{\"name\":\"S\",\"station_type\":3,\"request_port\":\"9\"}", NULL, false},
    {"port real", "{\"name\":\"S\",\"station_type\":3,\"request_port\":9.0}", NULL, false},
    {"port true", "{\"name\":\"S\",\"station_type\":3,\"request_port\":true}", NULL, false},

    {"no name", "{\"station_type\":3,\"request_port\":9}", NULL, false},
    {"empty name", "{\"name\":\"\",\"station_type\":3,\"request_port\":9}", NULL, false},
    {"name too long", "{\"name\":\"" NAME_64 "e\",\"station_type\":3,\"request_port\":9}", NULL,
     false},
    {"name with a space", "{\"name\":\"a b\",\"station_type\":3,\"request_port\":9}", NULL, false},
    {"name with a colon", "{\"name\":\"a:b\",\"station_type\":3,\"request_port\":9}", NULL, false},
    {"name with a star", "{\"name\":\"*\",\"station_type\":3,\"request_port\":9}", NULL, false},
    {"name with a newline", "{\"name\":\"a\\nb\",\"station_type\":3,\"request_port\":9}", NULL,
     false},
    {"name not ASCII", "{\"name\":\"\xe6\xb5\x8b\",\"station_type\":3,\"request_port\":9}", NULL,
     false},
    {"name a number", "{\"name\":7,\"station_type\":3,\"request_port\":9}", NULL, false},
    {"name null", "{\"name\":null,\"station_name\":\"S\",\"station_type\":3,\"request_port\":9}",
     NULL, false},
    {"a number", "7", NULL, false},
    {"an array", "[3]", NULL, false},
    {"null", "null", NULL, false},
    {"an empty object", "{}", NULL, false},
};

static void stations_that_can_be_targets_are_taken (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (station_rows); i++) {
        const struct station_row *row = &station_rows[i];
        char text[1024], shown[512];
        struct reason reason;
        snprintf (text, sizeof text, "[%s," TEST_STATION "]", row->json);
        const struct span frames[] = {PLAIN_DESC, span_text (text)};
        CHECK_INT (row->name, read_frames (frames, 2, &reason), 0);
        bool same_name = row->found && strncmp (row->found, "Test ", 5) == 0;
        CHECK_INT (row->name, list.count, row->found && !same_name ? 2 : 1);
        // The other station is read, whatever precedes it.
        CHECK_TEXT (row->name, list.at[list.count - 1].name, "Test");
        if (!row->found)
            continue;
        snprintf (shown, sizeof shown, "%s %s %s", list.at[0].name,
                  target_type_name (list.at[0].type), list.at[0].endpoint);
        CHECK_TEXT (row->name, shown, row->found);
        CHECK_INT (row->name, list.at[0].seed_dialect, row->seed);
    }
}

static void a_host_is_never_cut (void **state)
{
    (void)state;
    static char host[512];
    const struct span frames[] = {PLAIN_DESC, BYTES ("[" TEST_STATION "]")};
    struct reason reason;
    for (size_t size = 1; size < sizeof host; size++) {
        memset (host, 'h', size);
        assert_int_equal (center_list_read (frames, 2, host, &list, &reason), 0);
        assert_int_equal (list.count, size + strlen ("tcp://:18008") < sizeof list.at[0].endpoint);
    }
}

static char *many_stations (int first, int count)
{
    enum { ROOM = 64 };
    char *text = malloc ((size_t)count * ROOM + 2);
    assert_non_null (text);
    char *at = text;
    for (int i = 0; i < count; i++)
        at += snprintf (at, ROOM, "%c{\"name\":\"s%d\",\"station_type\":3,\"request_port\":%d}",
                        i ? ',' : '[', first + i, 1000 + i);
    snprintf (at, 2, "]");
    return text;
}

static void a_list_is_bounded (void **state)
{
    (void)state;
    char *text = many_stations (0, 5000);
    const struct span frames[] = {PLAIN_DESC, span_text (text)};
    struct reason reason;
    assert_int_equal (read_frames (frames, 2, &reason), 0);
    assert_int_equal (list.count, FOUND_MAX);
    assert_int_equal (list.left_out, 5000 - FOUND_MAX);
    assert_string_equal (list.at[FOUND_MAX - 1].name, "s255");
    free (text);
}

static void a_name_counts_once (void **state)
{
    (void)state;
    const struct span frames[] = {
        PLAIN_DESC, BYTES ("[" TEST_STATION ","
                           "{\"name\":\"Test\",\"station_type\":2,\"request_port\":9},"
                           "{\"name\":\"test\",\"station_type\":2,\"request_port\":9}]")};
    struct reason reason;
    assert_int_equal (read_frames (frames, 2, &reason), 0);
    assert_int_equal (list.count, 2);
    assert_int_equal (list.at[0].type, TARGET_API);
    assert_string_equal (list.at[1].name, "test");
}

static const struct same_row {
    const char *name, *one, *other;
    bool same;
} same_rows[] = {
    {"the same", TEST_STATION, TEST_STATION, true},
    {"a counter", TEST_STATION,
     "{\"name\":\"Test\",\"request_in\":5,\"station_type\":3,\"request_port\":18008}", true},
    {"another port", TEST_STATION, "{\"name\":\"Test\",\"station_type\":3,\"request_port\":18009}",
     false},
    {"another type", TEST_STATION, "{\"name\":\"Test\",\"station_type\":4,\"request_port\":18008}",
     false},
    {"another name", TEST_STATION, "{\"name\":\"Tess\",\"station_type\":3,\"request_port\":18008}",
     false},
    {"another dialect", TEST_STATION,
     "{\"station_name\":\"Test\",\"station_type\":3,\"request_port\":18008}", false},
    {"one more", TEST_STATION,
     TEST_STATION ",{\"name\":\"B\",\"station_type\":3,\"request_port\":18008}", false},
    {"none", TEST_STATION, "", false},
    {"both empty", "", "{\"name\":\"S\",\"station_type\":1,\"request_port\":9}", true},
};

static void lists_are_compared (void **state)
{
    (void)state;
    static struct found_list first;
    for (size_t i = 0; i < ROWS (same_rows); i++) {
        const struct same_row *row = &same_rows[i];
        char text[512];
        struct reason reason;
        struct span frames[] = {PLAIN_DESC, {0}};
        snprintf (text, sizeof text, "[%s]", row->one);
        frames[1] = span_text (text);
        CHECK_INT (row->name, read_frames (frames, 2, &reason), 0);
        first = list;
        snprintf (text, sizeof text, "[%s]", row->other);
        frames[1] = span_text (text);
        CHECK_INT (row->name, read_frames (frames, 2, &reason), 0);
        CHECK (row->name, center_list_same (&first, &list) == row->same);
        CHECK (row->name, center_list_same (&list, &first) == row->same);
    }
}

// -- events

static const struct event_row {
    const char *name;
    struct span title, desc;
    bool matters;
} event_rows[] = {
    {"installed, seed", BYTES ("zero_event"), BYTES ("\2\x0a>T\0"), true},
    {"uninstalled, seed", BYTES ("zero_event"), BYTES ("\1\x0b>\0"), true},
    {"state, seed", BYTES ("zero_event"), BYTES ("\2\x0c>T\0"), false},
    {"sound off, seed", BYTES ("zero_event"), BYTES ("\1\4>\0"), false},
    {"unknown, seed", BYTES ("zero_event"), BYTES ("\1\x14>\0"), true},
    {"installed", BYTES ("station"), BYTES ("\2\x0a@T\0"), true},
    {"joined", BYTES ("station"), BYTES ("\2\5@T\0"), true},
    {"removed", BYTES ("station"), BYTES ("\1\x0c@\0"), true},
    {"state", BYTES ("station"), BYTES ("\2\x0d@T\0"), false},
    {"updated", BYTES ("station"), BYTES ("\2\x0e@T\0"), true},
    {"sound off", BYTES ("worker"), BYTES ("\1\4@\0"), false},
    {"client joined", BYTES ("worker"), BYTES ("\2\x10@T\0"), false},
    {"center started", BYTES ("system"), BYTES ("\1\1@\0"), true},
    {"started, 1.5", BYTES ("system"), BYTES ("\1\1$\1"), true},
    {"trends, 1.5", BYTES ("station"), BYTES ("\2\x0d$T\0"), false},
    {"connection closed, 1.5", BYTES ("monitor"), BYTES ("\2\x15$T\0"), false},
    {"unknown", BYTES ("x"), BYTES ("\1\x16$\0"), true},
    {"custom", BYTES ("x"), BYTES ("\1\xff$\0"), true},
    {"no event", BYTES ("x"), BYTES ("\1"), true},
    {"empty", BYTES (""), BYTES (""), true},
};

static void events_that_leave_the_list_are_told_apart (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (event_rows); i++) {
        const struct event_row *row = &event_rows[i];
        uint8_t *desc = exact_bytes (row->desc);
        const struct span frames[] = {row->title, span_of (desc, row->desc.size)};
        CHECK (row->name, center_event_matters (frames, 2) == row->matters);
        CHECK (row->name, center_event_matters (frames, 1));
        CHECK (row->name, center_event_matters (frames, 0));
        free (desc);
    }
}

// -- the setting

static const struct setting_row {
    const char *text;
    const char *parsed; // "host port key", or NULL: refused
} setting_rows[] = {
    {"tcp://10.0.0.7:8000", "10.0.0.7 8000 "},
    {"tcp://10.0.0.7", "10.0.0.7 8000 "},
    {"tcp://center.example:18000,key=agebull", "center.example 18000 agebull"},
    {"tcp://center,key=a=b:c", "center 8000 a=b:c"},
    {"tcp://[::1]:8001", "[::1] 8001 "},
    {"tcp://[::1]", "[::1] 8000 "},
    {"tcp://h:65534", "h 65534 "},
    {"tcp://h:65535", NULL}, // no port is left for the events
    {"tcp://h:0", NULL},
    {"tcp://h:", NULL},
    {"tcp://h:80x", NULL},
    {"tcp://h:-1", NULL},
    {"tcp://h:99999999999999999999", NULL},
    {"tcp://:8000", NULL},
    {"tcp://", NULL},
    {"tcp:/h", NULL},
    {"", NULL},
    {"ipc:///tmp/x", NULL},
    {"10.0.0.7:8000", NULL},
    {"tcp://h:1,", NULL},
    {"tcp://h:1,key=", NULL},
    {"tcp://h:1,key", NULL},
    {"tcp://h:1,dialect=zeronet", NULL},
    {"tcp://h:1,key=a,b", NULL},
    {"tcp://h:1,key=a,key=b", NULL},
};

static void the_setting_is_parsed (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (setting_rows); i++) {
        const struct setting_row *row = &setting_rows[i];
        struct center_settings settings = {.host = "untouched", .port = 7, .key = "k"};
        struct reason reason = {""};
        char shown[600];
        int rc = center_settings_parse (row->text, &settings, &reason);
        CHECK (row->text, (rc == 0) == (row->parsed != NULL));
        CHECK (row->text, rc == 0 || strncmp (reason.text, "center: ", 8) == 0);
        snprintf (shown, sizeof shown, "%s %d %s", settings.host, settings.port, settings.key);
        CHECK_TEXT (row->text, shown, row->parsed ? row->parsed : "untouched 7 k");
    }
}

static void the_setting_is_bounded_and_the_key_is_not_told (void **state)
{
    (void)state;
    char text[1024];
    struct center_settings settings;
    for (size_t size = 1; size < 300; size++) {
        struct reason reason = {""};
        size_t head = (size_t)snprintf (text, sizeof text, "tcp://");
        memset (text + head, 'h', size);
        snprintf (text + head + size, sizeof text - head - size, ":65534");
        assert_int_equal (center_settings_parse (text, &settings, &reason) == 0,
                          size <= CENTER_HOST_MAX);
        head = (size_t)snprintf (text, sizeof text, "tcp://h,key=");
        memset (text + head, 's', size);
        text[head + size] = '\0';
        assert_int_equal (center_settings_parse (text, &settings, &reason) == 0,
                          size <= CENTER_KEY_MAX);
        assert_null (strstr (reason.text, "ss"));
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (answers_are_read_by_frame_type),
        cmocka_unit_test (stations_that_can_be_targets_are_taken),
        cmocka_unit_test (a_host_is_never_cut),
        cmocka_unit_test (a_list_is_bounded),
        cmocka_unit_test (a_name_counts_once),
        cmocka_unit_test (lists_are_compared),
        cmocka_unit_test (events_that_leave_the_list_are_told_apart),
        cmocka_unit_test (the_setting_is_parsed),
        cmocka_unit_test (the_setting_is_bounded_and_the_key_is_not_told),
    };
    return cmocka_run_group_tests_name ("center", tests, NULL, NULL);
}
