// Target stations as texts: what `station add` and the settings take.
#include "rows.h"
#include "target_settings.h"

static const struct text_row {
    const char *text;
    const char *reason; // NULL: it is good
} text_rows[] = {
    {"jobs=api@tcp://127.0.0.1:7930", NULL},
    {"jobs=pub@ipc:///run/jobs", NULL},
    {"jobs=vote@tcp://h:1,dialect=microzero,mailbox=identity,key=a=b", NULL},
    {"jobs=api@tcp://h:0", "'tcp://h:0': want a port 1..65535"},
    {"jobs=api@tcp://h:65536", "'tcp://h:65536': want a port 1..65535"},
    {"jobs=api@tcp://\xca\n:x", "'tcp://\\xca\\x0a:x': want a port 1..65535"},
    {"jobs=api@\x01", "'\\x01': want tcp://HOST:PORT or ipc://PATH"},
    {"jobs=\x80@tcp://h:1", "stations: jobs: want TYPE@ENDPOINT with the type api, pub or vote, or "
                            "pull alone, got '\\x80'"},
    {"jobs=pull", NULL},
    {"jobs=pull,kind=mail", NULL},
    {"jobs=pull@tcp://h:1", "stations: jobs: want TYPE@ENDPOINT with the type api, pub or vote, or "
                            "pull alone, got 'pull'"},
    {"jobs=pull,", "stations: jobs: '': no such option; there are dialect, mailbox, key, curve, "
                   "concurrency, rate, burst and kind"},
    {"jobs=pulls", "stations: want NAME=TYPE@ENDPOINT or NAME=pull, NAME of 1..64 A-Z a-z 0-9 _ . "
                   "-, got 'jobs'..."},
    {"jobs=api@tcp://h:1,key=", "stations: jobs: key: want a text of 1..255 bytes without a comma"},
};

static void text_is_taken_or_refused_in_words_that_can_be_shown (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (text_rows); i++) {
        const struct text_row *row = &text_rows[i];
        struct target_settings target = {.origin = ORIGIN_ADDED};
        struct reason reason = {""};
        CHECK_INT (row->text, target_settings_parse (row->text, &target, &reason),
                   row->reason ? -1 : 0);
        if (row->reason)
            CHECK_TEXT (row->text, reason.text, row->reason);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (text_is_taken_or_refused_in_words_that_can_be_shown),
    };
    return cmocka_run_group_tests_name ("target stations as texts", tests, NULL, NULL);
}
