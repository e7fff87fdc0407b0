// The wire's bytes: the code tables number by number, descriptions, envelopes.
// Source: proto 3.
#include "codes.h"
#include "message.h"
#include "rows.h"

// -- codes

static const struct code_row {
    const char *name;
    int constant, number;
} command_rows[] = {
    {"NONE", ZERO_BYTE_COMMAND_NONE, 0x01},
    {"PLAN", ZERO_BYTE_COMMAND_PLAN, 0x02},
    {"PROXY", ZERO_BYTE_COMMAND_PROXY, 0x03},
    {"GLOBAL_ID", ZERO_BYTE_COMMAND_GLOBAL_ID, 0x3E},
    {"WAITING", ZERO_BYTE_COMMAND_WAITING, 0x23},
    {"FIND_RESULT", ZERO_BYTE_COMMAND_FIND_RESULT, 0x25},
    {"CLOSE_REQUEST", ZERO_BYTE_COMMAND_CLOSE_REQUEST, 0x2D},
    {"PING", ZERO_BYTE_COMMAND_PING, 0x2A},
    {"HEART_JOIN", ZERO_BYTE_COMMAND_HEART_JOIN, 0x4A},
    {"HEART_READY", ZERO_BYTE_COMMAND_HEART_READY, 0x52},
    {"HEART_PITPAT", ZERO_BYTE_COMMAND_HEART_PITPAT, 0x50},
    {"HEART_LEFT", ZERO_BYTE_COMMAND_HEART_LEFT, 0x4C},
};

static void commands_have_their_numbers (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (command_rows); i++)
        CHECK_INT (command_rows[i].name, command_rows[i].constant, command_rows[i].number);
}

static const struct status_row {
    const char *name;
    int constant, number;
    const char *word; // NULL: the protocol gives none
} status_rows[] = {
    {"OK", ZERO_STATUS_OK_ID, 0x01, "+ok"},
    {"PLAN", ZERO_STATUS_PLAN_ID, 0x02, "+plan"},
    {"RUNING", ZERO_STATUS_RUNING_ID, 0x03, "+runing"},
    {"BYE", ZERO_STATUS_BYE_ID, 0x04, "+bye"},
    {"WECOME", ZERO_STATUS_WECOME_ID, 0x05, "+wecome"},
    {"VOTE_SENDED", ZERO_STATUS_VOTE_SENDED_ID, 0x20, NULL},
    {"VOTE_BYE", ZERO_STATUS_VOTE_BYE_ID, 0x21, NULL},
    {"WAITING", ZERO_STATUS_WAITING_ID, 0x22, "+waiting"},
    {"VOTE_START", ZERO_STATUS_VOTE_START_ID, 0x23, NULL},
    {"VOTE_END", ZERO_STATUS_VOTE_END_ID, 0x24, NULL},
    {"VOTE_CLOSED", ZERO_STATUS_VOTE_CLOSED_ID, 0x25, NULL},
    {"ERROR", ZERO_STATUS_ERROR_ID, 0x81, "-error"},
    {"FAILED", ZERO_STATUS_FAILED_ID, 0x82, "-failed"},
    {"NOT_FIND", ZERO_STATUS_NOT_FIND_ID, 0x83, "-no find"},
    {"NOT_SUPPORT", ZERO_STATUS_NOT_SUPPORT_ID, 0x84, "-no support"},
    {"FRAME_INVALID", ZERO_STATUS_FRAME_INVALID_ID, 0x85, "-invalid"},
    {"TIMEOUT", ZERO_STATUS_TIMEOUT_ID, 0x86, "-time out"},
    {"NET_ERROR", ZERO_STATUS_NET_ERROR_ID, 0x87, "-net error"},
    {"NOT_WORKER", ZERO_STATUS_NOT_WORKER_ID, 0x88, "-not work"},
    {"MANAGE_ARG_ERROR", ZERO_STATUS_MANAGE_ARG_ERROR_ID, 0x89, "-argument"},
    {"MANAGE_INSTALL_ARG_ERROR", ZERO_STATUS_MANAGE_INSTALL_ARG_ERROR_ID, 0x8A, NULL},
    {"FRAME_PLANERROR", ZERO_STATUS_FRAME_PLANERROR_ID, 0x8B, "-plan error"},
    {"SEND_ERROR", ZERO_STATUS_SEND_ERROR_ID, 0x8C, NULL},
    {"RECV_ERROR", ZERO_STATUS_RECV_ERROR_ID, 0x8D, NULL},
    {"DENY", ZERO_STATUS_DENY_ID, 0x8E, "-deny"},
    {"BUSY", ZERO_STATUS_BUSY_ID, 0x8F, "-busy"},
    {"CANCELLED", ZERO_STATUS_CANCELLED_ID, 0x90, "-cancelled"},
    {"MISSED", ZERO_STATUS_MISSED_ID, 0x91, "-missed"},
};

