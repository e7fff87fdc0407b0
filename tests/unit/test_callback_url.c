// Callbacks: which URLs and headers are taken, and what a URL becomes.
#include "rows.h"

#include "callback_header.h"
#include "callback_url.h"

static void taken (void **state)
{
    static const struct {
        const char *text, *rebuilt, *host;
        int port;
        bool literal;
    } rows[] = {
        {"https://hooks.example/done", "https://hooks.example/done", "hooks.example", 443, false},
        {"HTTPS://Hooks.EXAMPLE:443/Done", "https://hooks.example/Done", "hooks.example", 443,
         false},
        {"https://a.example", "https://a.example/", "a.example", 443, false},
        {"https://a.example?x=/../&y=?", "https://a.example/?x=/../&y=?", "a.example", 443, false},
        {"http://a.example:8080/", "http://a.example:8080/", "a.example", 8080, false},
        {"http://a.example:80/", "http://a.example/", "a.example", 80, false},
        {"https://a.example/a//b/%2F;c=1,~(x)!$'*+@:", "https://a.example/a//b/%2F;c=1,~(x)!$'*+@:",
         "a.example", 443, false},
        {"https://a.example/...", "https://a.example/...", "a.example", 443, false},
        {"https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/",
         "xn--bcher-kva.example", 443, false},
        {"https://localhost/", "https://localhost/", "localhost", 443, false},
        {"https://192.0.2.1/", "https://192.0.2.1/", "192.0.2.1", 443, true},
        {"https://[2001:DB8:0:0::1]:8443/", "https://[2001:db8::1]:8443/", "2001:db8::1", 8443,
         true},
        {"https://[::ffff:7f00:1]/", "https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", 443, true},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct callback_url url;
        struct reason reason = {""};
        struct span text = span_text (rows[i].text);
        uint8_t *copy = exact_bytes (text);
        if (callback_url_read (span_of (copy, text.size), &url, &reason))
            fail_msg ("%s: %s", rows[i].text, reason.text);
        CHECK_TEXT (rows[i].text, url.text, rows[i].rebuilt);
        CHECK_TEXT (rows[i].text, url.host, rows[i].host);
        CHECK_INT (rows[i].text, url.port, rows[i].port);
        CHECK_INT (rows[i].text, url.literal, rows[i].literal);
        CHECK_INT (rows[i].text, url.text[url.origin_size], '/');
        CHECK (rows[i].text, strcspn (url.text + url.origin_size, "?") == url.path_size);
        free (copy);
    }
}

