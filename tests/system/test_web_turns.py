"""Users of one key share its connection to the station: one who asks much waits behind himself. The station is played."""
import json
import threading

import pytest
import zmq

from clitest import JSON, describe, request_id, zplan, REQUEST_ID
from webtest import make_web, needs_web  # noqa: F401 fixture
from zplanprocs import WAIT, wait_until
from zplantest import FT, ST

pytestmark = needs_web
LARGE = "/v1/plans?limit=1000"


class Station:
    """Keeps the lists that users ask for until the test answers them; all else is answered at once."""

    def __init__(self):
        self.router = zmq.Context.instance().socket(zmq.ROUTER)
        self.router.linger = 0
        self.endpoint = f"tcp://127.0.0.1:{self.router.bind_to_random_port('tcp://127.0.0.1')}"
        self.kept = []      # (user, peer, frames)

    def answer(self, peer, frames, status=ST.OK, answer=None):
        self.router.send_multipart([peer, describe(status, REQUEST_ID, JSON), request_id(frames),
                                    json.dumps(answer or {}).encode()])

    def read(self):
        """Take what has come."""
        while self.router.poll(20):
            peer, *frames = self.router.recv_multipart()
            types = frames[0][2:-1]
            if FT.REQUESTER in types and b"list" in frames:
                self.kept.append((frames[1 + types.index(FT.REQUESTER)].decode(), peer, frames))
            elif REQUEST_ID in types:
                self.answer(peer, frames)
        return self.users()

    def users(self):
        return [user for user, *_ in self.kept]

    def finish(self, user):
        """Answer the first list of this user."""
        one = next(kept for kept in self.kept if kept[0] == user)
        self.kept.remove(one)
        self.answer(*one[1:], answer={"plans": []})


@pytest.fixture
def station():
    station = Station()
    yield station
    station.router.close()


@pytest.fixture
def ask(station, make_web, tmp_path):
    """Ask as a user, in a thread; the answers are in `ask.statuses`."""
    users, tokens, threads, statuses = tmp_path / "users", {}, [], []
    users.mkdir(0o700)
    for name in ("ann", "bob"):
        tokens[name] = zplan("web", "user", name, "--out", str(users)).done().strip()
    web = make_web(station.endpoint, "--users", str(users))

    def ask(user):
        thread = threading.Thread(target=lambda: statuses.append(
            web.get(LARGE, Authorization=f"Bearer {tokens[user]}").status))
        thread.start()
        threads.append(thread)
    ask.statuses = statuses
    yield ask
    for thread in threads:
        thread.join(WAIT)


def test_who_asks_much_waits_behind_himself(station, ask):
    for _ in range(6):
        ask("ann")
    wait_until(lambda: station.read() == ["ann"] * 2, "two large ones of a user are in flight")
    ask("bob")
    wait_until(lambda: station.read() == ["ann", "ann", "bob"], "another user's is sent before the others")
    answered = []
    while len(ask.statuses) < 7:
        seen = station.read()
        assert seen.count("ann") <= 2, seen
        if seen:
            answered.append(seen[0])
            station.finish(seen[0])
    assert ask.statuses == [200] * 7 and sorted(answered) == ["ann"] * 6 + ["bob"]
