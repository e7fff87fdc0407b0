// zplan-web: the client's address when requests come through proxies.
#include "rows.h"

#include "forwarded.h"

static struct guard_head head_of (const char *const values[2], const char *name)
{
    struct guard_head head = {.method = "GET", .version = "HTTP/1.1"};
    for (size_t i = 0; i < 2 && values[i]; i++)
        head.headers[head.count++] = (struct guard_header){span_text (name), span_text (values[i])};
    return head;
}

static void addresses (void **state)
{
    static const struct {
        const char *name, *proxies, *values[2], *want;
    } rows[] = {
        {"no header", "10.0.0.1", {NULL}, "peer"},
        {"empty", "10.0.0.1", {""}, "peer"},
        {"one", "10.0.0.1", {"192.0.2.7"}, "192.0.2.7"},
        {"rightmost", "10.0.0.1", {"1.1.1.1, 192.0.2.7"}, "192.0.2.7"},
        {"behind a proxy", "10.0.0.1", {"1.1.1.1, 192.0.2.7, 10.0.0.1"}, "192.0.2.7"},
        {"behind two", "10.0.0.0/8", {"1.1.1.1,192.0.2.7,10.9.9.9,10.0.0.1"}, "192.0.2.7"},
        {"proxies only", "10.0.0.0/8", {"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
        {"no proxies", "", {"1.1.1.1, 2.2.2.2"}, "2.2.2.2"},
        {"two headers", "10.0.0.1", {"1.1.1.1", "192.0.2.7"}, "192.0.2.7"},
        {"two headers, a proxy", "10.0.0.1", {"1.1.1.1", "10.0.0.1"}, "1.1.1.1"},
        {"no address", "10.0.0.1", {"1.1.1.1, unknown"}, "peer"},
        {"no address behind a proxy", "10.0.0.1", {"1.1.1.1, x, 10.0.0.1"}, "10.0.0.1"},
        {"nothing behind a comma", "10.0.0.1", {"1.1.1.1,"}, "peer"},
        {"port", "10.0.0.1", {"192.0.2.7:4711"}, "192.0.2.7"},
        {"version 6", "::1", {"2001:DB8::7"}, "2001:db8::7"},
        {"version 6 with a port", "::1", {"[2001:db8::7]:4711, [::1]"}, "2001:db8::7"},
        {"no end of a bracket", "::1", {"[2001:db8::7"}, "peer"},
        {"mapped", "10.0.0.1", {"192.0.2.7, ::ffff:10.0.0.1"}, "192.0.2.7"},
        {"long", "", {"1.1.1.1111111111111111111111111111111111111111111111111111"}, "peer"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        char out[FORWARDED_SIZE];
        struct guard_head head = head_of (rows[i].values, "x-forwarded-for");
        forwarded_address (&head, rows[i].proxies, "peer", out);
        CHECK (rows[i].name, strcmp (out, rows[i].want) == 0);
    }
}

static void proxies (void **state)
{
    static const struct {
        const char *proxies, *address;
        bool has;
    } rows[] = {
        {"", "10.0.0.1", false},
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.1", "::ffff:10.0.0.1", true},
        {"10.0.0.1, 10.0.0.2", "10.0.0.2", true},
        {"10.0.0.0/30", "10.0.0.3", true},
        {"10.0.0.0/30", "10.0.0.4", false},
        {"0.0.0.0/0", "10.0.0.4", true},
        {"0.0.0.0/0", "::1", false},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"::/0", "2001::", true},
        {"10.0.0.1", "unix", false},
        {"10.0.0.1", "", false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++)
        CHECK_INT (rows[i].proxies, forwarded_is_proxy (rows[i].proxies, rows[i].address),
                   rows[i].has);
}

static void lists (void **state)
{
    static const struct {
        const char *proxies;
        bool right;
    } rows[] = {
        {"", true},
        {"10.0.0.1", true},
        {"10.0.0.1,::1", true},
        {"10.0.0.0/8 , ::1", true},
        {"::1/128", true},
        {"10.0.0.1,", false},
        {",", false},
        {"proxy", false},
        {"10.0.0.0/", false},
        {"10.0.0.0/33", false},
        {"::/129", false},
        {"::/1000", false},
        {"10.0.0.0/-1", false},
        {"/8", false},
        {"10.0.0.1:80", false},
        {"10.0.0.1 10.0.0.2", false},
        {"no", false},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct reason reason = {""};
        CHECK_INT (rows[i].proxies, forwarded_check (rows[i].proxies, &reason) == 0, rows[i].right);
    }
}

static void schemes (void **state)
{
    static const struct {
        const char *values[2], *want;
    } rows[] = {
        {{NULL}, ""},
        {{"https"}, "https"},
        {{"HTTP"}, "http"},
        {{"ftp"}, ""},
        {{"http, https"}, "https"},
        {{"http", "https"}, "https"},
        {{"https,"}, ""},
        {{""}, ""},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct guard_head head = head_of (rows[i].values, "X-Forwarded-Proto");
        const char *found = forwarded_scheme (&head);
        CHECK (rows[i].values[0] ? rows[i].values[0] : "none",
               strcmp (found ? found : "", rows[i].want) == 0);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (addresses), cmocka_unit_test (proxies),
                                       cmocka_unit_test (lists), cmocka_unit_test (schemes)};
    return cmocka_run_group_tests_name ("web_forwarded", tests, NULL, NULL);
}
