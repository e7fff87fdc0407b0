// The pure parts of the store: where Redis is, and whether a Redis may hold plans.
#include "address.h"
#include "json.h"
#include "pack_write.h"
#include "redis_info.h"
#include "row_commands.h"
#include "rows.h"
#include "store_read.h"

// -- redis_addr

static const struct address_row {
    const char *text;
    enum address_kind kind;
    const char *host;
    int port;
    const char *password;
    const char *shown;
} address_rows[] = {
    {"embedded", ADDRESS_EMBEDDED, "", 0, "", NULL},
    {"127.0.0.1:6379", ADDRESS_TCP, "127.0.0.1", 6379, "", "127.0.0.1:6379"},
    {"redis.example:1", ADDRESS_TCP, "redis.example", 1, "", "redis.example:1"},
    {"h:65535", ADDRESS_TCP, "h", 65535, "", "h:65535"},
    {"h:6379:secret", ADDRESS_TCP, "h", 6379, "secret", "h:6379"},
    {"h:6379:", ADDRESS_TCP, "h", 6379, "", "h:6379"},
    {"h:6379:a:b:c", ADDRESS_TCP, "h", 6379, "a:b:c", "h:6379"},
    {"h:6379: %s\xc3\xa9", ADDRESS_TCP, "h", 6379, " %s\xc3\xa9", "h:6379"},
    {"unix:/run/redis.sock", ADDRESS_UNIX, "/run/redis.sock", 0, "", "unix:/run/redis.sock"},
    {"unix:r", ADDRESS_UNIX, "r", 0, "", "unix:r"},
    {"unix:/a:6379:b", ADDRESS_UNIX, "/a:6379:b", 0, "", "unix:/a:6379:b"},
};

static void address_is_parsed (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (address_rows); i++) {
        const struct address_row *row = &address_rows[i];
        struct address address;
        struct reason reason = {""};
        char shown[300];
        CHECK_INT (row->text, address_parse (row->text, &address, &reason), 0);
        CHECK_INT (row->text, address.kind, row->kind);
        CHECK_TEXT (row->text, address.host, row->host);
        CHECK_INT (row->text, address.port, row->port);
        CHECK_TEXT (row->text, address.password, row->password);
        if (row->shown)
            CHECK_TEXT (row->text, address_text (&address, shown), row->shown);
    }
}

static const struct refused_row {
    const char *text;
    const char *reason;
} refused_rows[] = {
    {"", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
         "sentinel:MASTER@HOST:PORT,..."},
    {"embedded ", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
                  "sentinel:MASTER@HOST:PORT,..."},
    {"Embedded", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
                 "sentinel:MASTER@HOST:PORT,..."},
    {"localhost", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
                  "sentinel:MASTER@HOST:PORT,..."},
    {":6379", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
              "sentinel:MASTER@HOST:PORT,..."},
    {"h:", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
           "sentinel:MASTER@HOST:PORT,..."},
    {"h::secret", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
                  "sentinel:MASTER@HOST:PORT,..."},
    {"h:12345678:secret", "redis_addr: want embedded, HOST:PORT[:PASSWORD], unix:PATH or "
                          "sentinel:MASTER@HOST:PORT,..."},
    {"h:0", "redis_addr: want a port 1..65535"},
    {"h:65536", "redis_addr: want a port 1..65535"},
    {"h:-1", "redis_addr: want a port 1..65535"},
    {"h:+1", "redis_addr: want a port 1..65535"},
    {"h:6379x", "redis_addr: want a port 1..65535"},
    {"h: 6379", "redis_addr: want a port 1..65535"},
    {"h:secret:6379", "redis_addr: want a port 1..65535"},
    {"redis://h:6379", "redis_addr: want a port 1..65535"},
    {"unix:", "redis_addr: the path of a Unix socket has 1..107 bytes"},
};

static void address_is_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (refused_rows); i++) {
        const struct refused_row *row = &refused_rows[i];
        struct address address;
        struct reason reason = {""};
        CHECK_INT (row->text, address_parse (row->text, &address, &reason), -1);
        CHECK_TEXT (row->text, reason.text, row->reason);
        CHECK (row->text, !strstr (reason.text, "secret"));
    }
}