static void statuses_have_their_numbers_and_words (void **state)
{
    (void)state;
    bool known[256] = {false};
    assert_int_equal (ZERO_STATUS_ERROR_FLAG, 0x80);
    for (size_t i = 0; i < ROWS (status_rows); i++) {
        const struct status_row *row = &status_rows[i];
        known[row->number] = true;
        CHECK_INT (row->name, row->constant, row->number);
        CHECK (row->name, status_name ((uint8_t)row->number) != NULL);
        CHECK_TEXT (row->name, status_name ((uint8_t)row->number), row->name);
        if (row->word)
            CHECK_TEXT (row->name, status_word ((uint8_t)row->number), row->word);
    }
    for (int number = 0; number < 256; number++) {
        char name[32];
        snprintf (name, sizeof name, "status %02x", (unsigned)number);
        CHECK (name, known[number] || !status_name ((uint8_t)number));
        CHECK (name, status_word ((uint8_t)number)[0] == (number < 0x80 ? '+' : '-'));
    }
}

static const struct code_row frame_rows[] = {
    {"END", ZERO_FRAME_END, 0x00},
    {"GLOBAL_ID", ZERO_FRAME_GLOBAL_ID, 0x01},
    {"STATION_ID", ZERO_FRAME_STATION_ID, 0x02},
    {"STATUS", ZERO_FRAME_STATUS, 0x03},
    {"REQUEST_ID", ZERO_FRAME_REQUEST_ID, 0x04},
    {"PLAN", ZERO_FRAME_PLAN, 0x05},
    {"PLAN_TIME", ZERO_FRAME_PLAN_TIME, 0x06},
    {"SERVICE_KEY", ZERO_FRAME_SERVICE_KEY, 0x07},
    {"LOCAL_ID", ZERO_FRAME_LOCAL_ID, 0x08},
    {"COMMAND", ZERO_FRAME_COMMAND, '$'},
    {"ARG", ZERO_FRAME_ARG, '%'},
    {"CONTENT", ZERO_FRAME_CONTENT, 'T'},
    {"CONTENT", ZERO_FRAME_TEXT, 'T'},
    {"JSON", ZERO_FRAME_JSON, 'J'},
    {"BIN", ZERO_FRAME_BIN, 'B'},
    {"XML", ZERO_FRAME_XML, 'X'},
    {"PUB_TITLE", ZERO_FRAME_PUB_TITLE, '*'},
    {"SUBTITLE", ZERO_FRAME_SUBTITLE, '@'},
    {"CONTEXT", ZERO_FRAME_CONTEXT, '#'},
    {"REQUESTER", ZERO_FRAME_REQUESTER, '>'},
    {"REQUESTER", ZERO_FRAME_PUBLISHER, '>'},
    {"RESPONSER", ZERO_FRAME_RESPONSER, '<'},
    {"RESPONSER", ZERO_FRAME_SUBSCRIBER, '<'},
};

