// Members of a stored message, found in its text.
#include "rows.h"

#include <string.h>

#include "stored_text.h"

static const struct number_row {
    const char *name, *message, *member;
    int64_t number;
} number_rows[] = {
    {"as a station writes it", "{\"a\":1,\"revision\":42}", "revision", 42},
    {"with spaces", "{ \"revision\" : 42 }", "revision", 42},
    {"none", "{\"a\":1}", "revision", 0},
    {"in a text", "{\"a\":\"\\\"revision\\\":7\",\"revision\":8}", "revision", 8},
    {"a value of that text", "{\"a\":\"revision\",\"revision\":8}", "revision", 8},
    {"behind one that is no number", "{\"n\":\"x\",\"n\":5}", "n", 5},
    {"the greatest", "{\"n\":9223372036854775807}", "n", INT64_MAX},
    {"too large", "{\"n\":99999999999999999999}", "n", INT64_MAX},
    {"cut off", "{\"n\":", "n", 0},
    {"nothing", "", "n", 0},
};

static void numbers_are_found (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof number_rows / sizeof *number_rows; i++) {
        const struct number_row *row = &number_rows[i];
        CHECK_INT (row->name, message_number (span_text (row->message), row->member), row->number);
    }
}

static const struct has_row {
    const char *name, *message, *member, *value;
    bool has;
} has_rows[] = {
    {"the last", "{\"tenant\":7}", "tenant", "7", true},
    {"not the last", "{\"tenant\":7,\"a\":1}", "tenant", "7", true},
    {"with spaces", "{\"tenant\" : 7 }", "tenant", "7", true},
    {"another", "{\"tenant\":8}", "tenant", "7", false},
    {"a longer one", "{\"tenant\":77}", "tenant", "7", false},
    {"a text", "{\"kind\":\"a\",\"b\":1}", "kind", "\"a\"", true},
    {"within a text", "{\"a\":\"\\\"tenant\\\":7,\"}", "tenant", "7", false},
    {"the second of that name", "{\"n\":{\"tenant\":6},\"tenant\":7}", "tenant", "7", true},
    {"of a long name", "{\"the_name_of_this_member_is_long_enough\":7}",
     "the_name_of_this_member_is_long_enough", "7", true},
    {"of a name that is too long",
     "{\"a_name_that_is_longer_than_any_that_a_station_writes_and_so_is_none_of_ours\":7}",
     "a_name_that_is_longer_than_any_that_a_station_writes_and_so_is_none_of_ours", "7", false},
    {"cut off", "{\"tenant\":7", "tenant", "7", false},
    {"nothing", "", "tenant", "7", false},
};

static void members_are_found (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof has_rows / sizeof *has_rows; i++) {
        const struct has_row *row = &has_rows[i];
        CHECK_INT (row->name,
                   message_has (span_text (row->message), row->member, span_text (row->value)),
                   row->has);
    }
}

static const struct running_row {
    const char *name, *before;
    uint64_t exec_id;
    const char *after;
} running_rows[] = {
    {"in progress", "{\"plan_state\" : 1,\"exec_time\":0,\"exec_id\":12,\"a\":1}", 1700000000250000,
     "{\"plan_state\" : 2,\"exec_time\":1700000000,\"exec_id\":1700000000250000,\"a\":1}"},
    {"without numbers", "{}", 7, "{}"},
    {"no run", "{\"plan_state\":1}", 0, "{\"plan_state\":1}"},
    {"it says so", "{\"exec_id\":7,\"plan_state\":4}", 7, "{\"exec_id\":7,\"plan_state\":4}"},
    {"nothing", "", 7, ""},
};

static void a_message_says_that_its_run_is_in_progress (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof running_rows / sizeof *running_rows; i++) {
        const struct running_row *row = &running_rows[i];
        size_t size;
        uint8_t *text = message_as_running (span_text (row->before), row->exec_id, &size);
        CHECK (row->name, span_equal (span_of (text, size), span_text (row->after)));
        CHECK_INT (row->name, text[size], 0);
        free (text);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (numbers_are_found),
        cmocka_unit_test (members_are_found),
        cmocka_unit_test (a_message_says_that_its_run_is_in_progress),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
