// Signatures of callbacks, by published vectors; secrets as files have them.
#include "rows.h"

#include "secret.h"
#include "signature.h"

static void canonical (void **state)
{
    static const struct {
        const char *path, *query, *want_path, *want_query;
    } rows[] = {
        {"/", "", "/", ""},
        {"/a", "", "/a/", ""},
        {"/a/", "", "/a/", ""},
        {"/a%2Fb", "", "/a%2Fb/", ""},
        {"/a%7eb/%c3%BC", "", "/a~b/%C3%BC/", ""},
        {"/a:b@c", "", "/a%3Ab%40c/", ""},
        {"/", "b=2&a=1", "/", "a=1&b=2"},
        {"/", "a=2&a=10&a", "/", "a=&a=10&a=2"},
        {"/", "a-b=1&a=2", "/", "a=2&a-b=1"},
        {"/", "a=1=2&b=", "/", "a=1%3D2&b="},
        {"/", "a=x+y&b=x%20y&c=%2f~", "/", "a=x%2By&b=x%20y&c=%2F~"},
        {"/", "&&a=1&", "/", "a=1"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct signed_request request = {.method = "PUT",
                                         .path = span_text (rows[i].path),
                                         .query = span_text (rows[i].query),
                                         .headers = {{"host", "a.example:8443"}},
                                         .header_count = 1,
                                         .body = span_text ("")};
        char want[512];
        snprintf (want, sizeof want,
                  "PUT\n%s\n%s\nhost:a.example:8443\n\nhost\n"
                  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                  rows[i].want_path, rows[i].want_query);
        char *got = signature_canonical (&request);
        CHECK_TEXT (rows[i].path, got, want);
        free (got);
    }
}

// The example of the signing guide of Huawei Cloud's API gateway.
static void published_aksk (void **state)
{
    const struct signed_request request = {
        .method = "GET",
        .path = span_text ("/v1/77b6a44cba5143ab91d13ab9a8ff44fd/vpcs/"),
        .query = span_text ("limit=2&marker=13551d6b-755d-4757-b956-536f674975c0"),
        .headers = {{"content-type", "application/json"},
                    {"host", "service.region.example.com"},
                    {"x-sdk-date", "20191115T033655Z"}},
        .header_count = 3,
        .body = span_text ("")};
    char signature[SIGNATURE_SIZE], names[64];
    (void)state;
    CHECK_TEXT ("names", signature_names (&request, names, sizeof names),
                "content-type;host;x-sdk-date");
    signature_aksk (&request, "20191115T033655Z",
                    span_text ("MFyfvK41ba2giqM7Uio6PznpdUKGpownRZlmVmHc"), signature);
    CHECK_TEXT ("signature", signature,
                "7be6668032f70418fcc22abc52071e57aff61b84a1d2381bb430d6870f4f6ebe");
}

// The example of the specification of Standard Webhooks.
static void published_standard (void **state)
{
    struct secret secret;
    struct reason reason;
    char signature[STANDARD_SIGNATURE_SIZE];
    (void)state;
    if (secret_read (span_text ("type = standard\nhosts = a.example\ntargets = *\n"
                                "key = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"),
                     &secret, &reason))
        fail_msg ("%s", reason.text);
    signature_standard (span_of (secret.keys[0].bytes, secret.keys[0].size),
                        "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                        span_text ("{\"test\": 2432232314}"), signature);
    CHECK_TEXT ("signature", signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    secret_wipe (&secret);
}

#define WHERE "hosts = a.example\ntargets = jobs\n"
#define KEY24 "key = whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"

static void secrets (void **state)
{
    static const struct {
        struct span text;
        const char *reason; // its begin; NULL: it is taken
    } rows[] = {
        {BYTES (WHERE "type=aksk\nak=A\nsk=S\n"), NULL},
        {BYTES ("# a comment\n\n  type = none  \r\n" WHERE), NULL},
        {BYTES (WHERE "type = header\nname = X-Key\nvalue = a = b"), NULL},
        {BYTES (WHERE "type = standard\n" KEY24 KEY24), NULL},
        {BYTES (""), "type:"},
        {BYTES ("type = none\nhosts = a\n"), "targets: is required"},
        {BYTES ("type = none\ntargets = a\n"), "hosts: is required"},
        {BYTES (WHERE "type = magic\n"), "type: want"},
        {BYTES (WHERE "type = aksk\nak = A\n"), "sk: is required"},
        {BYTES (WHERE "type = none\nsk = S\n"), "sk: is not used"},
        {BYTES (WHERE "type = standard\n"), "key: is required"},
        {BYTES (WHERE "type = standard\nkey = whsec_c2hvcnQ=\n"), "key: want whsec_"},
        {BYTES (WHERE "type = standard\nkey = MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"),
         "key: want whsec_"},
        {BYTES (WHERE "type = standard\n" KEY24 KEY24 KEY24), "line 6: key: want one"},
        {BYTES (WHERE "type = none\ntype = none\n"), "line 4: type: want one"},
        {BYTES (WHERE "type =\n"), "line 3: type: want one"},
        {BYTES (WHERE "type = aksk\nak = A\nsk = S\x01\n"), "line 5: sk: want printable"},
        {BYTES (WHERE "type = aksk\nak = A\nsk = S\0T\n"), "line 5: sk: want printable"},
        {BYTES ("secret = x\n"), "line 1: want NAME = VALUE"},
        {BYTES ("type\n"), "line 1: want NAME = VALUE"},
        {BYTES ("= x\n"), "line 1: want NAME = VALUE"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct secret secret;
        struct reason reason = {""};
        uint8_t *copy = exact_bytes (rows[i].text);
        int rc = secret_read (span_of (copy, rows[i].text.size), &secret, &reason);
        const char *want = rows[i].reason ? rows[i].reason : "";
        CHECK_INT ((const char *)copy, rc, rows[i].reason ? -1 : 0);
        if (strncmp (reason.text, want, strlen (want)) != 0)
            fail_msg ("row %zu: want \"%s\", got \"%s\"", i, want, reason.text);
        free (copy);
    }
}

static void who_may (void **state)
{
    static const struct {
        const char *hosts, *targets, *url, *source;
        bool allowed;
    } rows[] = {
        {"a.example", "jobs", "https://a.example/x", "jobs", true},
        {"b.example, A.Example", "x,jobs", "https://a.example/x", "jobs", true},
        {"a.example", "jobs", "https://b.a.example/", "jobs", false},
        {"a.example", "jobs", "https://a.example.evil/", "jobs", false},
        {"a.example", "jobs", "https://a.example:8443/", "jobs", false},
        {"a.example:8443", "jobs", "https://a.example:8443/", "jobs", true},
        {"a.example", "jobs", "http://a.example/", "jobs", true},
        {"[2001:db8::1]:444", "jobs", "https://[2001:db8::1]:444/", "jobs", true},
        {"a.example", "jobs", "https://a.example/", "job", false},
        {"a.example", "jobs", "https://a.example/", "jobs2", false},
        {"a.example", "job*", "https://a.example/", "jobs2", true},
        {"a.example", "job*", "https://a.example/", "jo", false},
        {"a.example", "*", "https://a.example/", "", true},
        {"a.example", "jobs", "https://a.example/", "", false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct secret secret = {0};
        struct callback_url url;
        struct reason reason;
        strcpy (secret.hosts, rows[i].hosts);
        strcpy (secret.targets, rows[i].targets);
        CHECK_INT (rows[i].url, callback_url_read (span_text (rows[i].url), &url, &reason), 0);
        CHECK_INT (rows[i].url, secret_is_allowed (&secret, &url, rows[i].source), rows[i].allowed);
    }
}

static void receivers (void **state)
{
    struct receiver receiver;
    struct reason reason;
    (void)state;
    CHECK_INT ("url", receiver_read (span_text ("url = https://a.example/x=y"), &receiver, &reason),
               0);
    CHECK_TEXT ("url", receiver.url, "https://a.example/x=y");
    CHECK_TEXT ("all targets", receiver.targets, "");
    CHECK_INT ("no url", receiver_read (span_text ("targets = a"), &receiver, &reason), -1);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (canonical),
                                       cmocka_unit_test (published_aksk),
                                       cmocka_unit_test (published_standard),
                                       cmocka_unit_test (secrets),
                                       cmocka_unit_test (who_may),
                                       cmocka_unit_test (receivers)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