// `size` letters between the two parts.
static const struct long_row {
    const char *name, *before;
    size_t size;
    const char *behind;
    int rc;
} long_rows[] = {
    {"host of 255 bytes", "", 255, ":1", 0},        {"host of 256 bytes", "", 256, ":1", -1},
    {"host of 2000 bytes", "", 2000, ":1", -1},     {"password of 255 bytes", "h:1:", 255, "", 0},
    {"password of 256 bytes", "h:1:", 256, "", -1}, {"path of 107 bytes", "unix:", 107, "", 0},
    {"path of 108 bytes", "unix:", 108, "", -1},    {"path of 2000 bytes", "unix:", 2000, "", -1},
    {"port of 2000 letters", "h:", 2000, "", -1},
};

static void address_bounds_its_parts (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (long_rows); i++) {
        const struct long_row *row = &long_rows[i];
        char letters[2001], text[2100];
        memset (letters, 'a', row->size);
        letters[row->size] = '\0';
        snprintf (text, sizeof text, "%s%s%s", row->before, letters, row->behind);
        struct address address;
        struct reason reason = {""};
        char shown[300];
        CHECK_INT (row->name, address_parse (text, &address, &reason), row->rc);
        if (row->rc == 0)
            CHECK (row->name, strlen (address_text (&address, shown)) < sizeof shown);
        else
            CHECK (row->name, strncmp (reason.text, "redis_addr: ", 12) == 0);
    }
}

// -- INFO

#define INFO(version, loading, role, aof, policy)                                                  \
    "# Server\r\nredis_version:" version "\r\nredis_mode:standalone\r\n"                           \
    "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:" policy "\r\n# Persistence\r\nloading:" loading  \
    "\r\nasync_loading:0\r\naof_enabled:" aof "\r\naof_rewrite_in_progress:0\r\n"                  \
    "# Replication\r\nrole:" role "\r\nconnected_slaves:0\r\n"

static const struct info_row {
    const char *name;
    struct span info;
    enum info_verdict verdict, accepting; // as a rule, and with --accept-loss
    const char *reason;                   // a part of the reason
} info_rows[] = {
    {"good", BYTES (INFO ("7.0.15", "0", "master", "1", "noeviction")), INFO_GOOD, INFO_GOOD, ""},
    {"newer", BYTES (INFO ("10.1", "0", "master", "1", "noeviction")), INFO_GOOD, INFO_GOOD, ""},
    {"long version", BYTES (INFO ("7.4.0-rc1-build20260101", "0", "master", "1", "noeviction")),
     INFO_GOOD, INFO_GOOD, ""},
    {"too old", BYTES (INFO ("6.2.14", "0", "master", "1", "noeviction")), INFO_REFUSED,
     INFO_REFUSED, "'6.2.14'"},
    {"no number", BYTES (INFO ("seven", "0", "master", "1", "noeviction")), INFO_REFUSED,
     INFO_REFUSED, "'seven'"},
    {"empty version", BYTES (INFO ("", "0", "master", "1", "noeviction")), INFO_REFUSED,
     INFO_REFUSED, "version ''"},
    {"loading", BYTES (INFO ("7.0.15", "1", "master", "1", "noeviction")), INFO_NOT_NOW,
     INFO_NOT_NOW, "loading"},
    {"replica", BYTES (INFO ("7.0.15", "0", "slave", "1", "noeviction")), INFO_NOT_NOW,
     INFO_NOT_NOW, "replica"},
    {"no append-only file", BYTES (INFO ("7.0.15", "0", "master", "0", "noeviction")), INFO_REFUSED,
     INFO_GOOD, "append-only"},
    {"may evict", BYTES (INFO ("7.0.15", "0", "master", "1", "allkeys-lru")), INFO_REFUSED,
     INFO_GOOD, "'allkeys-lru'"},
    {"may evict what is volatile", BYTES (INFO ("7.0.15", "0", "master", "1", "volatile-ttl")),
     INFO_REFUSED, INFO_GOOD, "'volatile-ttl'"},
    {"a policy that starts well", BYTES (INFO ("7.0.15", "0", "master", "1", "noeviction2")),
     INFO_REFUSED, INFO_GOOD, "'noeviction2'"},
    {"empty", BYTES (""), INFO_REFUSED, INFO_REFUSED, "version ''"},
    {"one newline", BYTES ("\n"), INFO_REFUSED, INFO_REFUSED, "version ''"},
    {"a name only", BYTES ("redis_version"), INFO_REFUSED, INFO_REFUSED, "version ''"},
    {"a name and a colon", BYTES ("redis_version:"), INFO_REFUSED, INFO_REFUSED, "version ''"},
    {"the version alone", BYTES ("redis_version:7"), INFO_NOT_NOW, INFO_NOT_NOW, "replica"},
    {"lines without \\r",
     BYTES ("redis_version:7\nrole:master\naof_enabled:1\n"
            "maxmemory_policy:noeviction"),
     INFO_GOOD, INFO_GOOD, ""},
    {"names are whole", BYTES ("xredis_version:7\nredis_version_x:8\nredis_version:6\n"),
     INFO_REFUSED, INFO_REFUSED, "'6'"},
    {"the first line counts", BYTES ("redis_version:6\nredis_version:7\n"), INFO_REFUSED,
     INFO_REFUSED, "'6'"},
    {"a value with NUL", BYTES ("redis_version:7\0\nrole:master\naof_enabled:1\0\n"), INFO_REFUSED,
     INFO_GOOD, "append-only"},
    {"no text", BYTES ("\xff\xfe\x00\n\n\n:"), INFO_REFUSED, INFO_REFUSED, "version ''"},
};

