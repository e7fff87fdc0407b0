// The names of JSON: a row for each name of the wire, and its converted form.
#include "rows.h"

#include <jansson.h>

#include "json_names.h"

static const struct mapping {
    const char *name;
    enum json_kind kind;
    const char *wire, *names;
} mappings[] = {
    {"an id", JSON_PLAN, "{'plan_id': 42}", "{'id': '2a'}"},
    {"an id above 2^53", JSON_PLAN, "{'plan_id': 9223372036854775807}",
     "{'id': '7fffffffffffffff'}"},
    {"words beside the wire", JSON_PLAN, "{'id': '2a', 'state': 'queue', 'type': 'day'}", "{}"},
    {"target", JSON_PLAN, "{'station': 'jobs'}", "{'target': 'jobs'}"},
    {"a target of bytes", JSON_PLAN, "{'station': {'b64': '/w=='}}", "{'target': {'b64': '/w=='}}"},
    {"title", JSON_PLAN, "{'description': 'hello'}", "{'title': 'hello'}"},
    {"name", JSON_PLAN, "{'key': 'nightly'}", "{'name': 'nightly'}"},
    {"revision", JSON_PLAN, "{'revision': 7}", "{'revision': 7}"},
    {"a state", JSON_ANSWER, "{'plan_state': 1}", "{'state': 'queued'}"},
    {"a plan that runs", JSON_PLAN, "{'plan_state': 2}", "{'state': 'running', 'running': true}"},
    {"one that is queued", JSON_PLAN, "{'plan_state': 1}", "{'state': 'queued', 'running': false}"},
    {"one that is not due", JSON_PLAN, "{'plan_state': 3, 'plan_time': 1795227062}",
     "{'state': 'retrying', 'running': false, 'next_at': '2026-11-21T02:11:02.000Z'}"},
    {"next of a paused plan", JSON_PLAN, "{'plan_state': 5, 'plan_time': 1795227062}",
     "{'state': 'paused', 'running': false, 'next_at': null}"},
    {"no next time", JSON_PLAN, "{'plan_time': 0}", "{'next_at': null}"},
    {"created", JSON_PLAN, "{'add_time': 1795227062}",
     "{'created_at': '2026-11-21T02:11:02.000Z'}"},
    {"last", JSON_PLAN,
     "{'last_state': 130, 'exec_time': 1795227062, 'exec_id': 42, 'error_info': 'disk is full'}",
     "{'last': {'status': 'failed', 'started_at': '2026-11-21T02:11:02.000Z', 'exec_id': '2a',"
     " 'reason': 'disk is full'}}"},
    {"a heartbeat is no end of a run", JSON_PLAN,
     "{'last_state': 3, 'exec_time': 1795227062, 'plan_state': 2}",
     "{'last': {'status': null, 'started_at': '2026-11-21T02:11:02.000Z'}, 'state': 'running',"
     " 'running': true}"},
    {"nor after a pause", JSON_PLAN, "{'last_state': 3, 'plan_state': 5}",
     "{'last': {'status': null}, 'state': 'paused', 'running': false, 'next_at': null}"},
    {"the success before a run in progress", JSON_PLAN, "{'plan_state': 2, 'last_state': 1}",
     "{'last': {'status': null}, 'state': 'running', 'running': true}"},
    {"the failure before it", JSON_PLAN, "{'plan_state': 2, 'last_state': 130}",
     "{'last': {'status': 'failed'}, 'state': 'running', 'running': true}"},
    {"the success of a run that has ended", JSON_PLAN, "{'plan_state': 1, 'last_state': 1}",
     "{'last': {'status': 'ok'}, 'state': 'queued', 'running': false}"},
    {"before the first run", JSON_PLAN, "{'last_state': 0, 'exec_time': 0, 'exec_id': 0}",
     "{'last': {'status': null, 'started_at': null, 'exec_id': null}}"},
    {"counts", JSON_PLAN, "{'real_repet': 3, 'error_count': 1, 'missed': 2, 'skip_num': 4}",
     "{'counts': {'runs': 3, 'failures': 1, 'missed': 2, 'skipped': 4}}"},
    {"left", JSON_PLAN,
     "{'plan_state': 1, 'plan_type': 2, 'plan_repet': 10, 'real_repet': 3, 'skip_num': 4}",
     "{'state': 'queued', 'running': false, 'spec': {'plan_type': 'second', 'plan_repet': 10},"
     " 'counts': {'runs': 3, 'skipped': 4, 'left': 3}}"},
    {"for ever", JSON_PLAN, "{'plan_state': 1, 'plan_type': 5, 'plan_repet': -1}",
     "{'state': 'queued', 'running': false, 'spec': {'plan_type': 'day', 'plan_repet': -1},"
     " 'counts': {'left': null}}"},
    {"failures", JSON_PLAN, "{'failures': [{'status': 130, 'exec_id': 42, 'ended': 1795227062.5}]}",
     "{'failures': [{'status': 'failed', 'exec_id': '2a', 'ended_at': "
     "'2026-11-21T02:11:02.500Z'}]}"},
    {"verdict", JSON_PLAN, "{'verdict': 2}", "{'verdict': 'pending'}"},
    {"no verdict", JSON_PLAN, "{'verdict': 0}", "{}"},
    {"stopped", JSON_PLAN, "{'stopped': 'pause by ops at 2026-11-22T02:35:17Z'}",
     "{'stopped': {'why': 'paused', 'at': '2026-11-22T02:35:17.000Z', 'by': 'ops'}}"},
    {"stopped by nobody known", JSON_PLAN, "{'stopped': 'close at 2026-11-22T02:35:17Z'}",
     "{'stopped': {'why': 'closed', 'at': '2026-11-22T02:35:17.000Z', 'by': null}}"},
    {"stopped by an odd name", JSON_PLAN, "{'stopped': 'pause by x at y at 2026-11-22T02:35:17Z'}",
     "{'stopped': {'why': 'paused', 'at': '2026-11-22T02:35:17.000Z', 'by': 'x at y'}}"},
    {"what is no such text", JSON_PLAN, "{'stopped': 'elsewhere'}", "{'stopped': 'elsewhere'}"},
    {"what a submitter writes", JSON_PLAN,
     "{'plan_type': 5, 'plan_value': 1, 'no_keep': true, 'timezone': 'UTC', 'timeout': 5}",
     "{'spec': {'plan_type': 'day', 'plan_value': 1, 'no_keep': true, 'timezone': 'UTC',"
     " 'timeout': 5}}"},
    {"ext of a message", JSON_PLAN, "{'ext': '{}'}", "{'spec': {'ext': {}}}"},
    {"ext of a list", JSON_PLAN, "{'ext': {'a': 1}}", "{'spec': {'ext': {'a': 1}}}"},
    {"a field without a row", JSON_PLAN, "{'progress': '3/4'}", "{'progress': '3/4'}"},

    {"a run's plan", JSON_RUN, "{'id': '2a', 'plan': '2a'}", "{'plan': '2a'}"},
    {"the name of a run's plan", JSON_RUN, "{'key': 'nightly'}", "{'name': 'nightly'}"},
    {"a published result", JSON_RUN,
     "{'id': '2a', 'status': '+ok', 'code': 1, 'plan': {'plan_id': 42, 'plan_state': 1}}",
     "{'status': 'ok', 'plan': '2a', 'after': {'id': '2a', 'state': 'queued', 'running': false}}"},
    {"one whose plan is no JSON", JSON_RUN, "{'id': '2a', 'plan': '{'}", "{'plan': '2a'}"},
    {"a run of a flow", JSON_RUN, "{'flow_run': 1795227062000519, 'step': 'load'}",
     "{'flow_run': '660bfdf525b87', 'step': 'load'}"},
    {"a run's id", JSON_RUN, "{'exec_id': 1795227062000519}", "{'exec_id': '660bfdf525b87'}"},
    {"instants of a run", JSON_RUN,
     "{'nominal': 1795227062, 'fired': 1795227062.5, 'ended': 1795227062.704, 'status': 1}",
     "{'nominal_at': '2026-11-21T02:11:02.000Z', 'started_at': '2026-11-21T02:11:02.500Z',"
     " 'ended_at': '2026-11-21T02:11:02.704Z', 'status': 'ok', 'took_s': 0.204}"},
    {"ok", JSON_RUN, "{'status': 1}", "{'status': 'ok'}"},
    {"failed", JSON_RUN, "{'status': 130}", "{'status': 'failed'}"},
    {"not taken", JSON_RUN, "{'status': 136}", "{'status': 'not_taken'}"},
    {"timeout", JSON_RUN, "{'status': 134}", "{'status': 'timeout'}"},
    {"cancelled", JSON_RUN, "{'status': 144}", "{'status': 'cancelled'}"},
    {"missed", JSON_RUN, "{'status': 145, 'fired': 1795227062.5, 'missed_first': 1795227062}",
     "{'status': 'missed', 'started_at': null, 'missed_first_at': '2026-11-21T02:11:02.000Z'}"},
    {"send error", JSON_RUN, "{'status': 140}", "{'status': 'send_error'}"},
    {"in doubt", JSON_RUN, "{'status': 141}", "{'status': 'in_doubt'}"},
    {"another error of a target", JSON_RUN, "{'status': 132}",
     "{'status': 'failed', 'code': 'not_support'}"},
    {"an error without a name", JSON_RUN, "{'status': 200}",
     "{'status': 'failed', 'code': 'error'}"},
    {"a status as a word of the wire", JSON_RUN, "{'status': '-failed', 'code': 130}",
     "{'status': 'failed'}"},
    {"the state afterwards", JSON_RUN, "{'state': 7}", "{'state': 'closed'}"},

    {"of a target", JSON_TARGET, "{'name': 'jobs', 'since': 1795227062, 'late_ms': 1500}",
     "{'name': 'jobs', 'since_at': '2026-11-21T02:11:02.000Z', 'late_s': 1.5}"},
    {"unresponsive", JSON_TARGET, "{'unresponsive_since': 1795227062}",
     "{'unresponsive_since_at': '2026-11-21T02:11:02.000Z'}"},
    {"no worker", JSON_TARGET, "{'no_worker': 1795227062}",
     "{'no_worker_at': '2026-11-21T02:11:02.000Z'}"},

    {"a plan inside an answer", JSON_ANSWER, "{'plan': {'plan_id': 42}}", "{'plan': {'id': '2a'}}"},
    {"refused", JSON_ANSWER, "{'refused': '-busy'}", "{'detail': '-busy'}"},
    {"counters of the stats", JSON_ANSWER, "{'counters': {'refused': 3, 'told': 1}}",
     "{'counters': {'refused': 3, 'told': 1}}"},
    {"told", JSON_ANSWER, "{'told': true}", "{'notified': true}"},
    {"its clock", JSON_ANSWER, "{'now_ms': 1795227062042, 'redis': {'clock_ahead_ms': -250}}",
     "{'now_at': '2026-11-21T02:11:02.042Z', 'redis': {'clock_ahead_s': -0.25}}"},
    {"targets of the stats", JSON_ANSWER, "{'stations': 1, 'targets': [{'since': 1795227062}]}",
     "{'target_count': 1, 'targets': [{'since_at': '2026-11-21T02:11:02.000Z'}]}"},
    {"how many targets", JSON_ANSWER, "{'targets': 3}", "{'targets': 3}"},
    {"the next time of all", JSON_ANSWER, "{'next': 0}", "{'next_at': null}"},
    {"a round trip", JSON_ANSWER, "{'round_trip_us': 250}", "{'took_s': 0.00025}"},
    {"a team", JSON_ANSWER, "{'workers': [{'worker': 'w', 'started_ms': 1795227062042}]}",
     "{'workers': [{'worker': 'w', 'started_at': '2026-11-21T02:11:02.042Z'}]}"},
    {"a deep value", JSON_ANSWER, "{'a': [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}",
     "{'a': [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}"},
    {"a reason of why", JSON_ANSWER, "{'reasons': [{'at': '2026-11-21T02:11:02Z'}]}",
     "{'reasons': [{'at': '2026-11-21T02:11:02.000Z'}]}"},
};

