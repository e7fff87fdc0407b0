// The fields of a plan's policy: a row for every rule, with the reason of each rejection, alone and
// together with the plan type; how a policy is stored and updated, and which fields make another
// schedule. Source: proto 5.2; features D005, D012, D018.
#include "plan_json.h"
#include "plan_update.h"
#include "rows.h"
#include "status.h"

// -- fields by themselves

static const struct field_row {
    const char *fields;
    const char *reason; // what it begins with; NULL: they are taken
} field_rows[] = {
    {"{\"cron\":\"* * * * *\"}", NULL},
    {"{\"cron\":[\"0 9 * * *\",\"@daily\"]}", NULL},
    {"{\"cron\":\"0 25 * * *\"}", "cron: column 3: "},
    {"{\"cron\":\"\"}", "cron: "},
    {"{\"cron\":[]}", "cron: want an expression, or a list of 1..16"},
    {"{\"cron\":[\"* * * * *\",5]}", "cron: want an expression, or a list of 1..16"},
    {"{\"cron\":5}", "cron: want an expression, or a list of 1..16"},
    {"{\"cron\":null}", "cron: want an expression, or a list of 1..16"},
    {"{\"cron\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}", "cron: want an expression"},
    {"{\"timezone\":\"Europe/Berlin\"}", NULL},
    {"{\"timezone\":\"\"}", "timezone: want the name of a time zone"},
    {"{\"timezone\":1}", "timezone: want the name of a time zone"},
    {"{\"timezone\":\"12345678901234567890123456789012345678901234567890123456789012345\"}",
     "timezone: want the name of a time zone"},
    {"{\"gap\":\"shift\"}", NULL},
    {"{\"gap\":\"skip\"}", NULL},
    {"{\"gap\":\"first\"}", "gap: want shift or skip"},
    {"{\"gap\":0}", "gap: want shift or skip"},
    {"{\"overlap\":\"first\"}", NULL},
    {"{\"overlap\":\"last\"}", NULL},
    {"{\"overlap\":\"both\"}", NULL},
    {"{\"overlap\":\"skip\"}", "overlap: want first, last or both"},
    {"{\"overlap\":true}", "overlap: want first, last or both"},
    {"{\"iteration\":1}", NULL},
    {"{\"iteration\":2147483647}", NULL},
    {"{\"iteration\":0}", "iteration: want 1..2147483647"},
    {"{\"iteration\":2147483648}", "iteration: want 1..2147483647"},
    {"{\"iteration\":\"1\"}", "iteration: want 1..2147483647"},
    {"{\"cycle\":1}", NULL},
    {"{\"cycle\":[1,32766]}", NULL},
    {"{\"cycle\":0}", "cycle: want 1..2147483647"},
    {"{\"cycle\":[]}", "cycle: want a number, or a list of 1..64 durations"},
    {"{\"cycle\":\"1\"}", "cycle: want a number, or a list of 1..64 durations"},
    {"{\"cycle\":[0]}", "cycle: want durations 1..32766"},
    {"{\"cycle\":[32767]}", "cycle: want durations 1..32766"},
    {"{\"cycle\":[1.0]}", "cycle: want durations 1..32766"},
    {"{\"start_time\":1}", NULL},
    {"{\"start_time\":\"2026-01-01T00:00:00Z\"}", NULL},
    {"{\"start_time\":253402300799}", NULL},
    {"{\"start_time\":0}", "start_time: want Unix seconds 1..253402300799"},
    {"{\"start_time\":253402300800}", "start_time: want Unix seconds 1..253402300799"},
    {"{\"start_time\":\"tomorrow\"}", "start_time: "},
    {"{\"start_time\":1.5}", "start_time: want whole Unix seconds or an RFC 3339 string"},
    {"{\"end_time\":1}", NULL},
    {"{\"end_time\":0}", "end_time: want Unix seconds 1..253402300799"},
    {"{\"end_time\":[]}", "end_time: want whole Unix seconds or an RFC 3339 string"},
    {"{\"start_time\":9,\"end_time\":9}", NULL},
    {"{\"start_time\":10,\"end_time\":9}", "end_time: is before start_time"},
    {"{\"misfire\":\"skip\"}", NULL},
    {"{\"misfire\":\"latest\"}", NULL},
    {"{\"misfire\":\"all\"}", NULL},
    {"{\"misfire\":1}", NULL},
    {"{\"misfire\":1000}", NULL},
    {"{\"misfire\":0}", "misfire: want skip, latest, all, or how many of the newest: 1..1000"},
    {"{\"misfire\":1001}", "misfire: want skip, latest, all"},
    {"{\"misfire\":\"none\"}", "misfire: want skip, latest, all"},
    {"{\"misfire\":true}", "misfire: want skip, latest, all"},
    {"{\"misfire_window\":1}", NULL},
    {"{\"misfire_window\":31536000}", NULL},
    {"{\"misfire_window\":0}", "misfire_window: want seconds, 1..31536000"},
    {"{\"misfire_window\":31536001}", "misfire_window: want seconds, 1..31536000"},
    {"{\"misfire_window\":\"60\"}", "misfire_window: want seconds, 1..31536000"},
    {"{\"jitter\":0}", NULL},
    {"{\"jitter\":86400}", NULL},
    {"{\"jitter\":-1}", "jitter: want seconds, 0..86400"},
    {"{\"jitter\":86401}", "jitter: want seconds, 0..86400"},
    {"{\"overlap_policy\":\"skip\"}", NULL},
    {"{\"overlap_policy\":\"queue\"}", NULL},
    {"{\"overlap_policy\":\"parallel\"}", "overlap_policy: want skip or queue"},
    {"{\"overlap_policy\":\"\"}", "overlap_policy: want skip or queue"},
    {"{\"retry\":{\"strategy\":\"none\"}}", NULL},
    {"{\"retry\":{}}", "retry: strategy: is missing"},
    {"{\"workers\":{}}", NULL},
    {"{\"workers\":{\"count\":1000,\"only\":[],\"ping_interval\":1,\"worker_timeout\":2,"
     "\"again\":true}}",
     NULL},
    {"{\"workers\":{\"only\":[\"w-1@host:5\",\"a_b.c\"]}}", NULL},
    {"{\"workers\":1}", "workers: want an object with count, only and others"},
    {"{\"workers\":{\"count\":0}}", "workers: count: want 1..1000"},
    {"{\"workers\":{\"count\":1001}}", "workers: count: want 1..1000"},
    {"{\"workers\":{\"count\":4294967297}}", "workers: count: want 1..1000"},
    {"{\"workers\":{\"count\":1.0}}", "workers: count: want 1..1000"},
    {"{\"workers\":{\"only\":[\"\"]}}", "workers: only: want a list"},
    {"{\"workers\":{\"only\":[\"}\"]}}", "workers: only: want a list"},
    {"{\"workers\":{\"only\":[1]}}", "workers: only: want a list"},
    {"{\"workers\":{\"only\":{}}}", "workers: only: want a list"},
    {"{\"workers\":{\"ping_interval\":0}}", "workers: ping_interval: want 1..86400"},
    {"{\"workers\":{\"ping_interval\":60}}",
     "workers: worker_timeout: want more than ping_interval, 60"},
    {"{\"workers\":{\"worker_timeout\":30}}",
     "workers: worker_timeout: want more than ping_interval, 30"},
    {"{\"workers\":{\"worker_timeout\":86401}}", "workers: worker_timeout: want 1..86400"},
    {"{\"workers\":{\"again\":null}}", "workers: again: want true or false"},
    {"{\"workers\":{\"else\":1}}", "workers: 'else': unknown field"},
    {"{\"timeout\":1}", NULL},
    {"{\"timeout\":31536000}", NULL},
    {"{\"timeout\":0}", "timeout: want seconds, 1..31536000"},
    {"{\"timeout\":31536001}", "timeout: want seconds, 1..31536000"},
    {"{\"timeout\":1.0}", "timeout: want seconds, 1..31536000"},
    {"{\"log\":\"none\"}", NULL},
    {"{\"log\":\"trigger\"}", NULL},
    {"{\"log\":\"trans\"}", NULL},
    {"{\"log\":\"all\"}", "log: want none, trigger, outcome or trans"},
    {"{\"log\":false}", "log: want none, trigger, outcome or trans"},
    {"{\"logs\":\"none\"}", "'logs': unknown field"},
    {"{\"key\":\"a\",\"if_exists\":\"refuse\"}", NULL},
    {"{\"key\":\"a\",\"if_exists\":\"reject\"}", "if_exists: want keep, update, replace or refuse"},
    {"{\"params\":{}}", NULL},
    {"{\"params\":{\"a\":\"=1\",\"b\":{\"c\":[null]}}}", NULL},
    {"{\"params\":\"a = 1\"}", NULL},
    {"{\"params\":\"\"}", "params: want an object, nested 8 deep at most, or lines"},
    {"{\"params\":[]}", "params: want an object"},
    {"{\"params\":{\"a\":[[[[[[[[1]]]]]]]]}}", "params: want an object, nested 8 deep at most"},
    {"{\"defaults\":{}}", NULL},
    {"{\"defaults\":{\"retry\":0,\"on_error\":0}}", NULL},
    {"{\"defaults\":{\"retry\":1,\"on_error\":1}}", NULL},
    {"{\"defaults\":{\"retry\":{\"strategy\":\"none\"},\"on_error\":\"block\"}}", NULL},
    {"{\"defaults\":{\"on_error\":\"continue\"}}", NULL},
    {"{\"defaults\":1}", "defaults: want an object with retry and on_error"},
    {"{\"defaults\":{\"retry\":2}}", "defaults: retry: want 0, 1, or an object"},
    {"{\"defaults\":{\"retry\":true}}", "defaults: retry: want 0, 1, or an object"},
    {"{\"defaults\":{\"retry\":{}}}", "defaults: retry: strategy: is missing"},
    {"{\"defaults\":{\"on_error\":2}}", "defaults: on_error: want block, continue, 1 or 0"},
    {"{\"defaults\":{\"on_error\":null}}", "defaults: on_error: want block, continue, 1 or 0"},
    {"{\"defaults\":{\"join\":\"all\"}}", "defaults: 'join': unknown field"},
    {"{\"batch\":\"2024-01-31\"}", NULL},
    {"{\"batch\":\"\"}", "batch: want a date or a time"},
    {"{\"batch\":20240131}", "batch: want a date or a time"},
    {"{\"batch\":\"12345678901234567890123456789012345678901234567890123456789012345\"}",
     "batch: want a date or a time"},
};

