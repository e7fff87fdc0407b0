// Append-only files of Redis: how far a file is whole, and whether the rest was acknowledged.
#include "aof.h"
#include "rows.h"

#define SET   "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$2\r\n\r\n\r\n"
#define MULTI "*1\r\n$5\r\nMULTI\r\n"
#define EXEC  "*1\r\n$4\r\nEXEC\r\n"
#define ZEROS "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"

// `good` is a text of as many bytes as the whole part of the file has.
#define FILE_ROW(name, text, good, state)                                                          \
    {                                                                                              \
        name, text, sizeof text - 1, sizeof good - 1, state                                        \
    }

static const struct file_row {
    const char *name, *text;
    size_t size, good;
    enum aof_state state;
} file_rows[] = {
    FILE_ROW ("empty", "", "", AOF_WHOLE),
    FILE_ROW ("a command", SET, SET, AOF_WHOLE),
    FILE_ROW ("a transaction", SET MULTI SET SET EXEC, SET MULTI SET SET EXEC, AOF_WHOLE),
    FILE_ROW ("in small letters", "*1\r\n$5\r\nmulti\r\n" SET, "", AOF_TORN),
    FILE_ROW ("a remark", "#TS:1\r\n" SET "#TS:2\r\n", "#TS:1\r\n" SET "#TS:2\r\n", AOF_WHOLE),
    FILE_ROW ("zeros inside a value", "*1\r\n$3\r\na\0b\r\n", "*1\r\n$3\r\na\0b\r\n", AOF_WHOLE),
    FILE_ROW ("an empty value", "*1\r\n$0\r\n\r\n", "*1\r\n$0\r\n\r\n", AOF_WHOLE),
    FILE_ROW ("zeros only", ZEROS, "", AOF_TORN),
    FILE_ROW ("zeros behind", SET ZEROS ZEROS, SET, AOF_TORN),
    FILE_ROW ("a beginning", SET "*3\r\n$3\r\nSE", SET, AOF_TORN),
    FILE_ROW ("a star", SET "*", SET, AOF_TORN),
    FILE_ROW ("half a line end", SET "*3\r", SET, AOF_TORN),
    FILE_ROW ("a beginning and zeros", SET "*3\r\n$3\r\nSE" ZEROS ZEROS, SET, AOF_TORN),
    FILE_ROW ("zeros that would fill the value", SET "*1\r\n$9\r\nab" ZEROS, SET, AOF_TORN),
    FILE_ROW ("half a remark", SET "#TS", SET, AOF_TORN),
    FILE_ROW ("an open transaction", SET MULTI SET, SET, AOF_TORN),
    FILE_ROW ("one that was cut", SET MULTI SET "*3\r\n$3", SET, AOF_TORN),
    FILE_ROW ("one and zeros", SET MULTI SET ZEROS, SET, AOF_TORN),
    FILE_ROW ("bytes behind", SET "x", SET, AOF_DAMAGED),
    FILE_ROW ("bytes between", SET "garbage" SET, SET, AOF_DAMAGED),
    FILE_ROW ("zeros between", SET ZEROS SET, SET, AOF_DAMAGED),
    FILE_ROW ("zeros and a byte", SET ZEROS "x", SET, AOF_DAMAGED),
    FILE_ROW ("another size", SET "*1\r\n$2\r\nabc\r\n" SET, SET, AOF_DAMAGED),
    FILE_ROW ("no size", SET "*1\r\n$\r\n" SET, SET, AOF_DAMAGED),
    FILE_ROW ("a size of its own kind", SET "*1\r\n$-1\r\n", SET, AOF_DAMAGED),
    FILE_ROW ("a size beyond all", SET "*1\r\n$99999999999999999999\r\n", SET, AOF_DAMAGED),
    FILE_ROW ("no arguments", SET "*0\r\n", SET, AOF_DAMAGED),
    FILE_ROW ("a transaction in another", SET MULTI SET MULTI SET EXEC, SET, AOF_DAMAGED),
    FILE_ROW ("an end without a beginning", SET EXEC, SET, AOF_DAMAGED),
};

static void files_are_whole_torn_or_damaged (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (file_rows); i++) {
        const struct file_row *row = &file_rows[i];
        size_t good;
        CHECK_INT (row->name, aof_scan (span_of (row->text, row->size), &good), row->state);
        CHECK_INT (row->name, good, row->good);
    }
}

// Wherever a power loss cuts the file, with or without zeros after it, the whole part is kept.
static void each_cut_leaves_what_is_whole (void **state)
{
    static const char text[] = SET MULTI SET "*2\r\n$1\r\nx\r\n$10\r\n0123456789\r\n" EXEC SET;
    static const size_t whole[] = {0, sizeof SET - 1, sizeof text - sizeof SET, sizeof text - 1};
    char file[sizeof text + sizeof ZEROS];
    (void)state;
    for (size_t size = 0; size < sizeof text; size++)
        for (size_t zeros = 0; zeros < sizeof ZEROS; zeros += sizeof ZEROS - 1) {
            size_t good, want = 0;
            for (size_t i = 0; i < ROWS (whole); i++)
                want = whole[i] <= size ? whole[i] : want;
            memset (file, 0, sizeof file);
            memcpy (file, text, size);
            enum aof_state got = aof_scan (span_of (file, size + zeros), &good);
            CHECK_INT ("state", got, want == size + zeros ? AOF_WHOLE : AOF_TORN);
            CHECK_INT ("good", good, want);
        }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (files_are_whole_torn_or_damaged),
        cmocka_unit_test (each_cut_leaves_what_is_whole),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
