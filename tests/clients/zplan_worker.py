"""Greet whom the jobs name (proto/targets.md, 7.7): zplan_worker.py tcp://127.0.0.1:7931 NAME"""
import signal, sys, zmq

def say(code, *frames, mailbox=()):
    types = [kind for kind, _ in frames]
    socket.send_multipart([*mailbox, bytes([len(types), code, *types, 0]), *(f for _, f in frames)])

stopped = []        # an exception in the middle of a message would leave it half sent
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
socket = zmq.Context.instance().socket(zmq.DEALER)
socket.linger = 1000
socket.connect(sys.argv[1])
name, joined = (ord("%"), sys.argv[2].encode()), False
while not stopped:
    say(ord("P") if joined else ord("J"), name)             # after a second without a message
    while not stopped and socket.poll(1000):
        first, *rest = socket.recv_multipart()
        if not rest or first[0] == len(rest):               # a status; else a mailbox and a job
            print("status %02x" % first[1], *rest, flush=True)
            if first[1] == 0x04:                            # BYE: it is to leave
                stopped.append(True)
            elif joined != (first[1] == 0x01):              # OK: joined. NOT_FIND: unknown
                joined = not joined
                say(ord("R") if joined else ord("J"), name)
            continue
        job = dict(zip(rest[0][2:], rest[1:]))
        done = job[ord("$")] == b"greet"
        text = (ord("T"), b"hello " + job[ord("%")]) if done else (0x03, b"-failed: only greet")
        say(0x01 if done else 0x82, text, (0x08, job[0x08]), mailbox=[first])
        say(ord("R"), name)                                 # READY for one more job
say(ord("L"), name)
