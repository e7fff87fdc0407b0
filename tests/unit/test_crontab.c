// Lines of crontabs: what they mean, and how they are rejected.
#include "rows.h"

#include "crontab.h"

static struct crontab *read_text (const char *name, struct span text, enum crontab_format format)
{
    uint8_t *bytes = exact_bytes (text);
    struct crontab *crontab = crontab_read (span_of (bytes, text.size), format);
    free (bytes);
    CHECK (name, crontab);
    return crontab;
}

static const char *shown (const char *text)
{
    return text ? text : "(none)";
}

#define SYSTEM CRONTAB_SYSTEM

// The last job of a text without errors.
static const struct good {
    const char *name, *text;
    const char *times, *script;
    const char *input, *timezone, *user; // NULL = none
    int line;                            // 0 = 1
    enum crontab_format format;
} good_rows[] = {
    {"blanks and tabs", " \t30  8\t* * 1-5   a  b ", "30 8 * * 1-5", "a  b "},
    {"a word", "@Daily x\n", "@Daily", "x"},
    {"comments and lines count", "# 1\n\n  # 3\n* * * * * x\n", "* * * * *", "x", .line = 4},
    {"lines of another system", "* * * * * x\r\n", "* * * * *", "x"},
    {"names", "0 0 * jan-mar,DEC mon x", "0 0 * jan-mar,DEC mon", "x"},
    {"# is no comment behind a command", "* * * * * x # y", "* * * * *", "x # y"},
    {"= in a command", "@hourly A=1 x", "@hourly", "A=1 x"},
    {"a user", "0 1 * * * root cd / && x", "0 1 * * *", "cd / && x", .user = "root",
     .format = SYSTEM},
    {"a user behind a word", "@daily\tops\tx", "@daily", "x", .user = "ops", .format = SYSTEM},

    {"an escaped percent", "* * * * * date +\\%F\\n", "* * * * *", "date +%F\\n"},
    {"a backslash behind a backslash", "* * * * * a\\\\%b", "* * * * *", "a\\\\", "b\n"},
    {"input", "* * * * * cat%one%two", "* * * * *", "cat", "one\ntwo\n"},
    {"input with an escaped percent", "* * * * * cat%5\\%%", "* * * * *", "cat", "5%\n"},
    {"an empty input", "* * * * * cat%", "* * * * *", "cat"},
    {"a backslash at the end", "* * * * * a\\", "* * * * *", "a\\"},

    {"a variable", "PATH=/bin:/opt\n* * * * * x", "* * * * *", "export PATH='/bin:/opt'; x",
     .line = 2},
    {"blanks around it", "A  =  b c  \n* * * * * x", "* * * * *", "export A='b c'; x", .line = 2},
    {"quotes keep blanks", "A = ' b \"'\n\"B\"=\" c \" \n* * * * * x", "* * * * *",
     "export A=' b \"'; export B=' c '; x", .line = 3},
    {"a quote in a value", "A=it's\n* * * * * x", "* * * * *", "export A='it'\\''s'; x", .line = 2},
    {"nothing is expanded", "A=$HOME/`x`\n* * * * * x", "* * * * *", "export A='$HOME/`x`'; x",
     .line = 2},
    {"set again", "A=1\nB=2\nA=3\n* * * * * x", "* * * * *", "export A='3'; export B='2'; x",
     .line = 4},
    {"it holds for later lines only", "* * * * * x\nA=1\n", "* * * * *", "x"},
    {"empty", "A=\n* * * * * x", "* * * * *", "export A=''; x", .line = 2},
    {"a folder", "HOME=/srv\n* * * * * x", "* * * * *",
     "export HOME='/srv'; cd \"$HOME\" || exit; x", .line = 2},
    {"the usual shell", "SHELL=/bin/sh\n* * * * * x", "* * * * *", "export SHELL='/bin/sh'; x",
     .line = 2},
    {"another shell", "SHELL=/bin/bash\n* * * * * echo 'a b'", "* * * * *",
     "export SHELL='/bin/bash'; exec '/bin/bash' -c 'echo '\\''a b'\\'''", .line = 2},
    {"a zone", "CRON_TZ=Europe/Berlin\n* * * * * x", "* * * * *", "x", .timezone = "Europe/Berlin",
     .line = 2},
    {"a zone that ends", "CRON_TZ=Europe/Berlin\nCRON_TZ=\n* * * * * x", "* * * * *", "x",
     .line = 3},
    {"TZ is for the command", "TZ=Asia/Tokyo\n* * * * * x", "* * * * *",
     "export TZ='Asia/Tokyo'; x", .line = 2},
};

