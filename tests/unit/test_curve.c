// Certificate files: which are accepted, and the reasons of rejections; keys of every kind are read
// as they were written; no reason contains a key.
#include "rows.h"

#include <czmq.h>
#include <sys/stat.h>

#include "curve.h"
#include "endpoints.h"

static char folder[] = "/tmp/zplan-curve-XXXXXX";
static struct curve_keys keys; // both hold a '#'
static struct curve_keys other;

static const char *path_of (const char *name)
{
    static char path[256];
    snprintf (path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int set_up (void **state)
{
    struct reason reason;
    (void)state;
    zsys_handler_set (NULL);
    if (!mkdtemp (folder) || curve_keys_make (&other, &reason))
        return -1;
    // About one pair in six.
    do
        curve_keys_make (&keys, &reason);
    while (!strchr (keys.public_key, '#') || !strchr (keys.secret_key, '#'));
    return 0;
}

static int tear_down (void **state)
{
    (void)state;
    zdir_t *dir = zdir_new (folder, NULL);
    zdir_remove (dir, true);
    zdir_destroy (&dir);
    return 0;
}

// Write the text with $P, $S, $O replaced by the public, the secret and another public key.
static const char *write_file (const char *text, mode_t mode)
{
    const char *path = path_of ("row");
    unlink (path);
    FILE *file = fopen (path, "w");
    for (const char *at = text; *at; at++) {
        const char *key = *at != '$'     ? NULL
                          : at[1] == 'P' ? keys.public_key
                          : at[1] == 'S' ? keys.secret_key
                          : at[1] == 'O' ? other.public_key
                                         : NULL;
        if (key)
            fputs (key, file);
        else
            fputc (*at, file);
        at += key ? 1 : 0;
    }
    fclose (file);
    chmod (path, mode);
    return path;
}

// -- files

#define SECRET "curve\n    public-key = \"$P\"\n    secret-key = \"$S\"\n"

static const struct row {
    const char *name;
    const char *text;
    enum curve_part part;
    mode_t mode;
    const char *reason; // "" = it is taken
} rows[] = {
    {"a public one", "curve\n    public-key = \"$P\"\n", CURVE_PUBLIC, 0644, ""},
    {"a secret one", SECRET, CURVE_SECRET, 0600, ""},
    {"a secret one that is only read", SECRET, CURVE_SECRET, 0400, ""},
    {"single quotes", "curve\n    public-key = '$P'\n", CURVE_PUBLIC, 0600, ""},
    {"comments, blank lines, CRLF and no line end",
     "# one\r\n\r\n  # two\r\ncurve # three\r\n    public-key = \"$P\" # four", CURVE_PUBLIC, 0600,
     ""},
    {"all of the metadata",
     "metadata\n    name = \"a # b\"\n    roles = \"submit,observe,manage,result,signal\"\n"
     "    stations = jobs,re*,*  # all\ncurve\n  public-key=\"$P\"\n",
     CURVE_PUBLIC, 0600, ""},
    {"metadata that is empty", "metadata\n    roles = \"\"\ncurve\n    public-key = \"$P\"\n",
     CURVE_PUBLIC, 0600, ""},
    {"nothing", "", CURVE_PUBLIC, 0600, "the public-key is missing"},
    {"no public key", "curve\n    secret-key = \"$S\"\n", CURVE_SECRET, 0600,
     "the public-key is missing"},
    {"no secret key", "curve\n    public-key = \"$P\"\n", CURVE_SECRET, 0600,
     "the secret-key is missing: want the file whose name ends with _secret"},
    {"a secret where others read", SECRET, CURVE_PUBLIC, 0600,
     "contains a secret key, which is not allowed here"},
    {"read by the group", SECRET, CURVE_SECRET, 0640, "others may use this secret: chmod 600 it"},
    {"read by all", SECRET, CURVE_SECRET, 0604, "others may use this secret: chmod 600 it"},
    {"written by all", SECRET, CURVE_SECRET, 0602, "others may use this secret: chmod 600 it"},
    {"a bare key is cut at its #", "curve\n    public-key = $P\n", CURVE_PUBLIC, 0600,
     "the public-key is not 40 characters of Z85"},
    {"39 characters", "curve\n    public-key = \"012345678901234567890123456789012345678\"\n",
     CURVE_PUBLIC, 0600, "the public-key is not 40 characters of Z85"},
    {"41 characters", "curve\n    public-key = \"01234567890123456789012345678901234567890\"\n",
     CURVE_PUBLIC, 0600, "line 2 is too long"},
    {"40 that are not Z85",
     "curve\n    public-key = \"0123456789012345678901234567890123456~~~\"\n", CURVE_PUBLIC, 0600,
     "the public-key is not 40 characters of Z85"},
    {"40 that are more than 32 bits hold",
     "curve\n    public-key = \"########################################\"\n", CURVE_PUBLIC, 0600,
     "the public-key is not 40 characters of Z85"},
    {"40 with a blank", "curve\n    public-key = \"01234567890123456789 1234567890123456789\"\n",
     CURVE_PUBLIC, 0600, "the public-key is not 40 characters of Z85"},
    {"a secret key that is none", "curve\n    public-key = \"$P\"\n    secret-key = \"secret\"\n",
     CURVE_SECRET, 0600, "the secret-key is not 40 characters of Z85"},
    {"keys of two pairs", "curve\n    public-key = \"$O\"\n    secret-key = \"$S\"\n", CURVE_SECRET,
     0600, "the public-key does not belong to the secret-key"},
    {"a key twice", "curve\n    public-key = \"$P\"\n    public-key = \"$P\"\n", CURVE_PUBLIC, 0600,
     "line 3 is a duplicate"},
    {"a field that is not known", "curve\n    public-key = \"$P\"\n    secret = \"$S\"\n",
     CURVE_SECRET, 0600,
     "line 3 is not a field of a certificate: metadata has name, roles, stations, speaks_for; "
     "curve has "
     "public-key, secret-key"},
    {"a key among the metadata", "metadata\n    public-key = \"$P\"\n", CURVE_PUBLIC, 0600,
     "line 2 is not a field of a certificate: metadata has name, roles, stations, speaks_for; "
     "curve has "
     "public-key, secret-key"},
    {"a field before any section", "    name = x\n", CURVE_PUBLIC, 0600,
     "line 1 is not a field of a certificate: metadata has name, roles, stations, speaks_for; "
     "curve has "
     "public-key, secret-key"},
    {"a section that is not known", "metadat\n", CURVE_PUBLIC, 0600,
     "line 1 is not a section of a certificate: want metadata or curve"},
    {"a key alone", "$P\n", CURVE_PUBLIC, 0600,
     "line 1 is not a section of a certificate: want metadata or curve"},
    {"no value", "metadata\n    name\n", CURVE_PUBLIC, 0600, "line 2 is not NAME = \"VALUE\""},
    {"a quote that does not end", "metadata\n    name = \"x\n", CURVE_PUBLIC, 0600,
     "line 2 has an unterminated quote, or text after it"},
    {"a quote alone", "metadata\n    name = \"", CURVE_PUBLIC, 0600,
     "line 2 has an unterminated quote, or text after it"},
    {"something behind it", "curve\n    public-key = \"$P\" $S\n", CURVE_PUBLIC, 0600,
     "line 2 has an unterminated quote, or text after it"},
    {"a tabulator", "metadata\n\tname = x\n", CURVE_PUBLIC, 0600,
     "line 2 holds a control character"},
    {"a role that is not known",
     "metadata\n    roles = \"submit,root\"\ncurve\n    public-key = \"$P\"\n", CURVE_PUBLIC, 0600,
     "roles: want one or more of submit,observe,manage,result,signal, got 'root'"},
    {"a blank before a role",
     "metadata\n    roles = \"submit, observe\"\ncurve\n    public-key = \"$P\"\n", CURVE_PUBLIC,
     0600, "roles: want one or more of submit,observe,manage,result,signal, got ' observe'"},
    {"a role missing", "metadata\n    roles = \"submit,\"\ncurve\n    public-key = \"$P\"\n",
     CURVE_PUBLIC, 0600, "roles: want one or more of submit,observe,manage,result,signal, got ''"},
    {"a star within", "metadata\n    stations = \"a*b\"\ncurve\n    public-key = \"$P\"\n",
     CURVE_PUBLIC, 0600,
     "stations: want names of 1..64 A-Z a-z 0-9 _ . - or prefixes of them that end with *, "
     "got 'a*b'"},
    {"a station missing", "metadata\n    stations = \"a,,b\"\ncurve\n    public-key = \"$P\"\n",
     CURVE_PUBLIC, 0600,
     "stations: want names of 1..64 A-Z a-z 0-9 _ . - or prefixes of them that end with *, "
     "got ''"},
};

static void a_file_is_taken_or_refused_in_words (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        const struct row *row = &rows[i];
        const char *path = write_file (row->text, row->mode);
        struct curve_cert cert = {.name = "untouched"};
        struct reason reason = {""};
        char want[512] = "";
        int rc = curve_cert_load (path, row->part, &cert, &reason);
        if (*row->reason)
            snprintf (want, sizeof want, "%s: %s", path, row->reason);
        want[REASON_MAX - 1] = '\0';
        CHECK_TEXT (row->name, reason.text, want);
        CHECK_INT (row->name, rc, *row->reason ? -1 : 0);
        CHECK (row->name, !strstr (reason.text, keys.public_key));
        CHECK (row->name, !strstr (reason.text, keys.secret_key));
        if (rc) {
            CHECK_TEXT (row->name, cert.name, "untouched");
            continue;
        }
        CHECK_TEXT (row->name, cert.keys.public_key, keys.public_key);
        CHECK_TEXT (row->name, cert.keys.secret_key,
                    row->part == CURVE_SECRET ? keys.secret_key : "");
    }
}

static void what_stands_in_the_file_is_returned (void **state)
{
    (void)state;
    struct curve_cert cert;
    struct reason reason;
    const char *path = write_file ("metadata\n    name = \"a # b\"\n    roles = 'submit,result'\n"
                                   "    stations = jobs,re*  # all\n" SECRET,
                                   0600);
    assert_int_equal (curve_cert_load (path, CURVE_SECRET, &cert, &reason), 0);
    assert_string_equal (cert.name, "a # b");
    assert_string_equal (cert.roles, "submit,result");
    assert_string_equal (cert.stations, "jobs,re*");
}

static void refuse (const char *name, const char *path, const char *why)
{
    struct curve_cert cert;
    struct reason reason;
    CHECK_INT (name, curve_cert_load (path, CURVE_PUBLIC, &cert, &reason), -1);
    CHECK (name, strstr (reason.text, why));
}

static void what_is_no_file_is_refused (void **state)
{
    (void)state;
    refuse ("missing", path_of ("missing"), "missing: No such file or directory");
    refuse ("a folder", folder, ": is not a file");
    mkfifo (path_of ("fifo"), 0600);
    refuse ("a pipe without a writer", path_of ("fifo"), "fifo: is not a file");
    FILE *file = fopen (path_of ("large"), "w");
    for (int i = 0; i < 3000; i++)
        fputs ("#\n\n", file);
    fclose (file);
    refuse ("large", path_of ("large"), "large: is too large for a certificate");
    char path[400] = "/";
    memset (path + 1, 'x', 300);
    snprintf (path + 301, sizeof path - 301, "/the-end");
    refuse ("a long path", path, "x/the-end: ");
    file = fopen (path_of ("nul"), "w");
    fwrite ("curve\n    a\0b = c\n", 1, 18, file);
    fclose (file);
    refuse ("a NUL", path_of ("nul"), "line 2 holds a control character");
}

// -- saving

static struct curve_cert cert_named (const char *name)
{
    struct curve_cert cert = {.roles = "submit,observe", .stations = "jobs,report-*"};
    struct reason reason;
    snprintf (cert.name, sizeof cert.name, "%s", name);
    curve_keys_make (&cert.keys, &reason);
    return cert;
}

static mode_t mode_of (const char *path)
{
    struct stat entry;
    return stat (path, &entry) ? 0 : entry.st_mode & 07777;
}

static void every_key_survives_its_file (void **state)
{
    (void)state;
    char public_path[CURVE_PATH_SIZE], secret_path[CURVE_PATH_SIZE], name[32];
    struct reason reason;
    umask (022);
    for (int i = 0; i < 200; i++) {
        snprintf (name, sizeof name, "many-%d", i);
        struct curve_cert cert = cert_named (name), got;
        if (curve_cert_save (folder, &cert, public_path, secret_path, &reason))
            fail_msg ("%s", reason.text);
        CHECK (name, *cert.keys.public_key != '-');
        CHECK_INT (name, mode_of (public_path), 0644);
        CHECK_INT (name, mode_of (secret_path), 0600);
        if (curve_cert_load (secret_path, CURVE_SECRET, &got, &reason))
            fail_msg ("%s", reason.text);
        CHECK (name, memcmp (&got.keys, &cert.keys, sizeof got.keys) == 0);
        CHECK_TEXT (name, got.name, name);
        CHECK_TEXT (name, got.roles, cert.roles);
        CHECK_TEXT (name, got.stations, cert.stations);
        if (curve_cert_load (public_path, CURVE_PUBLIC, &got, &reason))
            fail_msg ("%s", reason.text);
        CHECK_TEXT (name, got.keys.public_key, cert.keys.public_key);
        CHECK_TEXT (name, got.keys.secret_key, "");
        // czmq reads the same.
        zcert_t *theirs = zcert_load (secret_path);
        CHECK_TEXT (name, zcert_public_txt (theirs), cert.keys.public_key);
        CHECK_TEXT (name, zcert_secret_txt (theirs), cert.keys.secret_key);
        CHECK_TEXT (name, zcert_meta (theirs, "stations"), cert.stations);
        zcert_destroy (&theirs);
    }
}

static void certificates_of_czmq_are_read (void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct curve_cert cert;
        struct reason reason;
        zcert_t *theirs = zcert_new ();
        zcert_set_meta (theirs, "name", "%s", "theirs");
        zcert_set_meta (theirs, "roles", "%s", "manage");
        zcert_save (theirs, path_of ("czmq"));
        if (curve_cert_load (path_of ("czmq_secret"), CURVE_SECRET, &cert, &reason))
            fail_msg ("%s", reason.text);
        assert_string_equal (cert.keys.public_key, zcert_public_txt (theirs));
        assert_string_equal (cert.keys.secret_key, zcert_secret_txt (theirs));
        assert_string_equal (cert.roles, "manage");
        if (curve_cert_load (path_of ("czmq"), CURVE_PUBLIC, &cert, &reason))
            fail_msg ("%s", reason.text);
        zcert_destroy (&theirs);
    }
}