static json_t *object_of (const char *text)
{
    json_t *object = json_loads (text, 0, NULL);
    if (!object)
        fail_msg ("no JSON: %s", text);
    return object;
}

static struct policy *policy_of (const char *text)
{
    struct reason reason = {""};
    json_t *object = object_of (text);
    struct policy *policy = policy_read (object, &reason);
    if (!policy)
        fail_msg ("%s: %s", text, reason.text);
    json_decref (object);
    return policy;
}

static void check_reason (const char *name, const struct reason *got, const char *wanted)
{
    if (strncmp (got->text, wanted ? wanted : "", wanted ? strlen (wanted) : 1) != 0)
        fail_msg ("%s: want \"%s\", got \"%s\"", name, wanted ? wanted : "", got->text);
}

static void each_field_has_its_rule (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (field_rows); i++) {
        const struct field_row *row = &field_rows[i];
        struct reason reason = {""};
        json_t *object = object_of (row->fields);
        struct policy *policy = policy_read (object, &reason);
        CHECK_INT (row->fields, policy != NULL, row->reason == NULL);
        check_reason (row->fields, &reason, row->reason);
        if (policy)
            CHECK (row->fields, json_equal (policy->fields, object));
        policy_destroy (&policy);
        json_decref (object);
    }
}

static void values_are_read (void **state)
{
    (void)state;
    struct policy *policy = policy_of (
        "{\"timezone\":\"Asia/Tokyo\",\"gap\":\"skip\",\"overlap\":\"both\",\"iteration\":4,"
        "\"cycle\":[5,7],\"start_time\":100,\"end_time\":\"1970-01-01T00:05:00Z\",\"misfire\":3,"
        "\"misfire_window\":60,\"jitter\":9,\"overlap_policy\":\"queue\",\"timeout\":30,"
        "\"log\":\"none\",\"retry\":{\"strategy\":\"fixed\",\"interval\":2}}");
    assert_string_equal (policy->timezone, "Asia/Tokyo");
    assert_int_equal (policy->gap, ZONE_GAP_SKIP);
    assert_int_equal (policy->overlap, ZONE_OVERLAP_BOTH);
    assert_int_equal (policy->iteration, 4);
    assert_int_equal (policy->cycle.count, 2);
    assert_int_equal (policy->cycle.durations[1], 7);
    assert_int_equal (policy->start_time, 100);
    assert_int_equal (policy->end_time, 300);
    assert_int_equal (policy->misfire, MISFIRE_NEWEST);
    assert_int_equal (policy->misfire_keep, 3);
    assert_int_equal (policy->misfire_window_s, 60);
    assert_int_equal (policy->jitter_s, 9);
    assert_int_equal (policy->overlap_policy, OVERLAP_QUEUE);
    assert_int_equal (policy->timeout_s, 30);
    assert_int_equal (policy->log, LOG_NONE);
    assert_int_equal (policy->retry.strategy, RETRY_FIXED);
    struct schedule schedule = {.type = SCHEDULE_SECOND};
    policy_into_schedule (policy, &schedule);
    assert_true (schedule.wall_clock && schedule.cycle == &policy->cycle && !schedule.cron);
    assert_int_equal (schedule.start_time, 100);
    assert_int_equal (schedule.end_time, 300);
    policy_destroy (&policy);
    policy = policy_of ("{\"misfire\":\"latest\"}");
    assert_int_equal (policy->misfire, MISFIRE_NEWEST);
    assert_int_equal (policy->misfire_keep, 1);
    assert_int_equal (policy->log, LOG_TRANS);
    policy_destroy (&policy);
}

