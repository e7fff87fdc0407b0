#!/usr/bin/python3
"""How many callbacks are delivered a second: tests/bench/callbacks.py [--callbacks N] [--hosts N] [--targets N]

Starts a Redis (everysec), a zpland, targets that end each run well, and receivers on loopback in a process of their
own. The sender has a quarter of its 256 places for the callbacks of one target. The outcomes come first and make the callbacks; then the sender starts, and each callback that arrives is counted.
Then one callback at a time: from the result of its run to its arrival. ZPLAN_BIN_DIR says where the programs are.
"""
import argparse
import multiprocessing
import pathlib
import selectors
import socket
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from callbacktest import Sender                                     # noqa: E402
from zplantest import FT, ST, FakeTarget, Rig, at_once, wait_until              # noqa: E402

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
END = b'"result":"good"}'       # of each body


def receive(listeners, count, first, last):
    """Answer each request, count them, and note when the first and the last one came."""
    selector = selectors.DefaultSelector()
    for listener in listeners:
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj in listeners:
                peer, _ = key.fileobj.accept()
                selector.register(peer, selectors.EVENT_READ)
                continue
            try:
                data = key.fileobj.recv(65536)
            except ConnectionResetError:
                data = b""
            done = data.count(END)
            if not data:
                selector.unregister(key.fileobj)
                key.fileobj.close()
            elif done:
                last.value = time.monotonic()
                first.value = first.value or last.value
                key.fileobj.sendall(OK * done)
                count.value += done


class Place:
    """What Sender wants to know of a receiver."""

    def __init__(self, listener):
        self.port = listener.getsockname()[1]


def made_so_far(rig):
    return sum(int(rig.db.hget("plan:callbacks", name) or 0) for name in rig.ends)


def measure(rig, options, places, count, first, last):
    for number in range(options.callbacks):
        url = f"http://127.0.0.1:{places[number % len(places)].port}/done"
        name = f"of{number % options.targets}"
        rig.client.added(at_once(callback={"success": {"url": url}}), station=name)
        rig.ends[name].finish(rig.ends[name].recv(), ST.OK, [(FT.CONTENT, b"good")])
    wait_until(lambda: made_so_far(rig) == options.callbacks, "they are made", 60)
    sender = Sender(rig.folder, rig.ipc("q"), *places, options=("--log-level", "warn"))
    try:
        wait_until(lambda: count.value >= options.callbacks, "they are delivered", 600)
        print(f"{options.callbacks} callbacks of {options.targets} targets to {len(places)} hosts: {options.callbacks / (last.value - first.value):.0f} a second")
        times = []
        for number in range(options.single):
            url = f"http://127.0.0.1:{places[number % len(places)].port}/done"
            rig.client.added(at_once(callback={"success": {"url": url}}))
            run, before = rig.jobs.recv(), count.value
            start = time.monotonic()
            rig.jobs.finish(run, ST.OK, [(FT.CONTENT, b"good")])
            while count.value == before:
                time.sleep(0.0002)
            times.append(last.value - start)
        if times: print(f"one at a time, from its result to its arrival: median {statistics.median(times) * 1000:.1f} ms, "
              f"p99 {sorted(times)[int(len(times) * 0.99)] * 1000:.1f} ms")
    finally:
        sender.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--callbacks", type=int, default=10000)
    parser.add_argument("--single", type=int, default=200)
    parser.add_argument("--targets", type=int, default=4)
    parser.add_argument("--hosts", type=int, default=8, help="ports of 127.0.0.1; 8 callbacks at a time each")
    options = parser.parse_args()
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=512) for _ in range(options.hosts)]
    count, first, last = multiprocessing.Value("q"), multiprocessing.Value("d"), multiprocessing.Value("d")
    sink = multiprocessing.Process(target=receive, args=(listeners, count, first, last), daemon=True)
    sink.start()
    rig = Rig()
    rig.ends = {f"of{number}": rig.keep(FakeTarget(rig.ipc(f"of{number}"))) for number in range(options.targets)}
    rig.station.args += [word for name, end in rig.ends.items() for word in ("--station", f"{name}=api@{end.endpoint}")]
    try:
        rig.start()
        measure(rig, options, [Place(listener) for listener in listeners], count, first, last)
    finally:
        rig.close()
        sink.kill()


if __name__ == "__main__":
    main()