static void no_file_is_written_over (void **state)
{
    (void)state;
    char public_path[CURVE_PATH_SIZE], secret_path[CURVE_PATH_SIZE];
    struct reason reason;
    struct curve_cert first = cert_named ("once"), second = cert_named ("once"), got;
    assert_int_equal (curve_cert_save (folder, &first, public_path, secret_path, &reason), 0);
    assert_int_equal (curve_cert_save (folder, &second, public_path, secret_path, &reason), -1);
    assert_non_null (strstr (reason.text, "once.key_secret: already exists"));
    assert_int_equal (curve_cert_load (secret_path, CURVE_SECRET, &got, &reason), 0);
    assert_string_equal (got.keys.secret_key, first.keys.secret_key);
    // If only the public file exists, saving fails and creates no secret file.
    assert_int_equal (unlink (secret_path), 0);
    assert_int_equal (curve_cert_save (folder, &second, public_path, secret_path, &reason), -1);
    assert_non_null (strstr (reason.text, "once.key: already exists"));
    assert_int_equal (mode_of (secret_path), 0);
    assert_int_equal (curve_cert_load (public_path, CURVE_PUBLIC, &got, &reason), 0);
    assert_string_equal (got.keys.public_key, first.keys.public_key);
}

static const struct {
    const char *name, *roles, *stations, *reason;
} unsound[] = {
    {"", "", "", "name: want 1..64"},
    {".hidden", "", "", "name: want 1..64"},
    {"a/b", "", "", "name: want 1..64"},
    {"..", "", "", "name: want 1..64"},
    {"a b", "", "", "name: want 1..64"},
    {"a\"b", "", "", "name: want 1..64"},
    {"r", "root", "", "roles: want one or more of"},
    {"s", "", "a b", "stations: want names"},
    {"s", "", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
     "stations: want"},
};

