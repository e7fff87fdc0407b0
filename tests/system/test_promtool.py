"""Each alert of docker/monitoring by promtool: series that let it fire, and no other; and series that are just not bad enough."""
import json
import os
import shutil
import subprocess

import pytest

from test_monitoring import ALERTS, FOLDER, rules

pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool (Debian: prometheus) is not installed")
END = "40m"         # when it is asked; there are two samples a minute


def late(within):
    """Of 1,000 runs a sample, so many started within 5 seconds."""
    return {'zplan_run_lateness_seconds_bucket{target="a",le="5"}': f"0+{within}x80",
            'zplan_run_lateness_seconds_bucket{target="a",le="10"}': "0+1000x80",
            'zplan_run_lateness_seconds_bucket{target="a",le="+Inf"}': "0+1000x80"}


def outcomes(**counts):
    return {f'zplan_runs_total{{target="a",outcome="{name}"}}': values for name, values in counts.items()}


# alert -> series that let it fire, series that do not.
SERIES = {
    "ZplanDown": ({"zplan_up": "1x60 0x20"}, {"zplan_up": "1x76 0x3 1", 'up{job="another"}': "0x80"}),
    "ZplanRedisDown": ({"zplan_redis_up": "1x70 0x10"}, {"zplan_redis_up": "0x70 1x10"}),
    "ZplanNothingRuns": ({"zplan_due": "3x80", 'zplan_runs_sent_total{target="a"}': "0+1x40 40x40"},
                         {"zplan_due": "3x80", 'zplan_runs_sent_total{target="a"}': "0+1x80",
                          'zplan_runs_sent_total{target="b"}': "7x80"}),
    "ZplanLate": (late(980), late(995)),
    "ZplanTargetDown": ({'zplan_target_connected{target="a"}': "1x60 0x20", 'zplan_target_due{target="a"}': "1x80"},
                        {'zplan_target_connected{target="a"}': "0x80", 'zplan_target_due{target="a"}': "0x80",
                         'zplan_target_due{target="b"}': "9x80", 'zplan_target_connected{target="b"}': "1x80"}),
    "ZplanProblem": ({"zplan_problems": "0x60 1x20"}, {"zplan_problems": "1x76 0x3 1", "zplan_warnings": "3x80"}),
    "ZplanWaiting": ({'zplan_target_overdue_seconds{target="a"}': "0x50 301x30"},
                     {'zplan_target_overdue_seconds{target="a"}': "300x80", 'zplan_target_overdue_seconds{target="callbacks"}': "500x80"}),
    "ZplanFailing": (outcomes(ok="0+7x80", failed="0+1x80", timeout="0+2x80"),
                     outcomes(ok="0+9x80", failed="0+1x80", timeout="0+1x80", cancelled="0+99x80")),
    "ZplanNoWorker": (outcomes(not_taken="0+1x80"), outcomes(not_taken="5x80", ok="0+1x80")),
    "ZplanMissed": (outcomes(missed="0x70 1x10"), outcomes(missed="0x40 1x40")),
    "ZplanDead": ({"zplan_exhausted_total": "0x70 1x10"}, {"zplan_exhausted_total": "0x40 1x40"}),
    "ZplanCallbacksBehind": ({'zplan_target_overdue_seconds{target="callbacks"}': "0x60 601x20"},
                             {'zplan_target_overdue_seconds{target="callbacks"}': "600x80",
                              'zplan_target_overdue_seconds{target="jobs"}': "290x80"}),
    "ZplanLostData": ({"zplan_lost_plans_total": "0x70 3x10"}, {"zplan_lost_plans_total": "3x80", "zplan_lost_data_total": "1x80"}),
    "ZplanRedisNearlyFull": ({"zplan_redis_limit_bytes": "100x80", "zplan_redis_used_bytes": "91x80"},
                             {"zplan_redis_limit_bytes": "100x80", "zplan_redis_used_bytes": "90x80"}),
    "ZplanClock": ({"zplan_redis_clock_ahead_seconds": "-1.1x80"}, {"zplan_redis_clock_ahead_seconds": "1x80"}),
}
# The other counter of the same alert, and the other way that a station is down.
MORE = {
    "ZplanDown": {'up{job="zplan"}': "1x60 0x20"},
    "ZplanLostData": {"zplan_lost_data_total": "0x70 1x10"},
    "ZplanClock": {"zplan_redis_clock_ahead_seconds": "1.1x80"},
    # as a station has it: what waits for a target that is away is retried, and not due meanwhile
    "ZplanTargetDown": {'zplan_target_connected{target="a"}': "1x60 0x20", 'zplan_target_due{target="a"}': "0x80",
                        'zplan_runs_total{target="a",outcome="not_taken"}': "0x60 0+1x3 3x16"},
}


def case(name, series, firing):
    """One test of promtool: of all alerts these fire at the end."""
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in firing]
    return {"name": name, "interval": "30s",
            "input_series": [{"series": one, "values": values} for one, values in series.items()],
            "promql_expr_test": [{"expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": END,
                                  "exp_samples": samples}]}


def promtool(tmp_path, *tests):
    file = tmp_path / "test.yml"
    # JSON is YAML.
    file.write_text(json.dumps({"rule_files": [os.path.abspath(os.path.join(FOLDER, "zplan.rules.yml"))],
                                "evaluation_interval": "30s", "tests": tests}), encoding="utf-8")
    return subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, timeout=80)


def test_each_alert_has_its_series():
    assert set(SERIES) == ALERTS == {rule["alert"] for rule in rules()}


@pytest.mark.parametrize("alert", sorted(SERIES))
def test_an_alert(tmp_path, alert):
    bad, good = SERIES[alert]
    tests = [case("fires", bad, [alert]), case("does not fire", good, [])]
    if alert in MORE:
        tests.append(case("fires as well", MORE[alert], [alert]))
    done = promtool(tmp_path, *tests)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_expectation_is_found(tmp_path):
    """Else none of the above would say anything."""
    bad, good = SERIES["ZplanDead"]
    assert promtool(tmp_path, case("fires", bad, [])).returncode != 0
    assert promtool(tmp_path, case("does not fire", good, ["ZplanDead"])).returncode != 0
