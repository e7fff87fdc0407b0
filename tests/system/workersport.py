"""The workers' port of a target, played by the test."""
import pytest
import zmq

from zplantest import FT, WAIT
from zstationtest import OK


class WorkersPort:
    """The workers' port of a target, played by the test, for one worker."""

    def __init__(self):
        self.router = zmq.Context.instance().socket(zmq.ROUTER)
        self.router.linger, self.router.rcvtimeo = 0, int(WAIT * 1000)
        self.endpoint = f"tcp://127.0.0.1:{self.router.bind_to_random_port('tcp://127.0.0.1')}"
        self.unanswered = 0     # heartbeats

    def until(self, last):
        """The messages up to the one with this code, each its code and its frames; of a job `job`."""
        seen = []
        while not seen or seen[-1][0] != last:
            self.sender, *parts = self.router.recv_multipart()
            seen.append((parts[0][1:2], parts[1:]) if parts[0][0] < 32 else (b"job", parts))
            self.unanswered += seen[-1][0] in (b"J", b"P")
        return seen

    def codes(self, last):
        return [code for code, _ in self.until(last)]

    def send(self, *frames):
        self.router.send_multipart([self.sender, *frames])

    def answer(self, code=OK):
        self.send(bytes([0, code, 0]))
        self.unanswered -= 1

    def dispatch(self):
        self.send(b"*a1", bytes([2, 2, FT.COMMAND, FT.LOCAL_ID, 0]), b"hold", b"5f")

    def join(self):
        """Up to the first heartbeat; how many jobs the worker requests."""
        self.until(b"J")
        self.answer()
        return self.codes(b"P").count(b"R")


@pytest.fixture
def port():
    made = WorkersPort()
    yield made
    made.router.close()