static void frame_types_have_their_numbers (void **state)
{
    (void)state;
    bool known[256] = {false};
    for (size_t i = 0; i < ROWS (frame_rows); i++) {
        const struct code_row *row = &frame_rows[i];
        known[row->number] = true;
        CHECK_INT (row->name, row->constant, row->number);
        CHECK_TEXT (row->name, frame_name ((uint8_t)row->number), row->name);
    }
    for (int number = 0; number < 256; number++)
        assert_true (known[number] || !frame_name ((uint8_t)number));
}

// The statuses of rejections, proto 10.
static const struct error_row {
    enum wire_error error;
    uint8_t status;
} error_rows[] = {
    {ZPLAN_EFRAME, 0x85},    {ZPLAN_EPLAN, 0x8B},     {ZPLAN_ENOTFIND, 0x83},
    {ZPLAN_ENOTKNOWN, 0x84}, {ZPLAN_EARGUMENT, 0x89}, {ZPLAN_ENET, 0x87},
    {ZPLAN_EBUSY, 0x8F},     {ZPLAN_EDENY, 0x8E},     {ZPLAN_EINTERNAL, 0x81},
};

static void errors_have_their_statuses (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (error_rows); i++)
        assert_int_equal (status_of_error (error_rows[i].error), error_rows[i].status);
}

// -- descriptions

#define TYPES_16 "TTTTTTTTTTTTTTTT"

static const struct desc_row {
    const char *name;
    struct span frame;
    size_t following;
    const char *reason; // a part of the reason; NULL: the frame is valid
} desc_rows[] = {
    {"no frames", BYTES ("\0\1\0"), 0, NULL},
    {"no frames, END absent", BYTES ("\0\1"), 0, NULL},
    {"one frame", BYTES ("\1\2T\0"), 1, NULL},
    {"one frame, END absent", BYTES ("\1\2T"), 1, NULL},
    {"many ENDs", BYTES ("\1\2T\0\0\0\0\0\0\0\0"), 1, NULL},
    {"END and tag", BYTES ("\1\2T\0\xFE"), 1, NULL},
    {"tags and ENDs", BYTES ("\1\2T\0\xFE\xFF\0\xFE"), 1, NULL},
    {"a tag without END", BYTES ("\1\2T\xFF"), 1, NULL},
    {"command 0 is for others to refuse", BYTES ("\1\0T\0"), 1, NULL},
    {"unknown types", BYTES ("\3\2\x7f\xfd\xff\0"), 3, NULL},
    {"types that may stand often", BYTES ("\6\2%%TT##\0"), 6, NULL},
    {"each once-only type once", BYTES ("\6\2\1\2\4>\5$\0"), 6, NULL},
    {"32 frames", BYTES ("\x20\2" TYPES_16 TYPES_16 "\0"), 32, NULL},
    {"33 frames", BYTES ("\x21\2" TYPES_16 TYPES_16 "T\0"), 33, "does not match"},
    {"42 frames", BYTES ("*\2" TYPES_16 TYPES_16 "TTTTTTTTTT\0"), 42, "does not match"},
    {"count 1, none follows", BYTES ("\1\2T\0"), 0, "does not match"},
    {"count 0, one follows", BYTES ("\0\2T\0"), 1, "does not match"},
    {"count is 1, 257 follow", BYTES ("\1\2T\0"), 257, "does not match"},
    {"count 255 is not -1", BYTES ("\xff\2T\0"), 255, "does not match"},
    {"a type is missing", BYTES ("\2\2T"), 2, "does not match"},
    {"all types are missing", BYTES ("\1\2"), 1, "does not match"},
    {"one byte", BYTES ("\0"), 0, "does not match"},
    {"empty", BYTES (""), 0, "does not match"},
    {"byte behind the types", BYTES ("\1\2TT"), 1, "not END"},
    {"byte FD behind END", BYTES ("\1\2T\0\xFD"), 1, "not END"},
    {"text behind END", BYTES ("\1\2T\0abc"), 1, "not END"},
    {"END among the types", BYTES ("\3\2T\0T\0"), 3, "END"},
    {"GLOBAL_ID twice", BYTES ("\2\2\1\1\0"), 2, "GLOBAL_ID"},
    {"STATION_ID twice", BYTES ("\3\2\2T\2\0"), 3, "STATION_ID"},
    {"REQUEST_ID twice", BYTES ("\2\2\4\4\0"), 2, "REQUEST_ID"},
    {"REQUESTER twice", BYTES ("\2\2>>\0"), 2, "REQUESTER"},
    {"PLAN twice", BYTES ("\2\2\5\5\0"), 2, "PLAN"},
    {"COMMAND twice", BYTES ("\2\2$$\0"), 2, "COMMAND"},
    {"COMMAND 32 times", BYTES ("\x20\2$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$$\0"), 32, "COMMAND"},
};