// -- beside the other fields of the PLAN frame

#define SECOND(fields) "{\"plan_type\":2,\"plan_value\":5,\"plan_repet\":9," fields "}"

static const struct frame_row {
    const char *frame;
    const char *reason;    // NULL: it is taken
    int32_t value, repeat; // of one that is taken
    bool keep;
} frame_rows[] = {
    {"{\"plan_type\":8,\"cron\":\"@daily\"}", NULL, 0, -1, false},
    {"{\"plan_type\":\"cron\",\"cron\":\"@daily\",\"plan_repet\":3}", NULL, 0, 3, false},
    {"{\"plan_type\":8,\"cron\":\"@daily\",\"plan_value\":0}", NULL, 0, -1, false},
    {"{\"plan_type\":8,\"cron\":\"@daily\",\"plan_value\":1}", "plan_value: want 0..0", 0, 0, 0},
    {"{\"plan_type\":8,\"cron\":\"@daily\",\"plan_repet\":0}", "plan_repet: want -1", 0, 0, 0},
    {"{\"plan_type\":8}", "cron: is missing, plan_type cron needs it", 0, 0, 0},
    {"{\"plan_type\":99,\"cron\":\"@daily\"}", "plan_type: want 0..", 0, 0, 0},
    {SECOND ("\"cron\":\"@daily\""), "cron: is for plan_type cron", 0, 0, 0},
    {SECOND ("\"misfire\":\"skip\""), NULL, 5, 9, false},
    {SECOND ("\"misfire\":\"latest\""), NULL, 5, 9, false},
    {SECOND ("\"misfire\":\"all\""), NULL, 5, 9, true},
    {SECOND ("\"no_keep\":true,\"misfire_window\":9"), NULL, 5, 9, true},
    {SECOND ("\"no_keep\":true,\"misfire\":\"all\""), "misfire: sets the same as no_keep", 0, 0, 0},
    {SECOND ("\"misfire\":1,\"no_skip\":false"), "misfire: sets the same as no_keep", 0, 0, 0},
    {SECOND ("\"cycle\":[1,2]"), NULL, 5, 9, false},
    {SECOND ("\"iteration\":3"), "plan_repet: iteration and cycle determine it (3)", 0, 0, 0},
    {SECOND ("\"iteration\":3,\"cycle\":3"), NULL, 5, 9, false},
    {SECOND ("\"timeout\":0"), "timeout: ", 0, 0, 0},
    {"{\"plan_type\":2,\"plan_value\":5,\"iteration\":3,\"cycle\":2}", NULL, 5, 6, false},
    {"{\"plan_type\":2,\"cycle\":[1,2,3],\"iteration\":4}", NULL, 0, 12, false},
    {"{\"plan_type\":2,\"cycle\":[1,2,3]}", "plan_repet: is missing", 0, 0, 0},
    {"{\"plan_type\":2,\"plan_repet\":3,\"cycle\":3}", "plan_value: is missing", 0, 0, 0},
    {"{\"plan_type\":2,\"plan_value\":1,\"iteration\":2147483647,\"cycle\":2}",
     "iteration: want at most 2147483647 runs in all", 0, 0, 0},
    {"{\"plan_type\":7,\"plan_value\":1,\"plan_repet\":3,\"cycle\":[1,2]}",
     "cycle: durations are for second, minute, hour and day", 0, 0, 0},
    {"{\"plan_type\":7,\"plan_value\":1,\"iteration\":3,\"cycle\":2}", NULL, 1, 6, false},
    {"{\"plan_type\":0,\"iteration\":2}", "iteration: plan_type none runs once", 0, 0, 0},
    {"{\"plan_type\":1,\"plan_time\":9,\"cycle\":2}", "cycle: plan_type time runs once", 0, 0, 0},
    {"{\"plan_type\":0,\"timeout\":5,\"retry\":{\"strategy\":\"none\"}}", NULL, 0, 0, false},
    {SECOND ("\"step\":\"x\""), "step: is set by the station", 0, 0, 0},
    {SECOND ("\"missed\":0"), "missed: is set by the station", 0, 0, 0},
    {SECOND ("\"verdict\":0"), "verdict: is set by the station", 0, 0, 0},
    {SECOND ("\"tries\":0"), "tries: is set by the station", 0, 0, 0},
    {SECOND ("\"error_info\":\"\""), "error_info: is set by the station", 0, 0, 0},
    {SECOND ("\"stopped\":\"\""), "stopped: is set by the station", 0, 0, 0},
};

