"""src/clients/python/zplan.py with the addresses of several stations, of which one owns the plans: it dies,
and another one takes over."""
import asyncio
import sys
import threading

import pytest
import zmq

from clitest import JSON, reply
from keyedtest import LockedStation, Pair
from ownertest import OK, Cut, Owners, broadcasters, endpoints, silent
from zplanprocs import REPO, free_port, wait_until
from zplantest import WAIT

sys.path.insert(0, REPO + "/src/clients/python")
import zplan  # noqa: E402 pylint: disable=wrong-import-position

PLAN = bytes([2])


def answers(request):
    """A plan, or the JSON of an admin command."""
    if request[0][1:2] == PLAN:
        return [reply(request, 2, (1, b"2a"))]
    return [reply(request, OK, (JSON, b"{}"))]


class Blocking:
    """The calls of a client, and a thread of its own for one that waits."""

    def __init__(self, seats):
        self.client = zplan.Client(endpoints(seats), timeout=60)

    def call(self, name, *args, **options):
        return getattr(self.client, name)(*args, **options)

    def begin(self, name, *args, **options):
        ended = []

        def work():
            try:
                ended.append(self.call(name, *args, **options))
            except zplan.Error as error:
                ended.append(error)
        thread = threading.Thread(target=work)
        thread.start()

        def end():
            thread.join(WAIT)
            return ended[0]
        return end

    def close(self):
        self.client.close()


class Awaiting(Blocking):
    """The same of an asyncio client, whose event loop is in another thread."""

    def __init__(self, seats):      # pylint: disable=super-init-not-called
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.client = self.run(self.make(endpoints(seats)))

    async def make(self, text):
        return zplan.AsyncClient(text, timeout=60)

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(WAIT)

    def call(self, name, *args, **options):
        return self.run(getattr(self.client, name)(*args, **options))

    async def end(self):
        self.client.close()

    def close(self):
        self.run(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(WAIT)
        self.loop.close()


@pytest.fixture
def owners():
    with Owners() as seats:
        yield seats


@pytest.fixture(params=[Blocking, Awaiting], ids=["blocking", "asyncio"])
def client(request, owners):
    made = request.param(owners)
    yield made
    made.close()


def test_requests_go_to_the_owner(client, owners):
    for n in (1, 0, 1):
        owners[n].own(answers)
        client.call("ping")
        assert client.call("submit", "jobs", "x").id == "2a"
        assert client.call("manage", "pause", "2a") == {}
        assert len(owners[n].took(3)) == 3
        owners[n].leave()


def test_a_request_without_an_owner_waits_for_one(client, owners):
    end = client.begin("manage", "pause", "2a")
    owners[1].own(answers)
    assert end() == {}


@pytest.mark.parametrize("call", [("ping",), ("manage", "stats"), ("submit", "jobs", "x")], ids=str)
def test_what_may_be_done_twice_is_asked_again(client, owners, call):
    owners[0].own(silent)
    end = client.begin(*call)
    first, = owners[0].took()
    owners[0].leave()
    owners[1].own(answers)
    assert not isinstance(end(), zplan.Error)
    assert owners[1].took() == [first]      # the same to the byte


def test_of_anything_else_the_outcome_is_unknown(client, owners):
    owners[0].own(silent)
    end = client.begin("manage", "pause", "2a")
    owners[0].took()
    owners[0].leave()
    error = end()
    assert isinstance(error, zplan.NoAnswer) and "was lost before the answer" in str(error)
    owners[1].own(answers)
    client.call("ping")
    assert len(owners[1].took()) == 1


def test_an_owner_that_is_killed_within_its_answers(owners):
    cut = Cut()
    client = Blocking([cut, owners[1]])
    cut.own(times=40)
    for _ in range(10):         # each is sent four times
        with pytest.raises(zplan.NoAnswer):
            client.call("ping")
    cut.leave()
    owners[1].own(answers)
    client.call("ping")
    client.close()
    cut.close()


def test_nobody_is_there(owners):
    with zplan.Client(endpoints(owners), timeout="1s") as client:
        with pytest.raises(zplan.NoAnswer, match="within 1 s"):
            client.ping()


@pytest.mark.parametrize("shared", [False, True], ids=["a key for each", "one for all"])
def test_keys_of_the_stations(tmp_path, shared):
    own, first, second = (Pair(tmp_path, name) for name in ("own", "first", "second"))
    listed = second.public_file if shared else [first.public_file, second.public_file]
    with LockedStation(lambda request: [reply(request, OK)], second, [own]) as owner:
        with zplan.Client(f"tcp://127.0.0.1:{free_port()},{owner.endpoint}", key=own.secret_file,
                          server_key=listed, timeout=60) as client:
            client.ping()


def test_keys_that_are_too_many(tmp_path):
    own = Pair(tmp_path, "own")
    for address, count in ("tcp://a:1", 2), ("tcp://a:1,tcp://b:1,tcp://c:1", 2):
        with pytest.raises(ValueError, match="server_key: want one, or one for each address"):
            zplan.Client(address, key=own.secret_file, server_key=[own.public_file] * count)


def test_a_subscriber_sees_no_hole():
    with broadcasters() as (one, other):
        one.own()
        publish = f"{one.results},{other.results}"
        with zplan.Client(endpoints([one, other]), publish, timeout=60) as client:
            results = client.results(since=0, epoch="e1")
            seen = []
            thread = threading.Thread(target=lambda: [seen.append(next(results)) for _ in range(5)])
            thread.start()
            one.subscribed()
            other.subscribed()
            one.outcome()
            wait_until(lambda: len(seen) == 1, "it has the first one")
            one.outcome(publish=False)
            one.leave()
            other.own()
            one.publish(1)      # what the dead one had sent comes late
            for _ in range(3):
                other.outcome()
            thread.join(WAIT)
            assert [result.seq for result in seen] == [1, 2, 3, 4, 5]
            results.close()


def test_a_worker_that_fetches_goes_on_with_the_next_station(owners):
    """It takes no job from the first one, whose answer never comes."""
    worker = zplan.PullWorker("jobs", endpoints(owners), name="py", wait=0)
    thread = threading.Thread(target=worker.run)
    owners[0].own(silent)
    thread.start()
    owners[0].took()
    owners[0].leave()
    owners[1].own(lambda request: [reply(request, OK, (JSON, b'{"jobs": []}'))])
    assert b"take" in owners[1].took()[0]
    worker.stop()
    thread.join(WAIT)
    assert not thread.is_alive()


def test_a_worker_tries_the_next_target():
    """Its workers' port; the first one is bound by nobody."""
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.linger, router.rcvtimeo = 0, int(WAIT * 1000)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    worker = zplan.Worker(f"tcp://127.0.0.1:{free_port()},tcp://127.0.0.1:{port}", name="py")
    thread = threading.Thread(target=worker.run)
    thread.start()
    peer, desc, *_ = router.recv_multipart()
    assert desc[1:2] == b"J"
    router.send_multipart([peer, bytes([0, OK, 0])])
    worker.stop()
    thread.join(WAIT)
    assert not thread.is_alive()
    router.close()
    context.term()


@pytest.mark.parametrize("address", [
    "", "tcp://a:1,", "tcp://a:1, tcp://b:1", "nowhere", [], ["tcp://a:1"] * 9])
def test_a_list_that_is_none(address):
    with pytest.raises(ValueError, match="want tcp://HOST:PORT"):
        zplan.Client(address)