static void desc_parse_keeps_the_rules (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (desc_rows); i++) {
        const struct desc_row *row = &desc_rows[i];
        uint8_t *bytes = exact_bytes (row->frame);
        struct desc desc = {.count = 77};
        struct reason reason = {""};
        int rc = desc_parse (span_of (bytes, row->frame.size), row->following, &desc, &reason);
        CHECK_INT (row->name, rc, row->reason ? ZPLAN_EFRAME : 0);
        if (row->reason) {
            CHECK (row->name, strstr (reason.text, row->reason) != NULL);
            CHECK_INT (row->name, desc.count, 77);
        } else {
            CHECK_INT (row->name, desc.count, row->following);
            CHECK_INT (row->name, desc.code, bytes[1]);
            CHECK (row->name, memcmp (desc.types, bytes + 2, row->following) == 0);
        }
        free (bytes);
    }
}

static void desc_write_always_ends (void **state)
{
    (void)state;
    struct desc desc = {.code = 0x8B};
    uint8_t out[DESC_SIZE_MAX];
    assert_int_equal (desc_write (&desc, out), 3);
    assert_memory_equal (out, "\0\x8B\0", 3);
    desc_add (&desc, ZERO_FRAME_STATUS);
    desc_add (&desc, 0xFE);
    assert_int_equal (desc_write (&desc, out), 5);
    assert_memory_equal (out, "\2\x8B\3\xFE\0", 5);
    while (desc.count < DESC_FRAMES_MAX)
        desc_add (&desc, 'T');
    assert_int_equal (desc_write (&desc, out), DESC_SIZE_MAX);
    assert_int_equal (out[DESC_SIZE_MAX - 1], 0);
}

static void random_bytes_parse_or_are_refused (void **state)
{
    (void)state;
    uint64_t random = 88172645463325252U;
    for (int round = 0; round < 20000; round++) {
        uint8_t raw[48];
        size_t size = next_random (&random) % sizeof raw;
        for (size_t i = 0; i < size; i++)
            raw[i] = (uint8_t)(next_random (&random) >> 20);
        size_t following = next_random (&random) % 40;
        if (size && round % 2)
            raw[0] = (uint8_t)following;
        uint8_t *bytes = exact_bytes (span_of (raw, size));
        struct desc desc;
        struct reason reason;
        if (desc_parse (span_of (bytes, size), following, &desc, &reason) == 0)
            assert_true (desc.count == following && size >= following + 2);
        free (bytes);
    }
}

// -- envelopes

enum { ENVELOPE_FRAMES = 5 };