static void fields_fit_the_plan_type (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (frame_rows); i++) {
        const struct frame_row *row = &frame_rows[i];
        struct plan_fields fields;
        struct reason reason = {""};
        int rc = plan_frame_parse (span_text (row->frame), &plan_limits_default, &fields, &reason);
        check_reason (row->frame, &reason, row->reason);
        CHECK_INT (row->frame, rc, row->reason ? ZPLAN_EPLAN : 0);
        if (rc)
            continue;
        CHECK_INT (row->frame, fields.schedule.value, row->value);
        CHECK_INT (row->frame, fields.schedule.repeat, row->repeat);
        CHECK_INT (row->frame, fields.schedule.keep, row->keep);
        plan_fields_clear (&fields);
    }
}

// -- stored

static const char *const stored[] = {
    "\"cron\":[\"0 9 * * *\"],\"timezone\":\"Europe/Berlin\"",
    "\"misfire\":\"latest\",\"misfire_window\":60,\"jitter\":5,\"overlap_policy\":\"queue\"",
    "\"retry\":{\"strategy\":\"sequence\",\"sequence\":[1,2],\"max\":3,\"need_manual\":true}",
    "\"timeout\":5,\"log\":\"trigger\",\"start_time\":5,\"end_time\":\"2026-01-01T00:00:00Z\"",
};

