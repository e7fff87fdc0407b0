// zplan-web: targets, routes, queries, cursors, plans, and the document of the interface.
#include "rows.h"

#include "cursor.h"
#include "openapi.h"
#include "plan_document.h"
#include "problem.h"
#include "query.h"
#include "routes.h"
#include "submission.h"

static int read_target (const char *text, struct request_target *ret, struct reason *reason)
{
    struct span span = span_text (text);
    uint8_t *copy = exact_bytes (span);
    int rc = request_target_read (span_of (copy, span.size), ret, reason);
    ret->authority = (struct span){0};
    free (copy);
    return rc;
}

static void targets (void **state)
{
    static const struct {
        const char *text, *first, *second, *field, *value;
    } rows[] = {
        {"/", NULL, NULL, NULL, NULL},
        {"/v1/plans", "v1", "plans", NULL, NULL},
        {"/v1/key:a%20b", "v1", "key:a b", NULL, NULL},
        {"/v1/%C3%A9", "v1", "\xc3\xa9", NULL, NULL},
        {"/v1?a=b", "v1", NULL, "a", "b"},
        {"/v1?a=b&c=d+e%2F", "v1", NULL, "c", "d e/"},
        {"/v1?a", "v1", NULL, "a", ""},
        {"/v1?a=b=c&&", "v1", NULL, "a", "b=c"},
        {"http://a.example/v1?x=1", "v1", NULL, "x", "1"},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct request_target target = {0};
        struct reason reason;
        CHECK_INT (rows[i].text, read_target (rows[i].text, &target, &reason), 0);
        CHECK_INT (rows[i].text, target.segment_count,
                   (rows[i].first != NULL) + (rows[i].second != NULL));
        if (rows[i].first)
            CHECK_TEXT (rows[i].text, target.segments[0], rows[i].first);
        if (rows[i].second)
            CHECK_TEXT (rows[i].text, target.segments[1], rows[i].second);
        if (rows[i].field)
            CHECK_TEXT (rows[i].text, request_target_field (&target, rows[i].field), rows[i].value);
        request_target_clear (&target);
    }
}

static void wrong_targets (void **state)
{
    static const char *const rows[] = {
        "",
        "v1",
        "*",
        "a:80",
        "/a//b",
        "//",
        "/a/",
        "/a/../b",
        "/..",
        "/.",
        "/%2e%2E",
        "/a%2Fb",
        "/a%5cb",
        "/a\\b",
        "/a%00",
        "/a%0",
        "/a%",
        "/a%zz",
        "/\xff",
        "/a%ff",
        "/a#b",
        "/a?b%",
        "/a?b=%00",
        "/a?b=\xff",
        "/a?b=1&b=2",
        "/a?b&b=2",
        "/a%0ab",
        "http://",
        "/a/b/c/d/e/f/g/h/i",
        "ftp://a/b",
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct request_target target = {0};
        struct reason reason = {""};
        CHECK_INT (rows[i], read_target (rows[i], &target, &reason), -1);
        CHECK (rows[i], reason.text[0] && !target.text);
    }
}

static void many_fields (void **state)
{
    char text[512] = "/a?";
    struct request_target target = {0};
    struct reason reason;
    (void)state;
    for (int i = 0; i < TARGET_FIELDS_MAX; i++)
        snprintf (text + strlen (text), 16, "f%d=%d&", i, i);
    assert_int_equal (read_target (text, &target, &reason), 0);
    request_target_clear (&target);
    strcat (text, "one=more");
    assert_int_equal (read_target (text, &target, &reason), -1);
}

