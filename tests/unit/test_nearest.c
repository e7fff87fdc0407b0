// Which known word was meant.
#include "rows.h"

#include "nearest.h"

static void one_of_the_verbs (void **state)
{
    static const struct {
        const char *given, *words, *hint;
    } rows[] = {
        {"lst", "add list show", "; did you mean list?"},
        {"lsit", "add list show", "; did you mean list?"},
        {"histroy", "history station", "; did you mean history?"},
        {"hist", "history station", "; did you mean history?"},
        {"--sation", "--state --station", "; did you mean --station?"},
        {"--stat", "--station --state", "; did you mean --state?"},
        {"--dryrun", "--all --dry-run", "; did you mean --dry-run?"},
        {"queu", "none queue execute", "; did you mean queue?"},
        {"Queue", "none queue execute", "; did you mean queue?"},
        {"xyzzy", "none queue execute", ""},
        {"-x", "-n", ""},
        {"a", "b", ""},
        {"", "list", ""},
        {"list", "", ""},
        {"a-word-that-is-longer-than-any-known-word", "list", ""},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct nearest nearest = nearest_to (rows[i].given);
        nearest_try_list (&nearest, rows[i].words);
        CHECK_TEXT (rows[i].given, nearest_hint (&nearest), rows[i].hint);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (one_of_the_verbs)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
