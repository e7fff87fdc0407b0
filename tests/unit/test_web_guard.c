// zplan-web: which requests are rejected before anything else looks at them.
#include "rows.h"

#include "guard.h"

// "Name: value" lines.
static struct guard_head head_of (const char *method, const char *version, const char *text)
{
    struct guard_head head = {.method = method, .version = version};
    while (*text) {
        size_t line = strcspn (text, "\n"), name = strcspn (text, ":");
        struct guard_header *header = &head.headers[head.count++];
        header->name = span_of (text, name);
        header->value = span_of (text + name + 2, line - name - 2);
        text += line + (text[line] == '\n');
    }
    return head;
}

static void heads (void **state)
{
    static const struct {
        const char *name, *method, *version, *headers;
        int status;
    } rows[] = {
        {"plain", "GET", "HTTP/1.1", "Host: a", 0},
        {"1.0", "GET", "HTTP/1.0", "Host: a", 0},
        {"body", "POST", "HTTP/1.1", "Host: a\nContent-Length: 5", 0},
        {"GET with length 0", "GET", "HTTP/1.1", "Host: a\nContent-Length: 0", 0},
        {"chunked", "POST", "HTTP/1.1", "Host: a\nTransfer-Encoding: chunked", 411},
        {"any coding", "POST", "HTTP/1.1", "Host: a\ntransfer-encoding: identity", 411},
        {"both", "POST", "HTTP/1.1", "Host: a\nContent-Length: 5\nTransfer-Encoding: x", 411},
        {"two lengths", "POST", "HTTP/1.1", "Host: a\nContent-Length: 5\nContent-Length: 5", 400},
        {"signed length", "POST", "HTTP/1.1", "Host: a\nContent-Length: +5", 400},
        {"hex length", "POST", "HTTP/1.1", "Host: a\nContent-Length: 0x5", 400},
        {"empty length", "POST", "HTTP/1.1", "Host: a\nContent-Length: ", 400},
        {"long length", "POST", "HTTP/1.1", "Host: a\nContent-Length: 1234567890123456", 400},
        {"GET with a body", "GET", "HTTP/1.1", "Host: a\nContent-Length: 1", 400},
        {"HEAD with a body", "HEAD", "HTTP/1.1", "Host: a\nContent-Length: 1", 400},
        {"OPTIONS with a body", "OPTIONS", "HTTP/1.1", "Host: a\nContent-Length: 1", 400},
        {"no host", "GET", "HTTP/1.1", "", 400},
        {"two hosts", "GET", "HTTP/1.1", "Host: a\nHost: a", 400},
        {"version", "GET", "HTTP/1.2", "Host: a", 400},
        {"empty name", "GET", "HTTP/1.1", "Host: a\n: b", 400},
        {"blank in a name", "GET", "HTTP/1.1", "Host: a\nTransfer-Encoding : chunked", 400},
        {"CR in a value", "GET", "HTTP/1.1", "Host: a\nX: b\rc", 400},
        {"tab in a value", "GET", "HTTP/1.1", "Host: a\nX: b\tc", 0},
        {"7F in a value", "GET", "HTTP/1.1", "Host: a\nX: b\177c", 400},
        {"latin in a value", "GET", "HTTP/1.1", "Host: a\nX: \xe9", 0},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct guard_head head = head_of (rows[i].method, rows[i].version, rows[i].headers);
        struct reason reason = {""};
        CHECK_INT (rows[i].name, guard_check (&head, &reason), rows[i].status);
        CHECK (rows[i].name, (rows[i].status == 0) == (reason.text[0] == '\0'));
    }
}

static void hosts (void **state)
{
    static const struct {
        const char *host, *names;
        bool ours;
    } rows[] = {
        {"localhost", "", true},
        {"LOCALHOST:80", "", true},
        {"127.0.0.1:7924", "", true},
        {"10.1.2.3", "", true},
        {"[::1]:7924", "", true},
        {"[fe80::1]", "", true},
        {"evil.example", "", false},
        {"evil.example:7924", "", false},
        {"zplan.example", "a,zplan.example", true},
        {"Zplan.Example:443", "a, zplan.example", true},
        {"example", "a,zplan.example", false},
        {"zplan.example.evil", "zplan.example", false},
        {"127.0.0.1.evil.example", "", false},
        {"localhost.", "", false},
        {"localhost@evil", "", false},
        {"[::1", "", false},
        {"[::1]x", "", false},
        {"localhost:80:80", "", false},
        {"localhost:x", "", false},
        {"", "", false},
        {":80", "", false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct span host = span_text (rows[i].host);
        uint8_t *copy = exact_bytes (host);
        CHECK_INT (rows[i].host, guard_host_is_ours (span_of (copy, host.size), rows[i].names),
                   rows[i].ours);
        free (copy);
    }
}

static void origins (void **state)
{
    static const struct {
        const char *headers;
        bool unsafe, foreign;
        const char *scheme;
    } rows[] = {
        {"Host: a:1", true, false},
        {"Host: a:1\nOrigin: http://a:1", true, false},
        {"Host: a:1\nOrigin: https://a:1", true, false},
        {"Host: a:1\nOrigin: http://a:2", true, true},
        {"Host: a:1\nOrigin: http://a:1", true, false, "http"},
        {"Host: a:1\nOrigin: http://a:1", true, true, "https"},
        {"Host: a:1\nOrigin: https://a:1", true, false, "https"},
        {"Host: a:1\nOrigin: https://a:1", true, true, "http"},
        {"Host: a:1\nOrigin: https//:a:1", true, true},
        {"Host: a:1\nOrigin: null", true, true},
        {"Host: a:1\nOrigin: ", true, true},
        {"Host: a:1\nOrigin: http://evil", false, false},
        {"Host: a:1\nSec-Fetch-Site: cross-site", false, true},
        {"Host: a:1\nSec-Fetch-Site: same-site", true, true},
        {"Host: a:1\nSec-Fetch-Site: same-origin", true, false},
        {"Host: a:1\nSec-Fetch-Site: none", true, false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct guard_head head = head_of ("POST", "HTTP/1.1", rows[i].headers);
        CHECK_INT (rows[i].headers, guard_is_foreign (&head, rows[i].unsafe, rows[i].scheme),
                   rows[i].foreign);
    }
}

static void media_types (void **state)
{
    (void)state;
    CHECK ("plain", guard_media_is (span_text ("application/json"), "application/json"));
    CHECK ("case", guard_media_is (span_text ("Application/JSON"), "application/json"));
    CHECK ("charset",
           guard_media_is (span_text ("application/json; charset=utf-8"), "application/json"));
    CHECK ("form", !guard_media_is (span_text ("text/plain"), "application/json"));
    CHECK ("longer", !guard_media_is (span_text ("application/jsonx"), "application/json"));
    CHECK ("none", !guard_media_is (span_of (NULL, 0), "application/json"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (heads), cmocka_unit_test (hosts),
                                       cmocka_unit_test (origins), cmocka_unit_test (media_types)};
    return cmocka_run_group_tests_name ("web_guard", tests, NULL, NULL);
}
