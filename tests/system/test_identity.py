"""libzmq 4.3.4 ends a process in which a peer has taken, as its own identity, the number that the
next peer without one gets. Nobody may learn such a number from the station."""
import base64
import socket

import pytest

from zplantest import CMD, ST, later
from zplanprocs import free_port

GREETING = bytes.fromhex("ff00000000000000017f" "0300") + b"NULL".ljust(20, b"\0") + b"\0" + bytes(31)


@pytest.fixture
def rig(make_rig):
    port = free_port()
    rig = make_rig("--request", f"tcp://127.0.0.1:{port}")
    rig.port = port
    rig.client.close()
    rig.client = rig.keep(type(rig.client)(f"tcp://127.0.0.1:{port}"))
    return rig


def join_as(port, identity):
    """A peer that names itself, over plain TCP: libzmq would not send an identity like this."""
    peer = socket.create_connection(("127.0.0.1", port), 5)
    peer.sendall(GREETING)
    ready = (b"\x05READY" + b"\x0bSocket-Type" + (6).to_bytes(4, "big") + b"DEALER" +
             b"\x08Identity" + len(identity).to_bytes(4, "big") + identity)
    peer.sendall(b"\x04" + bytes([len(ready)]) + ready)
    answer = b""
    while len(answer) < len(GREETING) + 2:      # its own greeting, then READY
        part = peer.recv(4096)
        assert part, "cut before the handshake was over"
        answer += part
    return peer


def caller(client):
    ident = client.added(later())
    value = client.done("message", ident).json["caller"]
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()


def test_no_number_of_a_peer_can_be_told_from_a_plan(rig):
    endpoint = f"tcp://127.0.0.1:{rig.port}"
    known = caller(rig.client)
    assert len(known) == 5 and known[0] == 0
    number = int.from_bytes(known[1:], "big")
    # Whoever comes next, if this was the last that was given away.
    peers = [join_as(rig.port, b"\0" + ((number + i) % (1 << 32)).to_bytes(4, "big"))
             for i in range(1, 20)]
    for _ in range(8):
        rig.keep(type(rig.client)(endpoint)).ping()
    rig.client.ping()
    for peer in peers:
        peer.close()


def test_a_caller_without_an_identity_is_one_for_the_whole_connection(rig):
    endpoint = f"tcp://127.0.0.1:{rig.port}"
    other = rig.keep(type(rig.client)(endpoint))
    assert caller(rig.client) == caller(rig.client) != caller(other) == caller(other)


def test_an_identity_of_ones_own_is_kept(rig):
    named = rig.keep(type(rig.client)(f"tcp://127.0.0.1:{rig.port}", identity=b"boss"))
    assert caller(named) == b"boss"
    reply = named.ask(CMD.PING)
    assert reply.code == ST.OK
