// zplan-web: the files of users, and tokens.
#include "rows.h"

#include "user_file.h"

#define SUM "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of "hello"

static void files (void **state)
{
    static const struct {
        const char *text;
        bool taken;
        int tokens;
    } rows[] = {
        {"name = ann\ntoken = " SUM "\n", true, 1},
        {"# a\n\n name=ann \r\nkey = /k\ntoken = " SUM "\ntoken = " SUM " 2027-01-01T00:00:00Z",
         true, 2},
        {"name = ann", true, 0},
        {"name = ann\nrate = 1\ntoken = " SUM, true, 1},
        {"name = ann\nrate = 100000", true, 0},
        {"name = ann\nrate = 100001", false, 0},
        {"name = ann\nrate = 99999999999999999999", false, 0},
        {"name = ann\nrate = 0", false, 0},
        {"name = ann\nrate = -1", false, 0},
        {"name = ann\nrate = 1.5", false, 0},
        {"name = ann\nrate = 5\nrate = 5", false, 0},
        {"", false, 0},
        {"token = " SUM, false, 0},
        {"name = a b", false, 0},
        {"name = .a", false, 0},
        {"name = ann\nname = ann", false, 0},
        {"name = ann\nkey = /a\nkey = /b", false, 0},
        {"name = ann\ntoken = 12", false, 0},
        {"name = ann\ntoken = " SUM "00", false, 0},
        {"name = ann\ntoken = " SUM " tomorrow", false, 0},
        {"name = ann\npassword = x", false, 0},
        {"name = ann\nname", false, 0},
        {"name =", false, 0},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct span text = span_text (rows[i].text);
        struct user_file file = {.token_count = 0};
        struct reason reason = {""};
        uint8_t *copy = exact_bytes (text);
        CHECK_INT (rows[i].text, user_file_read (span_of (copy, text.size), &file, &reason),
                   rows[i].taken ? 0 : -1);
        CHECK_INT (rows[i].text, file.token_count, rows[i].tokens);
        CHECK (rows[i].text, rows[i].taken == (reason.text[0] == '\0'));
        free (copy);
    }
}

static void tokens (void **state)
{
    struct user_file file;
    struct reason reason;
    uint8_t sum[TOKEN_SUM_SIZE];
    char one[TOKEN_SIZE], other[TOKEN_SIZE];
    struct span text = span_text ("name = ann\ntoken = " SUM " 1970-01-02T00:00:00Z");
    (void)state;
    assert_int_equal (user_file_read (text, &file, &reason), 0);
    token_sum ("hello", sum);
    assert_true (user_has_token (&file, sum, 86399));
    assert_false (user_has_token (&file, sum, 86400));
    token_sum ("hellp", sum);
    assert_false (user_has_token (&file, sum, 0));
    token_make ("zpw_", one);
    token_make ("zpw_", other);
    assert_int_equal (strlen (one), TOKEN_SIZE - 1);
    assert_string_not_equal (one, other);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (files), cmocka_unit_test (tokens)};
    return cmocka_run_group_tests_name ("web_user", tests, NULL, NULL);
}