#define STORED_HEAD                                                                                \
    "{\"request_id\":\"\",\"station\":\"api1\",\"caller\":\"\",\"description\":\"\","              \
    "\"messages\":[],\"plan_time\":1000,\"plan_value\":0,\"plan_type\":"

static struct plan *read_stored (const char *type, const char *fields, struct reason *reason)
{
    char text[1024];
    snprintf (text, sizeof text, STORED_HEAD "%s,%s}", type, fields);
    return plan_from_stored_json (0x1f, span_text (text), reason);
}

static void it_is_stored_as_it_was_given (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (stored); i++) {
        struct reason reason = {""};
        size_t size;
        struct plan *plan = read_stored (i == 0 ? "8" : "2", stored[i], &reason);
        CHECK_TEXT (stored[i], reason.text, "");
        plan->missed = 7;
        plan->tries = 2;
        plan->verdict = VERDICT_PENDING;
        plan_set_error (plan, span_text ("why \"it\" failed"));
        plan_set_remark (plan, (struct span)BYTES ("seen \xff\n"));
        char *text = plan_stored_text (plan, &size);
        struct plan *again = plan_from_stored_json (plan->id, span_of (text, size), &reason);
        CHECK_TEXT (stored[i], reason.text, "");
        CHECK (stored[i], json_equal (again->policy->fields, plan->policy->fields));
        CHECK (stored[i], policy_same_schedule (again->policy, plan->policy));
        CHECK_INT (stored[i], again->missed, 7);
        CHECK_INT (stored[i], again->tries, 2);
        CHECK_INT (stored[i], again->verdict, VERDICT_PENDING);
        CHECK_TEXT (stored[i], again->error_info, "why \"it\" failed");
        CHECK_TEXT (stored[i], again->remark, "seen ?\n");
        char *public = plan_public_text (again);
        json_t *object = object_of (public);
        const char *name;
        json_t *value;
        json_object_foreach (plan->policy->fields, name, value)
            CHECK (name, json_equal (value, json_object_get (object, name)));
        json_decref (object);
        free (public);
        free (text);
        plan_destroy (&again);
        plan_destroy (&plan);
    }
}

