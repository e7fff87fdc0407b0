"""Messages of a target that are of no run of ours: proto 7.2."""
import pytest

from zplanprocs import wait_until
from zplantest import FT, ST, FakeTarget, Packet, at_once


@pytest.mark.parametrize("mailbox", ["frame", "identity"])
@pytest.mark.parametrize("frame", [b"x", b"+someone", b"\0\1\2\3\4"])
def test_a_message_with_a_foreign_envelope_is_dropped(make_rig, mailbox, frame):
    rig = make_rig(start=False)
    odd = rig.keep(FakeTarget(rig.ipc("o")))
    rig.station.args += ["--station", f"odd=api@{odd.endpoint},mailbox={mailbox}"]
    rig.start()
    ident = rig.client.added(at_once(), station="odd")
    parts = odd.socket.recv_multipart()
    run = Packet(parts, before=1 if mailbox == "identity" else 2)
    odd.socket.send_multipart([parts[0], frame, bytes([0, ST.OK, 0])])
    odd.socket.send_multipart([parts[0], frame, bytes([1, ST.OK, FT.GLOBAL_ID, 0]), run.get(FT.GLOBAL_ID)])
    wait_until(lambda: rig.client.done("stats").json["counters"]["foreign_answers"] == 2, "counted")
    assert rig.message(ident, "odd")["real_repet"] == 0 and rig.left(ident, "odd")
    odd.socket.send_multipart([parts[0], *parts[1:len(run.before)], bytes([0, ST.RUNING, 0])])
    rig.state(ident, ST.RUNING, "odd")