static void means (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (good_rows); i++) {
        const struct good *row = &good_rows[i];
        struct crontab *crontab = read_text (row->name, span_text (row->text), row->format);
        CHECK_TEXT (row->name, crontab->remark_count ? crontab->remarks[0].text.text : "", "");
        CHECK_INT (row->name, crontab->job_count, 1);
        const struct crontab_job *job = crontab->jobs;
        CHECK_INT (row->name, job->line, row->line ? row->line : 1);
        CHECK_TEXT (row->name, job->times, row->times);
        CHECK_TEXT (row->name, job->script, row->script);
        CHECK_TEXT (row->name, shown (job->input), shown (row->input));
        CHECK_TEXT (row->name, shown (job->timezone), shown (row->timezone));
        CHECK_TEXT (row->name, shown (job->user), shown (row->user));
        crontab_destroy (&crontab);
        crontab_destroy (&crontab);
    }
}

// The remark about the last line, of which no job is made.
static const struct remark {
    const char *name;
    struct span text;
    int line;
    const char *remark;
    enum crontab_format format;
    bool note;
} remark_rows[] = {
    {"@reboot", BYTES ("@reboot x"), 1,
     "column 1: @reboot is no time of a plan: let systemd or the system's cron do it"},
    {"an unknown word", BYTES ("\n @often x"), 2,
     "times: column 2: want @yearly, @monthly, @weekly, @daily, @hourly or fields, got '@often'"},
    {"a wrong field", BYTES ("0 24 * * * x"), 1, "times: column 3: want 0..23, got 24"},
    {"a wrong field behind blanks", BYTES ("  0   24 * * * x"), 1,
     "times: column 7: want 0..23, got 24"},
    {"too few fields", BYTES ("0 1 * *"), 1, "column 8: want 5 fields of time and a command"},
    {"no command", BYTES ("0 1 * * * "), 1, "column 11: want a command"},
    {"no command behind a word", BYTES ("@daily"), 1, "column 7: want a command"},
    {"no command behind a user", BYTES ("0 1 * * * root"), 1,
     "column 15: want a user and a command", SYSTEM},
    {"text behind a quote", BYTES ("A=\"b\" c"), 1, "column 7: want nothing behind the quote"},
    {"a name that no shell takes", BYTES ("a-b=1"), 1,
     "column 1: want a variable's name of letters, digits and _"},
    {"a NUL", BYTES ("* * * * * a\0b"), 1, "column 12: want UTF-8 without NULs"},
    {"no UTF-8", BYTES ("* * * * * \xc3"), 1, "column 11: want UTF-8 without NULs"},
    {"mail", BYTES ("MAILTO=ops"), 1,
     "MAILTO is not kept: nothing is mailed; use --on-failure, or zplan watch --exec",
     .note = true},
    {"a random delay", BYTES ("RANDOM_DELAY=5"), 1, "RANDOM_DELAY is not kept: use --jitter",
     .note = true},
};

static void remarks (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (remark_rows); i++) {
        const struct remark *row = &remark_rows[i];
        struct crontab *crontab = read_text (row->name, row->text, row->format);
        CHECK_INT (row->name, crontab->remark_count, 1);
        CHECK_INT (row->name, crontab->job_count, 0);
        CHECK_INT (row->name, crontab->error_count, !row->note);
        CHECK_TEXT (row->name, crontab->remarks[0].text.text, row->remark);
        CHECK_INT (row->name, crontab->remarks[0].line, row->line);
        crontab_destroy (&crontab);
    }
    struct crontab *quiet = read_text ("no mail", span_text ("MAILTO=\"\""), CRONTAB_USER);
    CHECK_INT ("no mail", quiet->remark_count, 0);
    crontab_destroy (&quiet);
}