static json_t *read (const char *text)
{
    char copy[600];
    snprintf (copy, sizeof copy, "%s", text);
    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    json_error_t error;
    json_t *value = json_loads (copy, 0, &error);
    if (!value)
        fail_msg ("%s: %s", text, error.text);
    return value;
}

static void maps (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (mappings); i++) {
        json_t *wire = read (mappings[i].wire), *before = json_deep_copy (wire);
        json_t *want = read (mappings[i].names), *got = json_names (mappings[i].kind, wire);
        char *text = json_dumps (got, 0);
        if (!json_equal (got, want))
            fail_msg ("%s: got %s", mappings[i].name, text);
        CHECK (mappings[i].name, json_equal (wire, before));
        free (text);
        json_decref (wire);
        json_decref (before);
        json_decref (want);
        json_decref (got);
    }
}

// -- texts

static const struct {
    const char *name, *wire, *names; // NULL: the text is invalid
} texts[] = {
    {"spaces", " { \"plan_id\" : 42 , \"plan_time\":\n1795227062 } ",
     "{\"id\":\"2a\",\"next_at\":\"2026-11-21T02:11:02.000Z\"}"},
    {"list", "[{\"plan_id\":42},[],[{\"plan_id\":0}],5]", "[{\"id\":\"2a\"},[],[{\"id\":null}],5]"},
    {"no members", "{}", "{}"},
    {"objects at the end", "{\"real_repet\":1,\"plan_value\":2,\"caller\":\"c\"}",
     "{\"caller\":\"c\",\"spec\":{\"plan_value\":2},\"counts\":{\"runs\":1}}"},
    {"escapes", "{\"description\":\"\\u00e9\",\"\\n\":1}", "{\"title\":\"\\u00e9\",\"\\n\":1}"},
    {"empty name", "{\"\":1}", "{\"\":1}"},
    {"numbers as they are", "{\"revision\":1.50,\"note\":1e3}", "{\"revision\":1.50,\"note\":1e3}"},
    {"a time of another offset", "{\"plan_time\":\"2026-11-21T03:11:02+01:00\"}",
     "{\"next_at\":\"2026-11-21T02:11:02.000Z\"}"},
    {"what is no time", "{\"plan_time\":\"soon\",\"add_time\":[]}",
     "{\"created_at\":null,\"next_at\":\"soon\"}"},
    {"names of this form, by hand",
     "{\"description\":\"a\",\"title\":\"b\",\"spec\":1,\"real_repet\":1,\"counts\":2}",
     "{\"title\":\"a\",\"counts\":{\"runs\":1}}"},
    {"deep members of a list", "[{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}]",
     "[{\"a\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]}]"},
    {"stopped by nobody", "{\"stopped\":\"pause by at 2026\"}",
     "{\"stopped\":\"pause by at 2026\"}"},
    {"no text", "", NULL},
    {"not ended", "{\"plan_id\":42", NULL},
    {"list not ended", "[{\"plan_id\":42}", NULL},
    {"no value", "{\"plan_id\":}", NULL},
    {"deep list", "[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", NULL},
};

