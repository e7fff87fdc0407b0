"""ZMTP 3 by hand, without its library: for peers that do what no library does."""
import socket
import time

GREETING = b"\xff\0\0\0\0\0\0\0\1\x7f\3\0" + b"NULL".ljust(20, b"\0") + b"\0" * 32


def frame(body, more=False, command=False, size=None):
    """A frame; `size` is what its head says, if that is to be something else."""
    size = len(body) if size is None else size
    flags = (1 if more else 0) | (4 if command else 0)
    if size > 255:
        return bytes([flags | 2]) + size.to_bytes(8, "big") + body
    return bytes([flags, size]) + body


def message(*parts):
    return b"".join(frame(part, more=n + 1 < len(parts)) for n, part in enumerate(parts))


def properties(pairs):
    return b"".join(bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value
                    for name, value in pairs)


def ready(kind=b"DEALER", identity=b""):
    return frame(b"\5READY" + properties([(b"Socket-Type", kind), (b"Identity", identity)]),
                 command=True)


class RawPeer:
    """A stream to an endpoint of the station, ipc or tcp."""

    def __init__(self, endpoint, timeout=20):
        kind, _, address = endpoint.partition("://")
        if kind == "ipc":
            self.stream = socket.socket(socket.AF_UNIX)
        else:
            self.stream = socket.socket(socket.AF_INET)
            host, _, port = address.rpartition(":")
            address = (host, int(port))
        self.stream.settimeout(timeout)
        end = time.monotonic() + timeout
        while True:
            try:
                self.stream.connect(address)
                return
            except BlockingIOError:         # of an ipc path: too many at once
                assert time.monotonic() < end, "no connection is taken"
                time.sleep(0.01)

    def send(self, *data):
        self.stream.sendall(b"".join(data))

    def joined(self, kind=b"DEALER", identity=b""):
        """The handshake, done; also the station's."""
        self.send(GREETING, ready(kind, identity))
        self.take(64)
        self.take_frame()
        return self

    def take(self, size):
        data = b""
        while len(data) < size:
            more = self.stream.recv(size - len(data))
            assert more, "the station has closed the connection"
            data += more
        return data

    def take_frame(self):
        """(flags, body)"""
        flags = self.take(1)[0]
        size = int.from_bytes(self.take(8 if flags & 2 else 1), "big")
        return flags, self.take(size)

    def closed(self):
        """Whether the station closes it, whatever comes before."""
        try:
            while self.stream.recv(65536):
                pass
        except TimeoutError:
            return False
        except OSError:
            pass
        return True

    def close(self):
        self.stream.close()