// Two lines, and whether they are the same plan.
static const struct digest_row {
    const char *name, *a, *b;
    bool same;
} digest_rows[] = {
    {"blanks between the fields", "0 1 * * * x", " 0\t1 *  * *  x", true},
    {"the place in the file", "0 1 * * * x", "# more\n\n0 1 * * * x", true},
    {"the times", "0 1 * * * x", "0 2 * * * x", false},
    {"the command", "0 1 * * * x", "0 1 * * * x ", false},
    {"the input", "0 1 * * * x%a", "0 1 * * * x%b", false},
    {"input or command", "0 1 * * * x%a", "0 1 * * * xa", false},
    {"a variable", "A=1\n0 1 * * * x", "A=2\n0 1 * * * x", false},
    {"a zone", "CRON_TZ=UTC\n0 1 * * * x", "0 1 * * * x", false},
};

static void digests (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (digest_rows); i++) {
        const struct digest_row *row = &digest_rows[i];
        struct crontab *a = read_text (row->name, span_text (row->a), CRONTAB_USER);
        struct crontab *b = read_text (row->name, span_text (row->b), CRONTAB_USER);
        CHECK_INT (row->name, strlen (a->jobs[0].digest), 12);
        CHECK_INT (row->name, strcmp (a->jobs[0].digest, b->jobs[0].digest) == 0, row->same);
        crontab_destroy (&a);
        crontab_destroy (&b);
    }
}

// The names of imported plans stay the same from version to version.
static void digest_stays (void **state)
{
    (void)state;
    struct crontab *crontab =
        read_text ("digest", span_text ("0 2 * * * backup /home"), CRONTAB_USER);
    CHECK_TEXT ("digest", crontab->jobs[0].digest, "631919002962");
    crontab_destroy (&crontab);
}

// `count` times the same line.
static struct span repeated (const char *line, size_t count)
{
    size_t size = strlen (line);
    char *text = malloc (size * count + 1);
    if (!text)
        abort ();
    for (size_t i = 0; i < count; i++)
        memcpy (text + i * size, line, size);
    return span_of (text, size * count);
}

static void bounds (void **state)
{
    (void)state;
    struct span jobs = repeated ("@daily x\n", CRONTAB_JOBS_MAX + 2);
    struct crontab *crontab = read_text ("jobs", jobs, CRONTAB_USER);
    CHECK_INT ("jobs", crontab->job_count, CRONTAB_JOBS_MAX);
    CHECK_INT ("jobs", crontab->error_count, 2);
    crontab_destroy (&crontab);
    free ((void *)(uintptr_t)jobs.data);

    struct span wrong = repeated ("x\n", CRONTAB_REMARKS_MAX + 1);
    crontab = read_text ("remarks", wrong, CRONTAB_USER);
    CHECK_INT ("remarks", crontab->remark_count, CRONTAB_REMARKS_MAX);
    CHECK ("remarks", crontab->cut);
    crontab_destroy (&crontab);
    free ((void *)(uintptr_t)wrong.data);

    char *large = malloc (CRONTAB_VARIABLES_MAX + 8);
    if (!large)
        abort ();
    memset (large, 'v', CRONTAB_VARIABLES_MAX + 8);
    memcpy (large, "A=", 2);
    crontab = read_text ("variables", span_of (large, CRONTAB_VARIABLES_MAX + 8), CRONTAB_USER);
    CHECK_TEXT ("variables", crontab->remarks[0].text.text,
                "column 1: want at most 16 KiB of variables");
    crontab_destroy (&crontab);
    free (large);
}

// Any bytes are read, and what is no job makes a remark.
static void random_bytes (void **state)
{
    (void)state;
    static const char alphabet[] = "\n\n  *0159,-/@%\\='\"#dailyCRON_TZ\t\r\xc3";
    uint64_t seed = 4711;
    for (int i = 0; i < 20000; i++) {
        char text[48];
        size_t size = next_random (&seed) % sizeof text;
        for (size_t j = 0; j < size; j++)
            text[j] = alphabet[next_random (&seed) % sizeof alphabet]; // its NUL too
        struct crontab *crontab =
            read_text ("random", span_of (text, size), i % 2 ? CRONTAB_SYSTEM : CRONTAB_USER);
        crontab_destroy (&crontab);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (means),   cmocka_unit_test (remarks),
        cmocka_unit_test (digests), cmocka_unit_test (digest_stays),
        cmocka_unit_test (bounds),  cmocka_unit_test (random_bytes),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
