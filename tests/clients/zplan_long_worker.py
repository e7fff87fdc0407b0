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

stopped = []        # an exception in the middle of a message would leave it half sent
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
socket = zmq.Context.instance().socket(zmq.DEALER)
socket.linger = 10000
socket.connect(sys.argv[1])
name, join = (ord("%"), sys.argv[2].encode()), [(ord("%"), b"1"), (ord("%"), b"cancel")]
joined, leaving, beat, current = False, False, 0, None      # what `begin` says of a job
while not stopped and (current or not leaving):
    if time.monotonic() >= beat:                            # each second: here, and still at it
        say(ord("P") if joined else ord("J"), name, *[] if joined else join)
        if current:
            say(0x22, mailbox=[current[0]])
        beat = time.monotonic() + 1
    if current and time.monotonic() >= current[2]:
        say(current[3], current[4], (0x08, current[1]), mailbox=[current[0]])
        current = None
        if not leaving:
            say(ord("R"), name)                             # READY for one more job
    rest_s = min(beat, current[2] if current else beat) - time.monotonic()
    if not socket.poll(max(0, rest_s * 1000 + 1)):
        continue
    first, *rest = socket.recv_multipart()
    if rest and first[0] != len(rest):                      # a mailbox, and what is for a job
        if rest[0][1] != 0x2D:
            current = begin(first, *rest)
        elif current and current[:2] == (first, dict(zip(rest[0][2:], rest[1:])).get(0x08, b"")):
            current = (*current[:2], 0, 0x82, (0x03, b"-failed: cancelled"))  # CLOSE_REQUEST: at once
        continue
    print("status %02x" % first[1], *rest, flush=True)        # a status
    if first[1] == 0x04:                                    # BYE: end the job, and leave
        leaving = True
    elif joined != (first[1] == 0x01):                      # OK: joined. NOT_FIND: unknown
        joined, current, beat = not joined, None, 0 if joined else beat
        if joined:
            say(ord("R"), name)
say(ord("L"), name)