static void info_tells_whether_redis_may_hold_plans (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (info_rows); i++) {
        const struct info_row *row = &info_rows[i];
        uint8_t *bytes = exact_bytes (row->info);
        struct span info = span_of (bytes, row->info.size);
        struct reason reason = {""};
        CHECK_INT (row->name, redis_info_check (info, LOSS_REFUSED, &reason), row->verdict);
        CHECK (row->name, strstr (reason.text, row->reason) != NULL);
        CHECK_INT (row->name, redis_info_check (info, LOSS_ACCEPTED, &reason), row->accepting);
        free (bytes);
    }
}

static void info_cut_anywhere_is_never_good (void **state)
{
    (void)state;
    // The result depends only on lines before the last one.
    const char *whole = info_rows[0].info.data ? (const char *)info_rows[0].info.data : "";
    size_t end = (size_t)(strstr (whole, "role:master") - whole) + strlen ("role:master");
    for (size_t size = 0; size < end; size++) {
        uint8_t *bytes = exact_bytes (span_of (whole, size));
        struct reason reason;
        char name[48];
        snprintf (name, sizeof name, "the first %zu bytes", size);
        CHECK (name, redis_info_check (span_of (bytes, size), LOSS_REFUSED, &reason) != INFO_GOOD);
        free (bytes);
    }
}

// -- entries of the history

static const struct entry_row {
    const char *name;
    struct span text;
    uint64_t seq, sub; // 0, 0: refused
} entry_rows[] = {
    {"of a broadcast", BYTES ("1763-0"), 1763, 0},
    {"before the first broadcast", BYTES ("0-1"), 0, 1},
    {"the greatest", BYTES ("9223372036854775806-9223372036854775806"), INT64_MAX - 1,
     INT64_MAX - 1},
    {"none", BYTES ("0-0"), 0, 0},
    {"too great", BYTES ("9223372036854775807-0"), 0, 0},
    {"no sub", BYTES ("1763-"), 0, 0},
    {"one number", BYTES ("1763"), 0, 0},
    {"a NUL, and more", BYTES ("1763-0\0\0\0x"), 0, 0},
    {"a NUL at the end", BYTES ("1763-0\0"), 0, 0},
    {"a NUL within", BYTES ("17\0-0"), 0, 0},
};

static void entry_is_parsed_or_refused (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (entry_rows); i++) {
        const struct entry_row *row = &entry_rows[i];
        uint8_t *bytes = exact_bytes (row->text);
        uint64_t seq = 0, sub = 0;
        bool good = history_entry_parse (span_of (bytes, row->text.size), &seq, &sub);
        CHECK_INT (row->name, good, row->seq || row->sub);
        if (good)
            CHECK (row->name, seq == row->seq && sub == row->sub);
        free (bytes);
    }
}

// -- outcomes

// Pack an outcome by a tree.
static char *packed_by_tree (const struct outcome_record *record, size_t *ret_size)
{
    json_t *object = json_object ();
    json_object_set_new (object, "title", json_from_frame (record->title));
    if (record->key.size)
        json_object_set_new (object, "key", json_from_frame (record->key));
    json_object_set_new (object, "nominal", json_integer (record->nominal));
    json_object_set_new (object, "status", json_integer (record->status));
    json_object_set_new (object, "state", json_integer (record->state));
    json_object_set_new (object, "exec_id", json_integer ((json_int_t)record->exec_id));
    json_object_set_new (object, "worker", json_from_frame (record->worker));
    json_object_set_new (object, "size", json_integer ((json_int_t)record->size));
    json_object_set_new (object, "reason", json_from_frame (record->reason));
    if (record->flow_run)
        json_object_set_new (object, "flow_run", json_integer ((json_int_t)record->flow_run));
    if (record->step.size)
        json_object_set_new (object, "step", json_from_frame (record->step));
    if (record->undo)
        json_object_set_new (object, "undo", json_true ());
    char *bytes = pack_write (object, ret_size);
    json_decref (object);
    return bytes;
}