static void what_would_not_be_read_is_not_written (void **state)
{
    (void)state;
    char public_path[CURVE_PATH_SIZE], secret_path[CURVE_PATH_SIZE];
    for (size_t i = 0; i < ROWS (unsound); i++) {
        struct reason reason;
        struct curve_cert cert = cert_named (unsound[i].name);
        snprintf (cert.roles, sizeof cert.roles, "%s", unsound[i].roles);
        snprintf (cert.stations, sizeof cert.stations, "%s", unsound[i].stations);
        CHECK_INT (unsound[i].reason,
                   curve_cert_save (folder, &cert, public_path, secret_path, &reason), -1);
        CHECK (reason.text,
               strncmp (reason.text, unsound[i].reason, strlen (unsound[i].reason)) == 0);
    }
}

// -- stations

static const struct {
    const char *list, *station;
    bool has;
} patterns[] = {
    {"", "jobs", true},       {"jobs", "jobs", true},      {"jobs", "job", false},
    {"jobs", "jobs2", false}, {"*", "jobs", true},         {"*", "", true},
    {"re-*", "re-", true},    {"re-*", "re-a", true},      {"re-*", "re", false},
    {"re-*", "xre-a", false}, {"a,b,re*", "report", true}, {"a,b,re*", "b", true},
    {"a,b,re*", "c", false},  {"a,b,re*", "a,b", false},   {"jobs", "", false},
};

