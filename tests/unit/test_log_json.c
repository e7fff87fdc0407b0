// A line of the log as one JSON object.
#include "rows.h"

#include "log_json.h"

static void lines (void **state)
{
    static const struct {
        const char *name, *line, *json;
    } rows[] = {
        {"fields", "ts=1 level=info event=redis.up fsync=always",
         "{\"ts\":\"1\",\"level\":\"info\",\"event\":\"redis.up\",\"fsync\":\"always\"}"},
        {"nothing", "", "{}"},
        {"blanks at the end", "a=1  ", "{\"a\":\"1\"}"},
        {"an empty value", "a= b=2", "{\"a\":\"\",\"b\":\"2\"}"},
        {"a quoted value", "reason=\"it is away\" n=1", "{\"reason\":\"it is away\",\"n\":\"1\"}"},
        {"one of a peer", "station='a b=\\xff' n=1", "{\"station\":\"a b=\\\\xff\",\"n\":\"1\"}"},
        {"a quote of the other kind in it", "reason=\"no 'a b' c\"", "{\"reason\":\"no 'a b' c\"}"},
        {"a quote within a word", "reason=\"a\"b c\" n=1", "{\"reason\":\"a\\\"b c\",\"n\":\"1\"}"},
        {"cut in a quoted value", "reason=\"it is", "{\"reason\":\"it is\"}"},
        {"only a quote", "reason=\"", "{\"reason\":\"\"}"},
        {"an = in a value", "a=b=c", "{\"a\":\"b=c\"}"},
        {"words without a key", "a=1 or 2 b=3", "{\"a\":\"1 or 2\",\"b\":\"3\"}"},
        {"no key at all", "hello there", "{\"\":\"hello there\"}"},
        {"an empty key", "=1", "{\"\":\"=1\"}"},
        {"control characters", "a=\"x\ty\nz\"", "{\"a\":\"x\\\\x09y\\\\x0az\"}"},
        {"bytes", "a=f\xc3\xbcr\xff", "{\"a\":\"f\\\\xc3\\\\xbcr\\\\xff\"}"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        char out[256];
        size_t size = log_json (rows[i].line, strlen (rows[i].line), out, sizeof out);
        out[size] = '\0';
        CHECK_TEXT (rows[i].name, out, rows[i].json);
    }
}

// A line of any length is an object in any room.
static void cuts (void **state)
{
    static const char line[] = "ts=1 event=x \xff='\xff\xff' reason=\"a \\ \" bc\" word n=12";
    char whole[256];
    (void)state;
    size_t size = log_json (line, sizeof line - 1, whole, sizeof whole);
    for (size_t room = 16; room <= size; room++) {
        char *out = malloc (room);
        size_t cut = log_json (line, sizeof line - 1, out, room);
        bool ends = cut <= room && out[cut - 1] == '}' && (cut == 2 || out[cut - 2] == '"');
        CHECK_INT ("an object", ends, true);
        CHECK_INT ("its begin", memcmp (out, whole, cut - 2), 0);
        free (out);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (lines), cmocka_unit_test (cuts)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