static const struct envelope_row {
    const char *name;
    size_t count;
    struct span frames[ENVELOPE_FRAMES];
    enum envelope envelope;
    int rc;
    size_t frames_read;
} envelope_rows[] = {
    {"plain", 2, {BYTES ("\1\2T\0"), BYTES ("x")}, ENVELOPE_PLAIN, 0, 1},
    {"plain, no frames", 1, {BYTES ("\0\x2A\0")}, ENVELOPE_PLAIN, 0, 0},
    {"plain, empty frame", 2, {BYTES ("\1\2T"), BYTES ("")}, ENVELOPE_PLAIN, 0, 1},
    {"REQ", 3, {BYTES (""), BYTES ("\1\2T\0"), BYTES ("x")}, ENVELOPE_REQ, 0, 1},
    {"caller", 3, {BYTES ("bob"), BYTES ("\1\2T\0"), BYTES ("x")}, ENVELOPE_CALLER, 0, 1},
    {"caller of one NUL", 3, {BYTES ("\0"), BYTES ("\1\2T"), BYTES ("x")}, ENVELOPE_CALLER, 0, 1},
    {"caller with NULs",
     3,
     {BYTES ("\0\x80\0\0\1"), BYTES ("\1\2T"), BYTES ("x")},
     ENVELOPE_CALLER,
     0,
     1},
    {"caller one byte too short to be a description",
     3,
     {BYTES ("\2\2T"), BYTES ("\1\2T"), BYTES ("x")},
     ENVELOPE_CALLER,
     0,
     1},
    {"caller with the count of another message",
     3,
     {BYTES ("\1\2T\0"), BYTES ("\1\2T"), BYTES ("x")},
     ENVELOPE_CALLER,
     0,
     1},
    {"what fits as a description is one",
     3,
     {BYTES ("\2\2TT"), BYTES ("\1\2T"), BYTES ("x")},
     ENVELOPE_PLAIN,
     0,
     2},
    {"what fits as a description and is broken is no caller",
     3,
     {BYTES ("\2caller"), BYTES ("\1\2T"), BYTES ("x")},
     ENVELOPE_PLAIN,
     ZPLAN_EFRAME,
     2},
    {"mailbox", 3, {BYTES ("*1f"), BYTES ("\1\1T\0"), BYTES ("x")}, ENVELOPE_MAILBOX, 0, 1},
    {"mailbox without an id", 2, {BYTES ("*"), BYTES ("\0\1\0")}, ENVELOPE_MAILBOX, 0, 0},
    {"mailbox, no description", 2, {BYTES ("*1f"), BYTES ("x")}, ENVELOPE_MAILBOX, ZPLAN_EFRAME, 0},
    {"mailbox alone", 1, {BYTES ("*1f")}, ENVELOPE_MAILBOX, ZPLAN_EFRAME, 0},
    {"REQ, no description", 2, {BYTES (""), BYTES ("x")}, ENVELOPE_REQ, ZPLAN_EFRAME, 0},
    {"empty alone", 1, {BYTES ("")}, ENVELOPE_REQ, ZPLAN_EFRAME, 0},
    {"two empty frames",
     4,
     {BYTES (""), BYTES (""), BYTES ("\1\2T"), BYTES ("x")},
     ENVELOPE_REQ,
     ZPLAN_EFRAME,
     0},
    {"two callers",
     4,
     {BYTES ("a"), BYTES ("b"), BYTES ("\1\2T"), BYTES ("x")},
     ENVELOPE_CALLER,
     ZPLAN_EFRAME,
     0},
    {"a frame too many",
     4,
     {BYTES ("bob"), BYTES ("\1\2T"), BYTES ("x"), BYTES ("y")},
     ENVELOPE_CALLER,
     ZPLAN_EFRAME,
     0},
    {"a frame too few", 2, {BYTES ("bob"), BYTES ("\1\2T")}, ENVELOPE_CALLER, ZPLAN_EFRAME, 0},
    {"a frame twice",
     3,
     {BYTES ("\2\2$$"), BYTES ("a"), BYTES ("b")},
     ENVELOPE_PLAIN,
     ZPLAN_EFRAME,
     2},
    {"one byte", 1, {BYTES ("\0")}, ENVELOPE_CALLER, ZPLAN_EFRAME, 0},
    {"nothing", 0, {BYTES ("")}, ENVELOPE_PLAIN, ZPLAN_EFRAME, 0},
};

static void check_read (const struct envelope_row *row, const struct message *message)
{
    size_t at = row->envelope == ENVELOPE_PLAIN ? 0 : 1;
    CHECK (row->name, span_equal (message->desc_bytes, row->frames[at]));
    CHECK (row->name, span_equal (message->sender, at ? row->frames[0] : (struct span){0}));
    for (size_t i = 0; i < row->frames_read; i++)
        CHECK (row->name, span_equal (message->frames[i], row->frames[at + 1 + i]));
}

