"""What the tests of zplan flow simulate share."""
import json

import pytest

from clitest import zplan

AT = ["--at", "2026-01-31T02:00"]


@pytest.fixture
def files(tmp_path):
    def write(**definitions):
        for name, value in definitions.items():
            (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
        return [str(tmp_path / name) for name in definitions]
    return write


def simulate(*words):
    return zplan("flow", "simulate", *words).done()