static void check_record (const char *name, const struct outcome_record *record)
{
    size_t size, want_size;
    char *bytes = store_record (record, &size), *want = packed_by_tree (record, &want_size);
    CHECK (name, span_equal (span_of (bytes, size), span_of (want, want_size)));
    free (want);
    free (bytes);
}

static const struct frame_row {
    const char *name;
    struct span frame;
} frame_rows[] = {
    {"none", {NULL, 0}},
    {"empty", BYTES ("")},
    {"a text", BYTES ("weekly report")},
    {"UTF-8", BYTES ("\x7f\xc3\xa9\xe8\xae\xa1\xf0\x9f\x98\x80\n\"")},
    {"a NUL", BYTES ("\0")},
    {"a NUL at the end", BYTES ("worker\0")},
    {"an identity", BYTES ("\0\x6b\x8b\x45\x67")},
    {"no UTF-8", BYTES ("\xff")},
    {"overlong", BYTES ("a\xc0\xaf")},
    {"a surrogate", BYTES ("\xed\xa0\x80")},
    {"a character that is cut", BYTES ("ok\xe2\x82")},
    {"over U+10FFFF", BYTES ("\xf4\x90\x80\x80")},
};

static void outcomes_are_packed_as_by_a_tree (void **state)
{
    (void)state;
    static const int64_t numbers[] = {0,      1,      127,       128,       255,       256,
                                      32767,  32768,  65535,     65536,     -1,        -32,
                                      -33,    -128,   -129,      INT32_MAX, INT32_MIN, UINT32_MAX,
                                      -32768, -32769, 1LL << 32, INT64_MAX, INT64_MIN, 1797881074};
    for (size_t i = 0; i < ROWS (frame_rows); i++) {
        struct span frame = frame_rows[i].frame;
        check_record (frame_rows[i].name, &(struct outcome_record){.title = frame});
        check_record (frame_rows[i].name, &(struct outcome_record){.key = frame});
        check_record (frame_rows[i].name, &(struct outcome_record){.worker = frame});
        check_record (frame_rows[i].name, &(struct outcome_record){.reason = frame});
    }
    for (size_t i = 0; i < ROWS (numbers); i++) {
        struct outcome_record record = {.nominal = numbers[i],
                                        .status = (uint8_t)numbers[i],
                                        .state = (enum plan_state) (numbers[i] & 7),
                                        .exec_id = (uint64_t)numbers[i],
                                        .size = (size_t)numbers[i]};
        check_record ("numbers", &record);
    }
    check_record ("a flow plan", &(struct outcome_record){.flow_run = 1795227062000519});
    check_record ("the undo of an item",
                  &(struct outcome_record){.flow_run = 1, .step = BYTES ("load.3"), .undo = true});
}

// Each form of a string's length, as text and as base64.
static void outcomes_of_any_size_are_packed_as_by_a_tree (void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 31, 32, 187, 192, 255, 256, 8192, 49149, 65535, 65536};
    static uint8_t bytes[65536];
    for (size_t i = 0; i < ROWS (sizes); i++) {
        struct outcome_record record = {.title = span_of (bytes, sizes[i]),
                                        .reason = span_of (bytes, sizes[i])};
        memset (bytes, 'x', sizeof bytes);
        check_record ("letters", &record);
        bytes[sizes[i] - 1] = 0xFF;
        check_record ("bytes", &record);
    }
}

// -- the commands of a batch

// All words of the commands, separated by spaces; packed outcomes are shown as "*".
static char *commands_text (const struct commands *commands)
{
    char *text = calloc (1, 4000);
    const struct span *word = commands->words;
    for (size_t i = 0; i < commands->commands; i++)
        for (size_t k = 0; k < commands->sizes[i]; k++, word++) {
            bool packed = k && span_is (word[-1], "m");
            int size = packed ? 1 : (int)word->size;
            snprintf (text + strlen (text), 4000 - strlen (text), "%s%.*s", i || k ? " " : "", size,
                      packed ? "*" : (const char *)word->data);
        }
    return text;
}