static void message_read_tells_the_envelopes (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (envelope_rows); i++) {
        const struct envelope_row *row = &envelope_rows[i];
        struct span frames[ENVELOPE_FRAMES];
        for (size_t j = 0; j < row->count; j++)
            frames[j] = span_of (exact_bytes (row->frames[j]), row->frames[j].size);
        struct message message;
        struct reason reason = {""};
        CHECK_INT (row->name, message_read (frames, row->count, &message, &reason), row->rc);
        CHECK_INT (row->name, message.envelope, row->envelope);
        // Of a broken message, the frames are returned as far as they are known.
        CHECK_INT (row->name, message.desc.count, row->frames_read);
        CHECK (row->name, row->rc == 0 || reason.text[0]);
        if (row->rc == 0)
            check_read (row, &message);
        for (size_t j = 0; j < row->count; j++)
            free ((void *)(uintptr_t)frames[j].data);
    }
}

// clang-format off
static const struct cut_row {
    const char *name;
    size_t count; // of the frames that are left
    struct span frames[2];
    enum envelope envelope;
    int code;
} cut_rows[] = {
    {"plain", 1, {BYTES ("\3\2TTT\0")}, ENVELOPE_PLAIN, 2},
    {"REQ", 2, {BYTES (""), BYTES ("\3\2TTT\0")}, ENVELOPE_REQ, 2},
    {"caller", 2, {BYTES ("bob"), BYTES ("\3\2TTT\0")}, ENVELOPE_CALLER, 2},
    {"mailbox", 2, {BYTES ("*1f"), BYTES ("\3\1TTT\0")}, ENVELOPE_MAILBOX, 1},
    {"mailbox alone", 1, {BYTES ("*1f")}, ENVELOPE_MAILBOX, 0},
    {"mailbox, no description", 2, {BYTES ("*1f"), BYTES ("x")}, ENVELOPE_MAILBOX, 0},
    {"empty alone", 1, {BYTES ("")}, ENVELOPE_REQ, 0},
    {"nothing", 0, {BYTES ("")}, ENVELOPE_PLAIN, 0},
};
// clang-format on

static void message_read_cut_tells_the_envelopes (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (cut_rows); i++) {
        const struct cut_row *row = &cut_rows[i];
        struct message message;
        message_read_cut (row->frames, row->count, &message);
        CHECK_INT (row->name, message.envelope, row->envelope);
        CHECK_INT (row->name, message.desc.code, row->code);
    }
}

static void message_read_takes_32_frames_and_no_more (void **state)
{
    (void)state;
    uint8_t desc[64] = {0, 2};
    struct span frames[36];
    struct message message;
    struct reason reason;
    for (size_t following = 0; following < 34; following++) {
        desc[0] = (uint8_t)following;
        memset (desc + 2, 'T', following);
        frames[0] = span_text ("bob");
        frames[1] = span_of (desc, following + 2);
        for (size_t i = 0; i < following; i++)
            frames[2 + i] = span_text ("x");
        int wanted = following <= DESC_FRAMES_MAX ? 0 : ZPLAN_EFRAME;
        assert_int_equal (message_read (frames, following + 2, &message, &reason), wanted);
        assert_int_equal (message_read (frames + 1, following + 1, &message, &reason), wanted);
    }
}

static void message_frames_are_found_by_type (void **state)
{
    (void)state;
    const struct span frames[] = {BYTES ("\4\1%T%\4\0"), BYTES ("first"), BYTES (""),
                                  BYTES ("last"), BYTES ("id")};
    struct message message;
    struct reason reason;
    bool found;
    assert_int_equal (message_read (frames, 5, &message, &reason), 0);
    assert_true (span_is (message_frame (&message, ZERO_FRAME_ARG, &found), "first") && found);
    assert_true (span_is (message_last_frame (&message, ZERO_FRAME_ARG, &found), "last") && found);
    assert_true (span_is (message_frame (&message, ZERO_FRAME_CONTENT, &found), "") && found);
    assert_true (span_is (message_frame (&message, ZERO_FRAME_REQUEST_ID, NULL), "id"));
    assert_true (message_frame (&message, ZERO_FRAME_PLAN, &found).size == 0 && !found);
    assert_true (message_last_frame (&message, ZERO_FRAME_PLAN, &found).size == 0 && !found);
    assert_int_equal (message_last_frame (&message, ZERO_FRAME_END, NULL).size, 0);
}