static bool take (struct span wire, struct json_text *out)
{
    uint8_t *bytes = exact_bytes (wire);
    struct json_scan scan = json_scan_of (span_of (bytes, wire.size));
    json_text_start (out, 1);
    bool taken = json_names_take (JSON_PLAN, &scan, out) && json_scan_ended (&scan);
    free (bytes);
    return taken;
}

static void texts_are_mapped (void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS (texts); i++) {
        struct json_text out;
        size_t size;
        bool taken = take (span_text (texts[i].wire), &out);
        CHECK_INT (texts[i].name, taken, texts[i].names != NULL);
        if (taken)
            CHECK_TEXT (texts[i].name, json_text_end (&out, &size), texts[i].names);
        free (out.bytes);
    }
}

// An object may have more members than most.
static void many_members_are_mapped (void **state)
{
    enum { MEMBERS = 1000 };
    (void)state;
    struct json_text wire, out;
    char name[32];
    json_text_start (&wire, 1);
    json_text_raw (&wire, span_text ("{"));
    for (int i = 0; i < MEMBERS; i++) {
        snprintf (name, sizeof name, "%s\"field_%d\":%d", i ? "," : "", i, i);
        json_text_raw (&wire, span_text (name));
    }
    json_text_raw (&wire, span_text (",\"plan_id\":42}"));
    CHECK ("taken", take (span_of (wire.bytes, wire.size), &out));
    json_t *names = json_loadb (out.bytes, out.size, JSON_REJECT_DUPLICATES, NULL);
    CHECK_INT ("members", json_object_size (names), MEMBERS + 1);
    CHECK_TEXT ("the last", json_string_value (json_object_get (names, "id")), "2a");
    json_decref (names);
    free (out.bytes);
    free (wire.bytes);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (maps), cmocka_unit_test (texts_are_mapped),
                                       cmocka_unit_test (many_members_are_mapped)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