static void not_taken (void **state)
{
    static const struct {
        struct span text;
        const char *begin; // of the reason
    } rows[] = {
        {BYTES (""), "want https://"},
        {BYTES ("file:///etc/passwd"), "want https://"},
        {BYTES ("gopher://a.example/"), "want https://"},
        {BYTES (" https://a.example/"), "want https://"},
        {BYTES ("https:/a.example/"), "want https://"},
        {BYTES ("https://"), "host:"},
        {BYTES ("https:///path"), "host:"},
        {BYTES ("https://user@a.example/"), "host: a user"},
        {BYTES ("https://user:p@a.example/"), "host: a user"},
        {BYTES ("https://a.example.@b.example/"), "host: a user"},
        {BYTES ("https://a.example./"), "host: want a name"},
        {BYTES ("https://.example/"), "host:"},
        {BYTES ("https://a..example/"), "host:"},
        {BYTES ("https://-a.example/"), "host:"},
        {BYTES ("https://a_b.example/"), "host:"},
        {BYTES ("https://b\xc3\xbc.example/"), "host:"},
        {BYTES ("https://a%2eexample/"), "host:"},
        {BYTES ("https://2130706433/"), "host:"},
        {BYTES ("https://0x7f.1/"), "host:"},
        {BYTES ("https://127.1/"), "host:"},
        {BYTES ("https://0177.0.0.1/"), "host:"},
        {BYTES ("https://a.example.0x7f/"), "host:"},
        {BYTES ("https://256.0.0.1/"), "host:"},
        {BYTES ("https://[::1/"), "host:"},
        {BYTES ("https://[::1%25eth0]/"), "host:"},
        {BYTES ("https://[fe80::1%eth0]/"), "host:"},
        {BYTES ("https://[::1]x/"), "host: want ':'"},
        {BYTES ("https://::1/"), "host:"},
        {BYTES ("https://a.example:/"), "port:"},
        {BYTES ("https://a.example:0/"), "port:"},
        {BYTES ("https://a.example:0443/"), "port:"},
        {BYTES ("https://a.example:65536/"), "port:"},
        {BYTES ("https://a.example:-1/"), "port:"},
        {BYTES ("https://a.example\\b/"), "host:"},
        {BYTES ("https://a.example/a\\b"), "path:"},
        {BYTES ("https://a.example/a b"), "path:"},
        {BYTES ("https://a.example/a\r\nX: y"), "path:"},
        {BYTES ("https://a.example/\0"), "path:"},
        {BYTES ("https://a.example\0/"), "path:"},
        {BYTES ("https://a.example/%"), "path:"},
        {BYTES ("https://a.example/%2"), "path:"},
        {BYTES ("https://a.example/%g0"), "path:"},
        {BYTES ("https://a.example/\x7f"), "path:"},
        {BYTES ("https://a.example/\xc3\xbc"), "path:"},
        {BYTES ("https://a.example/{x}"), "path:"},
        {BYTES ("https://a.example/#x"), "a fragment"},
        {BYTES ("https://a.example#x"), "a fragment"},
        {BYTES ("https://a.example/?x#y"), "a fragment"},
        {BYTES ("https://a.example/."), "path: '.'"},
        {BYTES ("https://a.example/a/../b"), "path: '.'"},
        {BYTES ("https://a.example/a/%2E%2e/b"), "path: '.'"},
        {BYTES ("https://a.example/a/.%2e?x"), "path: '.'"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct callback_url url;
        struct reason reason = {""};
        uint8_t *copy = exact_bytes (rows[i].text);
        int rc = callback_url_read (span_of (copy, rows[i].text.size), &url, &reason);
        CHECK_INT ((const char *)rows[i].text.data, rc, -1);
        if (strncmp (reason.text, rows[i].begin, strlen (rows[i].begin)) != 0)
            fail_msg ("%s: want \"%s\", got \"%s\"", (const char *)rows[i].text.data, rows[i].begin,
                      reason.text);
        free (copy);
    }
}

static void length (void **state)
{
    char text[CALLBACK_URL_MAX + 2] = "https://a.example/";
    struct callback_url url;
    struct reason reason;
    (void)state;
    memset (text + 18, 'a', CALLBACK_URL_MAX - 18);
    CHECK_INT ("longest", callback_url_read (span_text (text), &url, &reason), 0);
    CHECK_TEXT ("longest", url.text, text);
    strcat (text, "a");
    CHECK_INT ("too long", callback_url_read (span_text (text), &url, &reason), -1);
    memset (text + 8, 'b', CALLBACK_URL_MAX - 8);
    text[CALLBACK_URL_MAX] = '\0';
    CHECK_INT ("a long host", callback_url_read (span_text (text), &url, &reason), -1);
}

static void headers (void **state)
{
    static const struct {
        struct span name, value;
        bool taken;
    } rows[] = {
        {BYTES ("X-Team"), BYTES ("a b~"), true},
        {BYTES ("Hostname"), BYTES (""), true},
        {BYTES (""), BYTES ("a"), false},
        {BYTES ("X Team"), BYTES ("a"), false},
        {BYTES ("X-Team:"), BYTES ("a"), false},
        {BYTES ("X\r\nY"), BYTES ("a"), false},
        {BYTES ("X\0"), BYTES ("a"), false},
        {BYTES ("host"), BYTES ("a"), false},
        {BYTES ("COOKIE"), BYTES ("a"), false},
        {BYTES ("Te"), BYTES ("a"), false},
        {BYTES ("content-length"), BYTES ("1"), false},
        {BYTES ("Proxy-X"), BYTES ("1"), false},
        {BYTES ("Metadata"), BYTES ("1"), false},
        {BYTES ("metadata-flavor"), BYTES ("1"), false},
        {BYTES ("Webhook-Id"), BYTES ("1"), false},
        {BYTES ("zplan-plan"), BYTES ("1"), false},
        {BYTES ("X-A"), BYTES ("a\r\nB: c"), false},
        {BYTES ("X-A"), BYTES ("a\tb"), false},
        {BYTES ("X-A"), BYTES ("\x7f"), false},
        {BYTES ("X-A"), BYTES ("\xc3\xbc"), false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct reason reason;
        CHECK_INT ((const char *)rows[i].name.data,
                   callback_header_check (rows[i].name, rows[i].value, &reason),
                   rows[i].taken ? 0 : -1);
    }
    char text[CALLBACK_HEADER_VALUE_MAX + 2];
    struct reason reason;
    memset (text, 'a', sizeof text);
    for (size_t more = 0; more < 2; more++) {
        CHECK_INT ("size of a name",
                   callback_header_check (span_of (text, CALLBACK_HEADER_NAME_MAX + more),
                                          span_text (""), &reason),
                   more ? -1 : 0);
        CHECK_INT ("size of a value",
                   callback_header_check (
                       span_text ("a"), span_of (text, CALLBACK_HEADER_VALUE_MAX + more), &reason),
                   more ? -1 : 0);
    }
}

static void names (void **state)
{
    static const struct {
        struct span name;
        bool valid;
    } rows[] = {
        {BYTES ("billing"), true}, {BYTES ("a.b_C-9"), true}, {BYTES (""), false},
        {BYTES (".a"), false},     {BYTES ("a/b"), false},    {BYTES ("a\0"), false},
        {BYTES ("a b"), false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++)
        CHECK_INT ((const char *)rows[i].name.data, callback_name_valid (rows[i].name),
                   rows[i].valid);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (taken), cmocka_unit_test (not_taken),
                                       cmocka_unit_test (length), cmocka_unit_test (headers),
                                       cmocka_unit_test (names)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
