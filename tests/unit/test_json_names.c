// The names of JSON: a row for each name of the wire, and what becomes of it.
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

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (maps)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