static void found_routes (void **state)
{
    static const struct {
        const char *method, *path;
        int status;
        int route;
        const char *arg, *allow;
    } rows[] = {
        {"GET", "/live", 0, ROUTE_LIVE, NULL, NULL},
        {"HEAD", "/v1/plans", 0, ROUTE_PLANS, NULL, NULL},
        {"POST", "/v1/plans", 0, ROUTE_PLAN_NEW, NULL, NULL},
        {"GET", "/v1/plans/dead", 0, ROUTE_PLAN, "dead", NULL},
        {"POST", "/v1/plans/2a/pause", 0, ROUTE_PAUSE, "2a", NULL},
        {"GET", "/v1/runs/8-0", 0, ROUTE_RUN, "8-0", NULL},
        {"PUT", "/v1/plans", 405, 0, NULL, "GET, HEAD, POST"},
        {"get", "/live", 405, 0, NULL, "GET, HEAD"},
        {"GET", "/v1/plans/2a/pause", 405, 0, NULL, "POST"},
        {"GET", "/", 404, 0, NULL, NULL},
        {"GET", "/v1", 404, 0, NULL, NULL},
        {"GET", "/v1/plansx", 404, 0, NULL, NULL},
        {"GET", "/v1/plans/2a/why/x", 404, 0, NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct request_target target = {0};
        struct routed routed;
        struct reason reason;
        CHECK_INT (rows[i].path, read_target (rows[i].path, &target, &reason), 0);
        CHECK_INT (rows[i].path, routes_find (rows[i].method, &target, &routed), rows[i].status);
        if (rows[i].status == 0)
            CHECK (rows[i].path, routed.route == &routes[rows[i].route]);
        if (rows[i].arg)
            CHECK_TEXT (rows[i].path, routed.args[0], rows[i].arg);
        if (rows[i].allow)
            CHECK_TEXT (rows[i].path, routed.allow, rows[i].allow);
        request_target_clear (&target);
    }
}

static void queries (void **state)
{
    static const struct {
        const char *query, *filter; // filter NULL: it is wrong
    } rows[] = {
        {"/p?limit=5&target=jobs", "{\"limit\":5,\"station\":\"jobs\"}"},
        {"/p?state=error", "{\"state\":6}"},
        {"/p?state=queued", "{\"state\":1}"},
        {"/p?name=a&held=1", "{\"held\":true,\"key\":\"a\"}"},
        {"/p?tenant=7", "{\"tenant\":7}"},
        {"/p?tenant=x", "{\"tenant\":\"x\"}"},
        {"/p?after=zzz", "{}"},
        {"/p?limit=0", NULL},
        {"/p?limit=1001", NULL},
        {"/p?limit=x", NULL},
        {"/p?state=nope", NULL},
        {"/p?held=maybe", NULL},
        {"/p?held=0", NULL},
        {"/p?held=false", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct request_target target = {0};
        struct reason reason = {""};
        CHECK_INT (rows[i].query, read_target (rows[i].query, &target, &reason), 0);
        json_t *filter = query_filter (&target, &reason);
        CHECK (rows[i].query, (filter != NULL) == (rows[i].filter != NULL));
        char *text = filter ? json_dumps (filter, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
        if (text)
            CHECK_TEXT (rows[i].query, text, rows[i].filter);
        free (text);
        json_decref (filter);
        request_target_clear (&target);
    }
}

static void unknown_query_fields (void **state)
{
    struct request_target target = {0};
    struct reason reason;
    (void)state;
    assert_int_equal (read_target ("/v1/plans?taget=jobs", &target, &reason), 0);
    assert_int_equal (route_check_query (&routes[ROUTE_PLANS], &target, &reason), -1);
    assert_non_null (strstr (reason.text, "did you mean target?"));
    assert_int_equal (route_check_query (&routes[ROUTE_LIVE], &target, &reason), -1);
    request_target_clear (&target);
}

static void cursors (void **state)
{
    char cursor[CURSOR_SIZE], position[CURSOR_POSITION_SIZE];
    struct reason reason;
    json_t *filter = json_pack ("{s:s, s:i}", "station", "jobs", "limit", 5);
    json_t *other = json_pack ("{s:s}", "station", "other");
    (void)state;
    cursor_write ('i', "19a1fb4d", filter, cursor);
    json_object_set_new (filter, "limit", json_integer (7)); // of the page, not of the list
    assert_int_equal (cursor_read (cursor, 'i', filter, position, &reason), 0);
    assert_string_equal (position, "19a1fb4d");
    assert_int_equal (cursor_read (cursor, 'h', filter, position, &reason), -1);
    assert_int_equal (cursor_read (cursor, 'i', other, position, &reason), -1);
    for (size_t i = 0; cursor[i]; i++) { // cut anywhere, it is refused or another position
        char cut[CURSOR_SIZE];
        snprintf (cut, sizeof cut, "%.*s", (int)i, cursor);
        cursor_read (cut, 'i', filter, position, &reason);
    }
    assert_int_equal (cursor_read ("!", 'i', filter, position, &reason), -1);
    json_decref (filter);
    json_decref (other);
}

static void etags (void **state)
{
    char etag[PLAN_ETAG_SIZE];
    int64_t revision = 0;
    json_t *plan = json_pack ("{s:i, s:i}", "revision", 583022171, "exec_id", 255);
    (void)state;
    assert_string_equal (plan_etag (plan, false, etag), "\"583022171-ff\"");
    assert_int_equal (plan_etag_read (etag, &revision), 0);
    assert_int_equal (revision, 583022171);
    assert_int_equal (plan_etag_read ("W/\"7-0\"", &revision), 0); // of a proxy that compresses
    assert_int_equal (revision, 7);
    static const char *const wrong[] = {"",        "*",     "\"",
                                        "\"\"",    "\"1\"", "W/W/\"1-0\"",
                                        "\"x-1\"", "\"1-0", "\"99999999999999999999-0\""};
    for (size_t i = 0; i < ROWS (wrong); i++)
        CHECK_INT (wrong[i], plan_etag_read (wrong[i], &revision), -1);
    json_decref (plan);
}

static void idempotency_keys (void **state)
{
    char first[17], again[17], other[17];
    struct reason reason;
    char much[300];
    (void)state;
    memset (much, 'k', sizeof much);
    much[256] = '\0';
    assert_int_equal (plan_id_of_key ("ann", "0123456789abcdef", 0, first, &reason), 0);
    assert_int_equal (plan_id_of_key ("ann", "0123456789abcdef", 0, again, &reason), 0);
    assert_string_equal (first, again);
    assert_int_equal (plan_id_of_key ("bob", "0123456789abcdef", 0, other, &reason), 0);
    assert_string_not_equal (first, other);
    assert_int_equal (plan_id_of_key ("ann", "short", 0, first, &reason), -1);
    assert_int_equal (plan_id_of_key ("ann", much, 0, first, &reason), -1);
}

static void submissions (void **state)
{
    static const struct {
        const char *text, *reason; // reason NULL: it is taken
        size_t frames;
    } rows[] = {
        {"{'target':'jobs','command':'do','args':['a','b'],'spec':{'plan_type':0}}", NULL, 3},
        {"{'target':'jobs','frames':[{'type':'COMMAND','text':'do'},{'type':'BIN','b64':'AAE='}],"
         "'spec':{}}",
         NULL, 2},
        {"{'spec':{}}", "target: ", 0},
        {"{'target':'jobs'}", "spec: ", 0},
        {"{'target':'jobs','spec':{},'comand':'x'}",
         "unknown field 'comand'; did you mean command?", 0},
        {"{'target':'jobs','spec':{},'command args':'x'}", "unknown field 'command args'", 0},
        {"{'target':'jobs','spec':{},'args':'x'}", "want command", 0},
        {"{'target':'jobs','spec':{},'args':[1]}", "args: ", 0},
        {"{'target':'jobs','spec':{},'frames':{}}", "frames: ", 0},
        {"{'target':'jobs','spec':{},'frames':[{'type':'PLAN','text':''}]}", "frames: ", 0},
        {"{'target':'jobs','spec':{},'frames':[{'type':'BIN','b64':'!'}]}", "frames: b64", 0},
        {"{'target':'jobs','spec':{},'frames':[{'type':'BIN','b64':'','text':''}]}", "frames: ", 0},
        {"{'target':'jobs','spec':{},'id':'xyz'}", "id: ", 0},
        {"{'target':'jobs','spec':{},'id':5}", "id: ", 0},
        {"{'target':'jobs','spec':{'description':'x'}}", "title: ", 0},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        char text[256];
        struct reason reason = {""};
        struct submission_body read = {0};
        snprintf (text, sizeof text, "%s", rows[i].text);
        for (char *at = text; *at; at++)
            *at = *at == '\'' ? '"' : *at;
        json_t *object = json_loads (text, 0, NULL);
        CHECK (rows[i].text, object);
        int rc = submission_read (object, &read, &reason);
        CHECK_INT (rows[i].text, rc, rows[i].reason ? -1 : 0);
        if (rows[i].reason)
            CHECK (reason.text,
                   strncmp (reason.text, rows[i].reason, strlen (rows[i].reason)) == 0);
        CHECK_INT (rows[i].text, read.count, rows[i].frames);
        submission_clear (&read);
        json_decref (object);
    }
}

static void busy (void **state)
{
    static const struct {
        const char *reason;
        int status, after_s;
        bool removes;
    } rows[] = {
        {"max_requests_peer: 4 requests of this peer wait for their answers; try again in 100 ms",
         503, 1},
        {"max_memory: the station uses more than 4 MiB; try again in 2500 ms", 503, 3},
        {"key: its plan was changed meanwhile, submit again", 503, 1},
        {"callback test: one a second; try again", 503, 1, true},
        {"quota exceeded: 100 plans (max_plans)", 507, 0},
        {"message: at most 4 bytes a frame and 4 in all", 507, 0},
        {"flow: 'a; try again in 100 ms' is called by flow b", 507, 0},
        {"flow: a has 2 plans; remove them first", 409, 0, true},
        {"try again in x ms", 507, 0},
        {"again", 507, 0},
        {"", 507, 0},
    };
    (void)state;
    for (size_t i = 0; i < ROWS (rows); i++) {
        int after_s = -1;
        CHECK_INT (rows[i].reason, problem_busy (rows[i].reason, rows[i].removes, &after_s),
                   rows[i].status);
        CHECK_INT (rows[i].reason, after_s, rows[i].after_s);
    }
}

static void problems (void **state)
{
    json_t *problem = problem_new ("/", 422, "plan_error", "plan_value: want 0..32766, got 40000");
    const json_t *error = json_array_get (json_object_get (problem, "errors"), 0);
    (void)state;
    assert_string_equal (json_string_value (json_object_get (error, "pointer")),
                         "#/spec/plan_value");
    json_decref (problem);
    problem = problem_new ("/", 422, "not_find", "STATION_ID: no target 'x'; known: jobs");
    error = json_array_get (json_object_get (problem, "errors"), 0);
    assert_string_equal (json_string_value (json_object_get (error, "pointer")), "#/target");
    assert_string_equal (json_string_value (json_object_get (error, "detail")),
                         "no target 'x'; known: jobs");
    json_decref (problem);
    problem = problem_new ("/zplan", 404, "not_find", "no such plan");
    assert_string_equal (json_string_value (json_object_get (problem, "type")),
                         "/zplan/help/not_find");
    assert_null (json_object_get (problem, "errors"));
    json_decref (problem);
}

static void each_route_is_in_the_document (void **state)
{
    json_t *document = openapi_document ("/zplan", "1.2.3");
    const json_t *paths = json_object_get (document, "paths");
    size_t count = 0;
    const char *path, *method;
    json_t *methods, *operation;
    (void)state;
    assert_non_null (document);
    json_object_foreach ((json_t *)(uintptr_t)paths, path, methods)
        json_object_foreach (methods, method, operation) count++;
    assert_int_equal (count, ROUTES);
    for (size_t i = 0; i < ROUTES; i++) {
        CHECK (routes[i].path, json_object_get (paths, routes[i].path));
        CHECK (routes[i].path,
               !route_is_unsafe (&routes[i]) || routes[i].role[0] || i == ROUTE_SESSION_NEW);
        CHECK (routes[i].path, routes[i].body == BODY_NONE || route_is_unsafe (&routes[i]));
    }
    json_decref (document);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (targets),
        cmocka_unit_test (wrong_targets),
        cmocka_unit_test (many_fields),
        cmocka_unit_test (found_routes),
        cmocka_unit_test (queries),
        cmocka_unit_test (unknown_query_fields),
        cmocka_unit_test (cursors),
        cmocka_unit_test (etags),
        cmocka_unit_test (idempotency_keys),
        cmocka_unit_test (submissions),
        cmocka_unit_test (problems),
        cmocka_unit_test (busy),
        cmocka_unit_test (each_route_is_in_the_document),
    };
    return cmocka_run_group_tests_name ("web_routes", tests, NULL, NULL);
}
