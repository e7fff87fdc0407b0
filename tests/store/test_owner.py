"""The driver of tests/sim/test_owner.c against a real redis-server: what the model says of WATCH, EXEC and full memory."""
import os
import pathlib
import random
import subprocess

REPO = pathlib.Path(__file__).parents[2]


def test_ownership_in_random_interleavings(server):
    tool = pathlib.Path(os.environ.get("ZPLAN_ZONE_DUMP", REPO / "build/tests/zone_dump")).with_name("owner_real")
    seed = int(os.environ.get("OWNER_SEED") or random.randrange(1, 10**9))
    for number in range(seed, seed + 3):
        ended = subprocess.run([tool], env={**os.environ, "OWNER_REDIS": server, "OWNER_SEED": str(number)},
                               capture_output=True, text=True, timeout=120)
        assert ended.returncode == 0, f"OWNER_SEED={number}\n{ended.stdout}{ended.stderr}"