static const struct written_row {
    const char *name;
    struct {
        int64_t seq, sub;
        const char *output;
    } outcomes[5];
    int64_t keep; // outcomes that the history keeps
    const char *commands;
} written_rows[] = {
    {"one", {{7, 0}}, 100, "XADD plan:history 7-0 p 2a s jobs t 50 r r"},
    {"one that is not broadcast",
     {{7, 3}},
     100,
     "XADD plan:history 7-3 p 2a s jobs t 50 r r XTRIM plan:history MAXLEN ~ 100"},
    {"several", {{7}, {8}, {9}}, 100, "XADD plan:history 9-0 t 50 n 3 m *"},
    {"not one behind the other",
     {{7}, {9}, {10}},
     100,
     "XADD plan:history 7-0 p 2a s jobs t 50 r r XADD plan:history 10-0 t 50 n 2 m *"},
    {"one that is not broadcast among them",
     {{7}, {7, 1}, {8}, {9}},
     100,
     "XADD plan:history 7-0 p 2a s jobs t 50 r r XADD plan:history 7-1 p 2a s jobs t 50 r r "
     "XADD plan:history 9-0 t 50 n 2 m *"},
    {"with outputs",
     {{7}, {8, 0, "a"}, {9}, {10, 0, "b"}},
     100,
     "XADD plan:history 10-0 t 50 n 4 m * XADD plan:output 10-0 t 50 o a o b"},
    {"the oldest go with every 64th",
     {{128}},
     100,
     "XADD plan:history 128-0 p 2a s jobs t 50 r r XTRIM plan:history MAXLEN ~ 100 "
     "XTRIM plan:history MINID ~ 29"},
    {"and where it is passed",
     {{127}, {128}, {129}},
     100,
     "XADD plan:history 129-0 t 50 n 3 m * XTRIM plan:history MAXLEN ~ 100 "
     "XTRIM plan:history MINID ~ 30"},
};

static void outcomes_are_entries_of_the_history (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (written_rows); i++) {
        const struct written_row *row = &written_rows[i];
        struct commands commands = {0};
        struct rows rows = {0};
        for (size_t k = 0; k < ROWS (row->outcomes) && row->outcomes[k].seq; k++) {
            const char *output = row->outcomes[k].output;
            rows_add_outcome (&rows,
                              &(struct outcome_row){.seq = row->outcomes[k].seq,
                                                    .sub = row->outcomes[k].sub,
                                                    .station = span_text ("jobs"),
                                                    .plan_id = 0x2a,
                                                    .ended_ms = 50,
                                                    .record = span_text ("r"),
                                                    .output = span_text (output ? output : "")});
        }
        commands_of_rows (&commands, &rows, row->keep);
        char *text = commands_text (&commands);
        CHECK_TEXT (row->name, text, row->commands);
        free (text);
        commands_free (&commands);
        rows_free (&rows);
    }
}

// No command has more words than a script's call can take.
static void many_rows_are_several_commands (void **state)
{
    (void)state;
    enum { COUNT = 4500, EACH = 2000 };
    struct commands commands = {0};
    struct rows rows = {0};
    for (int i = 0; i < COUNT; i++) {
        rows_add (&rows, COLUMN_QUEUE, span_text ("1"), span_text ("plan:msg:jobs:1"));
        rows_add (&rows, COLUMN_UNQUEUE, span_text ("plan:msg:jobs:2"), (struct span){0});
    }
    commands_of_rows (&commands, &rows, 100);
    assert_int_equal (commands.commands, 6);
    const size_t sizes[] = {2 + 2 * EACH, 2 + 2 * EACH, 2 + 2 * (COUNT - 2 * EACH),
                            2 + EACH,     2 + EACH,     2 + COUNT - 2 * EACH};
    for (size_t i = 0; i < ROWS (sizes); i++)
        assert_int_equal (commands.sizes[i], sizes[i]);
    assert_true (span_is (commands.words[sizes[0]], "ZADD"));
    commands_free (&commands);
    rows_free (&rows);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (address_is_parsed),
        cmocka_unit_test (address_is_refused),
        cmocka_unit_test (address_bounds_its_parts),
        cmocka_unit_test (info_tells_whether_redis_may_hold_plans),
        cmocka_unit_test (info_cut_anywhere_is_never_good),
        cmocka_unit_test (entry_is_parsed_or_refused),
        cmocka_unit_test (outcomes_are_packed_as_by_a_tree),
        cmocka_unit_test (outcomes_of_any_size_are_packed_as_by_a_tree),
        cmocka_unit_test (outcomes_are_entries_of_the_history),
        cmocka_unit_test (many_rows_are_several_commands),
    };
    return cmocka_run_group_tests_name ("store, the pure parts", tests, NULL, NULL);
}