static const struct {
    const char *type, *fields, *reason;
} broken_rows[] = {
    {"8", "\"jitter\":1", "cron: is missing"},
    {"8", "\"cron\":\"61 * * * *\"", "cron: column 1: "},
    {"2", "\"retry\":{\"strategy\":\"often\"}", "retry: strategy: "},
    {"2", "\"timeout\":-1", "timeout: "},
    {"2", "\"misfire\":null", "misfire: "},
    {"2", "\"verdict\":9", "verdict: "},
    {"2", "\"error_info\":5", "error_info: "},
    {"2", "\"remark\":[]", "remark: "},
    {"99", "\"jitter\":1", "plan_type: "},
};

static void one_that_was_edited_wrongly_is_unreadable (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (broken_rows); i++) {
        struct reason reason = {""};
        struct plan *plan = read_stored (broken_rows[i].type, broken_rows[i].fields, &reason);
        CHECK (broken_rows[i].fields, plan == NULL);
        check_reason (broken_rows[i].fields, &reason, broken_rows[i].reason);
    }
}

static void words_are_cut_at_a_character (void **state)
{
    (void)state;
    struct plan *plan = plan_new (0);
    char words[PLAN_WORDS_MAX + 3];
    memset (words, 'x', sizeof words);
    memcpy (words + PLAN_WORDS_MAX - 1, "\xc3\xa9", 2); // its second byte would be one too many
    plan_set_error (plan, span_of (words, sizeof words));
    assert_int_equal (strlen (plan->error_info), PLAN_WORDS_MAX - 1);
    plan_set_error (plan, (struct span){0});
    assert_null (plan->error_info);
    plan_destroy (&plan);
}

// -- updated

