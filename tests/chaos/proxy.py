"""A TCP proxy between a station and Redis that can delay, swallow and cut: proxy.py PORT TO_PORT.

Commands, a line each on standard input: `delay SECONDS`; `blackhole`; `cut`; `hold SECONDS`: what goes to Redis is
that late; `orphan`: the station's ends are closed, and Redis gets what is held when its time has come; `ok`.
"""
import collections
import os
import selectors
import socket
import sys
import time

CHUNK = 1 << 16


class Proxy:
    def __init__(self, port, to_port):
        self.to_port = to_port
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", port), reuse_port=False)
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.selector.register(sys.stdin.fileno(), selectors.EVENT_READ, self.command)
        self.peer = {}                          # socket -> the socket that its bytes go to
        self.waiting = {}                       # socket -> (when, bytes) to be sent to it
        self.delay, self.held, self.hole = 0.0, 0.0, False
        self.near = set()                       # the sockets of the station

    def accept(self, _):
        near, _ = self.listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self.to_port), 1)
        except OSError:
            near.close()
            return
        for one, other in ((near, far), (far, near)):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.peer[one], self.waiting[one] = other, collections.deque()
            self.selector.register(one, selectors.EVENT_READ, self.readable)
        self.near.add(near)

    def drop(self, one):
        """Both ends, and what was under way."""
        for end in (one, self.peer.get(one)):
            if end in self.peer:
                self.selector.unregister(end)
                del self.peer[end], self.waiting[end]
                self.near.discard(end)
                end.close()

    def orphan(self, near):
        """The end of the station alone; the other one is closed when all has arrived."""
        far = self.peer[near]
        if not self.waiting[far]:
            self.drop(near)
            return
        self.selector.unregister(near)
        del self.peer[near], self.waiting[near]
        self.near.discard(near)
        near.close()
        self.peer[far] = None

    def readable(self, one):
        if one not in self.peer:
            return
        try:
            data = one.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop(one)
        elif not self.hole and self.peer[one]:
            late = self.delay + (self.held if one in self.near else 0)
            self.waiting[self.peer[one]].append((time.monotonic() + late, data))

    def send_due(self):
        """What is due goes out; return the seconds until the next is, or None."""
        now, first = time.monotonic(), None
        for one in list(self.peer):
            queue = self.waiting.get(one)
            while queue and queue[0][0] <= now:
                when, data = queue.popleft()
                try:
                    sent = one.send(data)
                except BlockingIOError:
                    sent = 0
                except OSError:
                    self.drop(one)
                    break
                if sent < len(data):
                    queue.appendleft((now + 0.005, data[sent:]))
                    break
            if queue:
                first = min(first or queue[0][0], queue[0][0])
            elif one in self.peer and self.peer[one] is None:
                self.drop(one)
        return None if first is None else max(0, first - now)

    def command(self, fd):
        data = os.read(fd, 4096)
        if not data:
            sys.exit(0)
        for line in data.decode().splitlines():
            word, *args = line.split()
            if word == "delay":
                self.delay = float(args[0])
            elif word == "hold":
                self.held = float(args[0])
            elif word == "orphan":
                for one in list(self.near):
                    self.orphan(one)
                self.held = 0.0
            elif word == "blackhole":
                self.hole = True
            elif word == "cut":
                for one in list(self.peer):
                    self.drop(one)
            elif word == "ok":
                # Bytes were discarded in the hole, so the connections must be closed.
                if self.hole:
                    for one in list(self.peer):
                        self.drop(one)
                self.delay, self.held, self.hole = 0.0, 0.0, False

    def run(self):
        print("ready", flush=True)
        while True:
            for key, _ in self.selector.select(self.send_due()):
                key.data(key.fileobj)


if __name__ == "__main__":
    Proxy(int(sys.argv[1]), int(sys.argv[2])).run()
