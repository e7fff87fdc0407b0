"""docker/monitoring: rules and dashboard ask for metrics that are served, and promtool agrees with the rules."""
import json
import os
import re
import shutil
import subprocess

import pytest
import yaml

from test_metrics import metrics

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "docker", "monitoring")
ALERTS = {"ZplanDown", "ZplanRedisDown", "ZplanProblem", "ZplanNothingRuns", "ZplanLate", "ZplanTargetDown", "ZplanWaiting", "ZplanFailing",
          "ZplanNoWorker", "ZplanMissed", "ZplanDead", "ZplanCallbacksBehind", "ZplanLostData", "ZplanRedisNearlyFull", "ZplanClock"}


def text_of(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def rules():
    return [rule for group in yaml.safe_load(text_of("zplan.rules.yml"))["groups"] for rule in group["rules"]]


def queries():
    panels = json.loads(text_of("grafana-zplan.json"))["panels"]
    return [query["expr"] for panel in panels for query in panel["targets"]]


def served(rig):
    found = metrics(rig)
    return {name for name, _ in found.series} | set(found.types)


def test_rules_and_dashboard_name_what_is_served(rig):
    names = served(rig)
    for expression in [rule["expr"] for rule in rules()] + queries():
        asked = set(re.findall(r"\bzplan_\w+", expression))
        assert asked and asked <= names, expression
        for label in re.findall(r'(\w+)=~?"', expression):
            assert label in ("job", "outcome", "target"), expression


def test_each_alert_says_what_to_do():
    assert {rule["alert"] for rule in rules()} == ALERTS
    for rule in rules():
        assert rule["annotations"]["summary"] and rule["annotations"]["do"], rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_the_dashboard():
    board = json.loads(text_of("grafana-zplan.json"))
    panels = board["panels"]
    assert board["uid"] == "zplan" and board["schemaVersion"] >= 36
    assert len({panel["id"] for panel in panels}) == len(panels) == len({panel["title"] for panel in panels})
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}
    assert len(places) == len(panels)


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool (Debian: prometheus) is not installed")
@pytest.mark.parametrize("args", [["check", "rules", os.path.join(FOLDER, "zplan.rules.yml")],
                                  ["check", "config", os.path.join(FOLDER, "prometheus.yml")],
                                  ["test", "rules", os.path.join(HERE, "monitoring.test.yml")]],
                         ids=["rules", "config", "alerts"])
def test_promtool(args):
    done = subprocess.run(["promtool", *args], capture_output=True, text=True, timeout=80)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("promtool"), reason="promtool (Debian: prometheus) is not installed")
def test_promtool_reads_what_is_served(rig):
    text = metrics(rig).text
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=80)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