static const struct update_row {
    const char *fields, *update;
    const char *holds;  // the policy after the update; NULL: none
    const char *reason; // NULL: the update is accepted
    bool keep;
} update_rows[] = {
    {"\"timeout\":5", "\"timeout\":6", "{\"timeout\":6}", NULL, false},
    {"\"timeout\":5", "\"jitter\":6", "{\"timeout\":5,\"jitter\":6}", NULL, false},
    {"\"timeout\":5,\"jitter\":6", "\"timeout\":null", "{\"jitter\":6}", NULL, false},
    {"\"timeout\":5", "\"timeout\":null", NULL, NULL, false},
    {"\"timeout\":5", "\"jitter\":null", "{\"timeout\":5}", NULL, false},
    {"\"timeout\":5", "\"plan_value\":null", NULL, "plan_value: want an integer", false},
    {"\"misfire\":\"latest\"", "\"no_keep\":true", NULL, NULL, true},
    {"\"misfire\":\"all\",\"no_keep\":true", "\"misfire\":\"skip\"", "{\"misfire\":\"skip\"}", NULL,
     false},
    {"\"misfire\":\"all\",\"no_keep\":true", "\"jitter\":1", "{\"misfire\":\"all\",\"jitter\":1}",
     NULL, true},
    {"\"misfire\":\"latest\"", "\"no_skip\":true,\"no_keep\":true", NULL, "no_skip: is the same",
     false},
    {"\"misfire\":\"latest\"", "\"no_keep\":true,\"misfire\":null", NULL, NULL, true},
    {"\"misfire\":\"latest\"", "\"misfire\":null,\"no_keep\":true", NULL, NULL, true},
    {"\"misfire\":\"latest\"", "\"no_skip\":true,\"misfire\":null", NULL, NULL, true},
    {"\"iteration\":9", "\"plan_repet\":5,\"iteration\":null", NULL, NULL, false},
    {"\"iteration\":9", "\"iteration\":null,\"plan_repet\":5", NULL, NULL, false},
    {"\"timeout\":5", "\"misfire\":\"latest\",\"no_keep\":true", NULL,
     "misfire: sets the same as no_keep", false},
    {"\"timeout\":5", "\"no_keep\":false,\"misfire\":\"latest\"", NULL,
     "misfire: sets the same as no_keep", false},
    {"\"iteration\":9", "\"plan_repet\":5,\"iteration\":2", NULL,
     "plan_repet: iteration and cycle determine it (2)", false},
    {"\"timeout\":5", "\"iteration\":2,\"plan_repet\":5", NULL,
     "plan_repet: iteration and cycle determine it (2)", false},
    {"\"timeout\":5", "\"timeout\":\"long\"", NULL, "timeout: want seconds", false},
    {"\"timeout\":5", "\"cron\":\"@daily\"", NULL, "cron: is for plan_type cron", false},
    {"\"timeout\":5", "\"plan_type\":8,\"plan_value\":0,\"cron\":\"@daily\"",
     "{\"timeout\":5,\"cron\":\"@daily\"}", NULL, false},
    {"\"timeout\":5", "\"verdict\":0", NULL, "'verdict': cannot be updated", false},
    {"\"params\":\"{\\\"a\\\":1}\"", "\"params\":\"b = 2\"", "{\"params\":\"b = 2\"}", NULL, false},
    {"\"params\":\"b = 2\"", "\"timeout\":5", "{\"params\":\"b = 2\",\"timeout\":5}", NULL, false},
    {"\"defaults\":\"{\\\"retry\\\":1}\"", "\"params\":{\"a\":1}",
     "{\"defaults\":{\"retry\":1},\"params\":{\"a\":1}}", NULL, false},
    {"\"timeout\":5", "\"batch\":\"2024-01-31\"", NULL, "batch: is for plan_type none and time",
     false},
    {"\"timeout\":5", "\"paused\":true", NULL, "paused: is for a submission", false},
};

static void an_update_lays_fields_over_and_null_takes_away (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (update_rows); i++) {
        const struct update_row *row = &update_rows[i];
        char fields[256], update[256];
        struct reason reason = {""};
        snprintf (fields, sizeof fields, "\"plan_repet\":9,%s", row->fields);
        snprintf (update, sizeof update, "{\"revision\":0,%s}", row->update);
        struct plan *plan = read_stored ("2", fields, &reason);
        CHECK_TEXT (row->update, reason.text, "");
        struct plan_update changed;
        int rc =
            plan_update_parse (plan, span_text (update), &plan_limits_default, &changed, &reason);
        check_reason (row->update, &reason, row->reason);
        CHECK_INT (row->update, rc, row->reason ? ZPLAN_EARGUMENT : 0);
        if (!rc) {
            json_t *holds = row->holds ? object_of (row->holds) : NULL;
            CHECK_INT (row->update, changed.fields.schedule.keep, row->keep);
            CHECK_INT (row->update, changed.fields.policy != NULL, holds != NULL);
            CHECK (row->update, !holds || json_equal (holds, changed.fields.policy->fields));
            json_decref (holds);
        }
        plan_update_clear (&changed);
        plan_destroy (&plan);
    }
}

// -- what makes another schedule

static const struct {
    const char *one, *two;
    bool same;
} schedule_rows[] = {
    {"{\"timeout\":1}", "{\"timeout\":2}", true},
    {"{\"params\":{\"a\":1},\"batch\":\"2024-01-31\"}", "{\"defaults\":{\"retry\":1}}", true},
    {"{\"timeout\":1}", "{\"misfire\":\"skip\",\"log\":\"none\"}", true},
    {"{\"jitter\":1}", "{\"jitter\":1,\"overlap_policy\":\"skip\"}", true},
    {"{\"jitter\":1}", "{\"jitter\":2}", false},
    {"{\"jitter\":1}", "{}", false},
    {"{\"cron\":\"@daily\"}", "{\"cron\":\"@hourly\"}", false},
    {"{\"cron\":\"@daily\"}", "{\"cron\":[\"@daily\"]}", false},
    {"{}", "{\"timezone\":\"UTC\"}", false},
    {"{}", "{\"gap\":\"skip\"}", false},
    {"{}", "{\"overlap\":\"both\"}", false},
    {"{}", "{\"iteration\":1}", false},
    {"{\"cycle\":2}", "{\"cycle\":[2]}", false},
    {"{}", "{\"start_time\":1}", false},
    {"{}", "{\"end_time\":1}", false},
};

