"""Greet whom the jobs name, or wait as many seconds as they say, one job at a time; obey who cancels
a job or drains the worker (proto/targets.md, 7.7 and 7.8): zplan_long_worker.py tcp://127.0.0.1:7931 NAME"""
import signal, sys, time, zmq

def say(code, *frames, mailbox=()):
    types = [kind for kind, _ in frames]
    socket.send_multipart([*mailbox, bytes([len(types), code, *types, 0]), *(f for _, f in frames)])

def begin(mailbox, description, *frames):
    job = dict(zip(description[2:], frames))                    # of each type the last one counts
    command, argument = job.get(ord("$")), job.get(ord("%"), b"")
    seconds = int(argument) if command == b"wait" and argument.isdigit() else 0
    text = {b"greet": b"hello " + argument, b"wait": b"waited"}.get(command)
    answer = (0x01, (ord("T"), text)) if text else (0x82, (0x03, b"-failed: only greet"))
    return mailbox, job.get(0x08, b""), time.monotonic() + seconds, *answer

signal.signal(signal.SIGTERM, signal.default_int_handler)
socket = zmq.Context.instance().socket(zmq.DEALER)
socket.linger = 10000
socket.connect(sys.argv[1])
name, join = (ord("%"), sys.argv[2].encode()), [(ord("%"), b"1"), (ord("%"), b"cancel")]
joined, leaving, beat, hand = False, False, 0, None             # hand: what `begin` says of a job
try:
    while hand or not leaving:
        if time.monotonic() >= beat:                            # each second: here, and still at it
            say(ord("P") if joined else ord("J"), name, *[] if joined else join)
            if hand:
                say(0x22, mailbox=[hand[0]])
            beat = time.monotonic() + 1
        if hand and time.monotonic() >= hand[2]:
            say(hand[3], hand[4], (0x08, hand[1]), mailbox=[hand[0]])
            hand = None
            if not leaving:
                say(ord("R"), name)                             # READY for one more job
        rest_s = min(beat, hand[2] if hand else beat) - time.monotonic()
        if not socket.poll(max(0, rest_s * 1000 + 1)):
            continue
        first, *rest = socket.recv_multipart()
        if rest and first[0] != len(rest):                      # a mailbox, and what is for a job
            if rest[0][1] != 0x2D:
                hand = begin(first, *rest)
            elif hand and hand[:2] == (first, dict(zip(rest[0][2:], rest[1:])).get(0x08, b"")):
                hand = (*hand[:2], 0, 0x82, (0x03, b"-failed: cancelled"))  # CLOSE_REQUEST: at once
            continue
        print("told %02x" % first[1], *rest, flush=True)        # a status
        if first[1] == 0x04:                                    # BYE: end what is in hand, and leave
            leaving = True
        elif joined != (first[1] == 0x01):                      # OK: joined. NOT_FIND: unknown
            joined, hand, beat = not joined, None, 0 if joined else beat
            if joined:
                say(ord("R"), name)
except KeyboardInterrupt:
    pass
say(ord("L"), name)
