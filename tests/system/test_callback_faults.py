"""Callbacks while station and sender are killed: each outcome is told, under the id of its run and no other."""
import random
import threading
import time

from callbacktest import OK, Receiver, Sender, answer, needs_sender
from zplanprocs import wait_until
from zplantest import FT, ST, at_once

pytestmark = needs_sender
PLANS, KILLS = 60, 4


class Worker(threading.Thread):
    """Ends each run of the target well until stop(). The OK of the first one is lost, as at a kill behind its RUNING."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.ended = target, False
        self.start()

    def run(self):
        self.target.answer(self.target.recv(), ST.RUNING)
        while not self.ended:
            if self.target.socket.poll(50):
                self.target.finish(self.target.recv(), ST.OK, [(FT.CONTENT, b"good")])

    def stop(self):
        self.ended = True
        self.join()


def shaky(request, send):
    """A receiver that fails now and then."""
    return answer(503) if random.random() < 0.2 else OK


def test_none_is_lost_and_none_has_another_id(make_rig):
    # A run without its OK is sent again when its lease has expired, by default after 300 s; the history has its TIMEOUT, too.
    rig = make_rig("--exec-timeout", "5")
    receiver = rig.keep(Receiver(shaky))
    sender = rig.keep(Sender(rig.folder, rig.ipc("q"), receiver))
    worker = Worker(rig.jobs)
    try:
        callback = {"success": {"url": receiver.url()}, "retry": {"strategy": "fixed", "interval": 1, "max": 100}}
        idents = []
        for kill in range(KILLS):
            idents += [rig.client.added(at_once(callback=callback)) for _ in range(PLANS // KILLS)]
            time.sleep(random.random() / 5)     # at no particular moment
            if kill % 2:
                sender.process.kill()
                sender = rig.keep(Sender(rig.folder, rig.ipc("q"), receiver))
            else:
                rig.station.kill()
                rig.station.start()

        def delivered(ident):
            runs = [run for run in rig.client.done("history", ident).json["runs"] if run["status"] == ST.OK]
            return runs if runs and all(run.get("callback", {}).get("state") == "delivered" for run in runs) else None
        expected = set()
        for ident in idents:
            # What a sender had when it was killed is taken again when its lease is over.
            for run in wait_until(lambda ident=ident: delivered(ident), f"the callbacks of {ident}", 150):
                expected.add(f"{ident}-{run['exec_id']:x}")
        seen = {receiver.requests.get_nowait().headers["webhook-id"] for _ in range(receiver.requests.qsize())}
        assert seen == expected and len({one.split("-")[0] for one in seen}) == PLANS
        wait_until(lambda: rig.db.hget("plan:callbacks", "jobs") in (None, b"0"), "none is kept")
    finally:
        worker.stop()