static void message_layout_is_what_message_read_reads (void **state)
{
    (void)state;
    static const struct {
        enum envelope envelope;
        const char *sender;
    } rows[] = {{ENVELOPE_PLAIN, ""},
                {ENVELOPE_REQ, ""},
                {ENVELOPE_CALLER, "bob"},
                {ENVELOPE_MAILBOX, "*1"}};
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct message out, in;
        struct reason reason;
        uint8_t desc[DESC_SIZE_MAX];
        struct span frames[MESSAGE_FRAMES_MAX];
        message_start (&out, ZERO_STATUS_OK_ID);
        out.envelope = rows[i].envelope;
        out.sender = span_text (rows[i].sender);
        for (size_t j = 0; j < DESC_FRAMES_MAX; j++)
            message_add (&out, ZERO_FRAME_ARG, span_text ("arg"));
        size_t count = message_layout (&out, desc, frames);
        assert_int_equal (count, rows[i].envelope == ENVELOPE_PLAIN ? 33 : 34);
        assert_int_equal (message_read (frames, count, &in, &reason), 0);
        assert_int_equal (in.envelope, rows[i].envelope);
        assert_true (span_is (in.sender, rows[i].sender));
        assert_int_equal (in.desc.count, DESC_FRAMES_MAX);
        assert_true (span_is (in.frames[31], "arg"));
    }
}

static const struct mailbox_row {
    struct span text;
    uint64_t id; // 0: it is none
} mailbox_rows[] = {
    {BYTES ("*1"), 1},
    {BYTES ("*1F"), 0x1f},
    {BYTES ("*7fffffffffffffff"), INT64_MAX},
    {BYTES ("*0000000000000001"), 1},
    {BYTES ("*8000000000000000"), 0},
    {BYTES ("*"), 0},
    {BYTES (""), 0},
    {BYTES ("1"), 0},
    {BYTES ("**1"), 0},
    {BYTES ("*0"), 0},
    {BYTES ("*1 "), 0},
    {BYTES ("*1\0"), 0},
    {BYTES ("*00000000000000001"), 0},
};

static void mailboxes_are_read_and_written (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (mailbox_rows); i++) {
        uint64_t id = 0;
        bool good = mailbox_parse (mailbox_rows[i].text, &id);
        CHECK (quoted (mailbox_rows[i].text), good == (mailbox_rows[i].id != 0));
        CHECK (quoted (mailbox_rows[i].text), id == mailbox_rows[i].id);
    }
    char text[MAILBOX_SIZE];
    assert_string_equal (mailbox_text (0x1f, text), "*1f");
    assert_string_equal (mailbox_text (INT64_MAX, text), "*7fffffffffffffff");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (commands_have_their_numbers),
        cmocka_unit_test (statuses_have_their_numbers_and_words),
        cmocka_unit_test (frame_types_have_their_numbers),
        cmocka_unit_test (errors_have_their_statuses),
        cmocka_unit_test (desc_parse_keeps_the_rules),
        cmocka_unit_test (desc_write_always_ends),
        cmocka_unit_test (random_bytes_parse_or_are_refused),
        cmocka_unit_test (message_read_tells_the_envelopes),
        cmocka_unit_test (message_read_cut_tells_the_envelopes),
        cmocka_unit_test (message_read_takes_32_frames_and_no_more),
        cmocka_unit_test (message_frames_are_found_by_type),
        cmocka_unit_test (message_layout_is_what_message_read_reads),
        cmocka_unit_test (mailboxes_are_read_and_written),
    };
    return cmocka_run_group_tests_name ("codec", tests, NULL, NULL);
}