static void fields_of_when_make_another_schedule (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (schedule_rows); i++) {
        struct policy *one = policy_of (schedule_rows[i].one);
        struct policy *two = policy_of (schedule_rows[i].two);
        CHECK_INT (schedule_rows[i].two, policy_same_schedule (one, two), schedule_rows[i].same);
        CHECK_INT (schedule_rows[i].two, policy_same_schedule (two, one), schedule_rows[i].same);
        policy_destroy (&one);
        policy_destroy (&two);
    }
    assert_true (policy_same_schedule (NULL, NULL));
}

// The place of a run among iterations and cycles; features D013, D014, D017.
static void a_run_has_a_place_among_iterations (void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        int64_t cycle, count, iteration, place;
    } rows[] = {
        {"{\"timeout\":1}", 0, 0, 0, 0},   {"{\"iteration\":4}", 1, 1, 1, 1},
        {"{\"iteration\":4}", 1, 4, 4, 1}, {"{\"cycle\":3}", 3, 0, 0, 0},
        {"{\"cycle\":3}", 3, 3, 1, 3},     {"{\"cycle\":3}", 3, 4, 2, 1},
        {"{\"cycle\":[5,6]}", 2, 5, 3, 1},
    };
    for (size_t i = 0; i < ROWS (rows); i++) {
        struct policy *policy = policy_of (rows[i].fields);
        CHECK_INT (rows[i].fields, policy_cycle (policy), rows[i].cycle);
        struct run_place place =
            policy_run_place (rows[i].count, rows[i].cycle ? rows[i].cycle : 1);
        CHECK_INT (rows[i].fields, place.iteration, rows[i].iteration);
        CHECK_INT (rows[i].fields, place.cycle, rows[i].place);
        policy_destroy (&policy);
    }
    assert_int_equal (policy_cycle (NULL), 0);
}

// Jitter is the same for each run of a plan, within its bound, and not the same for all plans.
// Source: proto 6.3.
static void jitter_is_of_the_plan_and_stays (void **state)
{
    (void)state;
    enum { PLANS = 200, JITTER_S = 9 };
    int64_t seen[JITTER_S + 1] = {0};
    struct plan *plan = plan_new (0);
    plan->plan_time = 1000;
    assert_int_equal (plan_due_time (plan), 1000);
    plan->policy = policy_of ("{\"jitter\":9}");
    for (uint64_t id = 1; id <= PLANS; id++) {
        plan->id = id;
        int64_t late = plan_due_time (plan) - plan->plan_time;
        assert_in_range (late, 0, JITTER_S);
        assert_int_equal (plan_due_time (plan) - plan->plan_time, late);
        seen[late]++;
        plan->plan_time += 10;
        assert_int_equal (plan_due_time (plan) - plan->plan_time, late);
    }
    for (size_t i = 0; i <= JITTER_S; i++)
        assert_in_range (seen[i], 1, PLANS / 4);
    plan_destroy (&plan);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_field_has_its_rule),
        cmocka_unit_test (values_are_read),
        cmocka_unit_test (fields_fit_the_plan_type),
        cmocka_unit_test (it_is_stored_as_it_was_given),
        cmocka_unit_test (one_that_was_edited_wrongly_is_unreadable),
        cmocka_unit_test (words_are_cut_at_a_character),
        cmocka_unit_test (an_update_lays_fields_over_and_null_takes_away),
        cmocka_unit_test (fields_of_when_make_another_schedule),
        cmocka_unit_test (a_run_has_a_place_among_iterations),
        cmocka_unit_test (jitter_is_of_the_plan_and_stays),
    };
    return cmocka_run_group_tests_name ("policy", tests, NULL, NULL);
}
