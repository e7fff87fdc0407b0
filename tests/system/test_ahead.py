"""Where many plans are due one after the other they are claimed a moment before, and sent when they are due (proto 7.1)."""
import threading
import time

import pytest

from redisproxy import RedisProxy
from redissteps import proxied, redis_at
from zplantest import CMD, FT, ST, later, wait_until

GAP_S = 0.0025      # 400 a second
ROUNDS = 10         # until enough was seen: a slow machine claims most of them late


class Stream:
    """Plans that are due one after the other, and a target that notes when each came."""

    def __init__(self, rig, plans):
        self.rig, self.came, self.numbers, self.restarted = rig, {}, {}, False
        self.idents = [rig.client.added(later(3600)) for _ in range(plans)]

    def begin(self, gap_s=GAP_S):
        first = time.time() + 0.5
        self.due = {ident: round(first + n * gap_s, 6) for n, ident in enumerate(self.idents)}
        self.rig.db.zadd("plan:time:set", {self.rig.key(ident): due for ident, due in self.due.items()})

    def take(self):
        run = self.rig.jobs.recv()
        if run.code == CMD.CLOSE_REQUEST:
            return
        ident = run.mailbox[1:].decode()
        assert ident not in self.came or self.restarted, "run twice"
        self.came[ident], self.numbers[ident] = time.time(), run.exec_id
        self.rig.jobs.finish(run)

    def take_all(self):
        while len(self.came) < len(self.idents):
            self.take()

    def ahead(self):
        """Those whose number is the very microsecond of their time: they were claimed before it."""
        return [ident for ident, number in self.numbers.items() if number == round(self.due[ident] * 1e6)]


@pytest.fixture
def stream(rig):
    return lambda plans: Stream(rig, plans)


def never_early(rig):
    """Streams, until enough was claimed ahead; on a slow machine that is little, and never nothing."""
    ahead = 0
    for turn in range(5 * ROUNDS):
        many = Stream(rig, 400)
        many.begin()
        many.take_all()
        early = {ident: due - many.came[ident] for ident, due in many.due.items() if many.came[ident] < due}
        assert not early, "seconds before they are due"
        for ident in many.idents:
            rig.gone(ident)
        ahead += len(many.ahead())
        if ahead > 100 or (ahead and turn >= ROUNDS):
            return
    assert ahead, "nothing was claimed ahead"


def test_never_early_and_each_once(rig):
    """B109: What is due soon is claimed together."""
    never_early(rig)


def test_never_early_where_requests_are_slow_to_reach_redis(make_rig):
    """What was claimed ahead is sent by the clock of Redis as the station estimates it."""
    rig = make_rig(start=False)
    rig.proxy = rig.keep(RedisProxy(rig.redis.socket))
    rig.proxy.request_delay = 0.004     # the longer way of a round trip
    redis_at(rig, rig.proxy.address)
    rig.start()
    never_early(rig)


def test_few_are_not_claimed_early(rig, stream):
    few = stream(5)
    few.begin(0.2)
    few.take_all()
    assert few.ahead() == []
    assert all(number > few.due[ident] * 1e6 for ident, number in few.numbers.items())


def take_back(rig, many, word):
    """Take some back a moment before they are due; return those of which that was in time.

    Only of those that are due more than a second after the first: scores that were moved to times which the station
    has read are noticed up to a second late. The moments differ, as it depends on the machine which is in time."""
    many.begin()
    remover, back = rig.dealer(), []
    chosen = many.idents[450:850:20]

    def remove():
        for nth, ident in enumerate(chosen):
            time.sleep(max(many.due[ident] - (6 + nth % 14) / 1000 - time.time(), 0))
            reply = remover.manage(word, ident)
            if reply.code == ST.OK and time.time() < many.due[ident]:
                back.append(ident)

    thread = threading.Thread(target=remove)
    thread.start()
    while thread.is_alive() or len(many.came) < len(many.idents) - len(chosen):
        if rig.jobs.socket.poll(50):
            many.take()
    thread.join()
    remover.close()
    while rig.jobs.socket.poll(200):
        many.take()
    return back


@pytest.mark.parametrize("word", ["remove", "cancel"])
def test_what_was_taken_back_in_time_is_not_sent(rig, stream, word):
    """A plan is removed; or its run, which is in hand already, is cancelled."""
    for _ in range(ROUNDS):
        many = stream(900)
        back = take_back(rig, many, word)
        assert not set(back) & set(many.came)
        if back:
            return
    raise AssertionError("nothing was in time")


def test_a_run_that_is_cancelled_while_its_claim_is_written_is_sent_and_told(make_rig):
    """In one moment Redis tells where the plan is that is cancelled, and of its message for its run."""
    rig = proxied(make_rig)
    canceller = rig.dealer()
    for _ in range(ROUNDS):
        ident = rig.client.added(later(2, description="cancelled"))
        due = rig.db.zscore("plan:time:set", rig.key(ident))
        wait_until(lambda: time.time() > due - 0.3, "nearly due")
        rig.proxy.hold_from = b"plan:ids"
        canceller.send(CMD.NONE, [(FT.COMMAND, b"cancel"), (FT.ARG, ident.encode())])
        wait_until(lambda: b"cancelled" in rig.proxy.held_back() or rig.jobs.socket.poll(0), "read for its run")
        if not rig.jobs.socket.poll(0):
            break
        rig.proxy.release()     # too late: it was sent before
        assert canceller.recv().code == ST.OK
        assert [rig.jobs.recv().code, rig.jobs.recv().code] == [CMD.PROXY, CMD.CLOSE_REQUEST]
    rig.proxy.release()
    reply = canceller.recv()
    assert reply.code == ST.OK and reply.json["told"] is True
    run, notice = rig.jobs.recv(), rig.jobs.recv()
    assert run.mailbox == notice.mailbox == b"*" + ident.encode()
    assert (run.code, notice.code) == (CMD.PROXY, CMD.CLOSE_REQUEST)


def test_a_stop_leaves_nothing_behind(make_rig):
    """What was claimed is sent before the end; the rest is run after the next start. So is once more, when its lease is
    over, what was answered to a station that was gone."""
    rig = make_rig("--exec-timeout", "4")
    many = Stream(rig, 400)
    many.begin()
    while len(many.came) < 150:
        many.take()
    many.restarted = True
    taker = threading.Thread(target=many.take_all)
    taker.start()
    rig.restart()       # not in the thread: the station would end with it
    taker.join()

    def over():
        while rig.jobs.socket.poll(0):
            many.take()
        return not any(rig.left(ident) for ident in many.idents)
    wait_until(over, "every plan is over")
    assert rig.db.hlen("plan:run") == 0