static void a_list_of_stations_has_names_and_beginnings (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (patterns); i++) {
        char name[64];
        snprintf (name, sizeof name, "%s in %s", patterns[i].station, patterns[i].list);
        uint8_t *exact = exact_bytes (span_text (patterns[i].station));
        CHECK_INT (
            name,
            curve_stations_have (patterns[i].list, span_of (exact, strlen (patterns[i].station))),
            patterns[i].has);
        free (exact);
    }
}

// -- where a station on another machine, or on this one, is reached

static const struct {
    const char *name, *bound, *expected; // NULL = it is not
} reached[] = {
    {"b:17", "tcp://10.0.0.2:7920", "tcp://10.0.0.2:7920"},
    {"b:17", "tcp://*:7920", "tcp://b:7920"},
    {"b:17", "tcp://0.0.0.0:7920", "tcp://b:7920"},
    {"b:17", "tcp://[::]:7920", "tcp://b:7920"},
    {"b:17", "tcp://[fe80::1]:7920", "tcp://[fe80::1]:7920"},
    {"b:17", "tcp://eth0:7920", "tcp://b:7920"},
    {"b:17", "tcp://127.0.0.1:7920", NULL},
    {"b:17", "tcp://[::1]:7920", NULL},
    {"b:17", "ipc:///run/q", NULL},
    {"a:17", "tcp://127.0.0.1:7920", "tcp://127.0.0.1:7920"},
    {"a:17", "tcp://*:7920", "tcp://127.0.0.1:7920"},
    {"a:17", "tcp://eth0:7920", "tcp://127.0.0.1:7920"},
    {"a:17", "tcp://10.0.0.1:7920", "tcp://10.0.0.1:7920"},
    {"a:17", "ipc:///run/q", "ipc:///run/q"},
    {"a", "tcp://10.0.0.1:7920", NULL},
    {"", "tcp://10.0.0.1:7920", NULL},
    {"a:17", "", NULL},
    {"a:17", "tcp://:7920", NULL},
    {"a:17", "inproc://x", NULL},
};

static void a_bound_endpoint_is_reached_or_not (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (reached); i++) {
        char name[64], found[ENDPOINT_SIZE] = "";
        snprintf (name, sizeof name, "%s of %s", reached[i].bound, reached[i].name);
        bool is =
            endpoint_reach (span_text (reached[i].name), span_text (reached[i].bound), "a", found);
        CHECK_INT (name, is, reached[i].expected != NULL);
        if (is && reached[i].expected)
            CHECK_INT (name, strcmp (found, reached[i].expected), 0);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_file_is_taken_or_refused_in_words),
        cmocka_unit_test (what_stands_in_the_file_is_returned),
        cmocka_unit_test (what_is_no_file_is_refused),
        cmocka_unit_test (every_key_survives_its_file),
        cmocka_unit_test (certificates_of_czmq_are_read),
        cmocka_unit_test (no_file_is_written_over),
        cmocka_unit_test (what_would_not_be_read_is_not_written),
        cmocka_unit_test (a_list_of_stations_has_names_and_beginnings),
        cmocka_unit_test (a_bound_endpoint_is_reached_or_not),
    };
    return cmocka_run_group_tests (tests, set_up, tear_down);
}
