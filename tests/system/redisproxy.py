"""A TCP proxy between the station and Redis that does what networks do: it delays, loses, cuts."""
import collections
import selectors
import socket
import threading
import time


class Pipe:
    """One connection of the station, and its own to Redis."""

    def __init__(self, station, redis):
        self.station, self.redis = station, redis
        self.late = collections.deque()     # (when, reply) that are held back
        self.requests = collections.deque()     # the same of requests

    def close(self):
        self.station.close()
        self.redis.close()


class RedisProxy:
    """Change its attributes at any time; they hold for what comes from then on."""

    def __init__(self, redis_socket):
        self.redis_socket = redis_socket
        self.delay = 0.0            # seconds that each reply is late
        self.request_delay = 0.0    # and each request
        self.blackhole = False      # nothing passes, and nobody is told
        self.swallow = False        # requests pass, replies are lost
        self.cut_after = None       # bytes of replies that still pass; then the connection is cut
        self.swallowed = 0          # bytes
        self.hold_from = None       # what a request says (bytes) from which on replies are held back
        self.swallow_from = None    # the same: from which on replies are lost
        self.drop_from = None       # the same: that request is lost, and all that follows
        self.cuts = 0
        self.pipes = []
        self.lock = threading.RLock()
        self.stopped = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def close(self):
        self.stopped = True
        self.thread.join()
        self.cut_all()
        self.listener.close()
        self.selector.close()

    def cut_all(self):
        """Cut every connection, as a router that forgot them does."""
        with self.lock:
            for pipe in list(self.pipes):
                self.cut(pipe)

    def release(self):
        """What is held back passes, all of it at once; what comes from now on is not held back."""
        with self.lock:
            self.delay, self.hold_from = 0.0, None
            for pipe in self.pipes:
                pipe.late = collections.deque((0, reply) for _, reply in pipe.late)

    def held_back(self):
        with self.lock:
            return b"".join(reply for pipe in self.pipes for _, reply in pipe.late)

    def heal(self):
        self.delay, self.cut_after = 0.0, None
        self.blackhole = self.swallow = False
        self.swallow_from = self.drop_from = None
        self.swallowed = 0
        self.cut_all()

    def late_requests(self):
        with self.lock:
            return sum(len(pipe.requests) for pipe in self.pipes)

    def run(self):
        while not self.stopped:
            for key, _ in self.selector.select(0.01):
                with self.lock:
                    if key.fileobj is self.listener:
                        self.accept()
                    elif key.data in self.pipes:
                        self.pass_on(key.data, key.fileobj)
            with self.lock:
                for pipe in list(self.pipes):
                    self.send_late(pipe)

    def accept(self):
        station, _ = self.listener.accept()
        redis = socket.socket(socket.AF_UNIX)
        try:
            redis.connect(self.redis_socket)
        except OSError:
            redis.close()
            station.close()
            return
        pipe = Pipe(station, redis)
        self.pipes.append(pipe)
        for end in (station, redis):
            self.selector.register(end, selectors.EVENT_READ, pipe)

    def cut(self, pipe):
        if pipe in self.pipes:
            self.pipes.remove(pipe)
            for end in (pipe.station, pipe.redis):
                self.selector.unregister(end)
            pipe.close()
            self.cuts += 1

    def pass_on(self, pipe, end):
        try:
            data = end.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.cut(pipe)
        elif self.blackhole:
            pass
        elif end is pipe.station:
            if self.hold_from and self.hold_from in data:
                self.delay = float("inf")       # until release ()
            self.swallow = self.swallow or bool(self.swallow_from and self.swallow_from in data)
            self.blackhole = bool(self.drop_from and self.drop_from in data)
            if self.blackhole:
                return
            if self.request_delay or pipe.requests:     # never before one that is late
                pipe.requests.append((time.monotonic() + self.request_delay, data))
            else:
                self.send(pipe, pipe.redis, data)
        elif self.swallow:
            self.swallowed += len(data)
        elif self.delay or pipe.late:
            pipe.late.append((time.monotonic() + self.delay, data))
        else:
            self.reply(pipe, data)

    def send_late(self, pipe):
        while pipe in self.pipes and pipe.requests and pipe.requests[0][0] <= time.monotonic():
            self.send(pipe, pipe.redis, pipe.requests.popleft()[1])
        while pipe in self.pipes and pipe.late and pipe.late[0][0] <= time.monotonic():
            self.reply(pipe, pipe.late.popleft()[1])

    def reply(self, pipe, data):
        if self.cut_after is None:
            self.send(pipe, pipe.station, data)
            return
        self.send(pipe, pipe.station, data[:self.cut_after])
        self.cut_after -= min(self.cut_after, len(data))
        if not self.cut_after:
            self.cut(pipe)

    def send(self, pipe, end, data):
        try:
            end.sendall(data)
        except OSError:
            self.cut(pipe)
