"""Fixtures of the vector tests: the rigs of tests/system, whose processes these tests use too.

Run with `python3 -m pytest tests/proto`; the environment is that of tests/system.
"""
import importlib.util
import os
import sys

SYSTEM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system")
sys.path.insert(0, SYSTEM)
_spec = importlib.util.spec_from_file_location("system_conftest",
                                               os.path.join(SYSTEM, "conftest.py"))
_system = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_system)

make_rig, rig = _system.make_rig, _system.rig
make_shared, shared_rig, shared = _system.make_shared, _system.shared_rig, _system.shared
pytest_runtest_makereport = _system.pytest_runtest_makereport
