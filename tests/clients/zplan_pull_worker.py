"""Fetch plans of a pull station, and greet whom they name or wait as many seconds as they say
(proto/pull.md, 7.9): zplan_pull_worker.py tcp://127.0.0.1:7920 STATION [NAME]"""
import base64, json, signal, sys, time, zmq

def connect():
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.linger, socket.rcvtimeo = 0, 30000
    socket.connect(sys.argv[1])
    return socket

def ask(word, **fields):
    """The JSON of the answer; None when it is refused, or none comes."""
    global socket
    socket.send_multipart([bytes([2, 0x01, ord("$"), ord("%"), 0]), word, json.dumps(fields).encode()])
    try:
        description, *frames = socket.recv_multipart()
    except zmq.Again:                                           # a late answer must not be taken for the next
        socket.close()
        socket = connect()
        return None
    answer = dict(zip(description[2:], frames))
    if description[1] == 0x01:
        return json.loads(answer[ord("J")])
    print("status %02x" % description[1], answer.get(0x03), flush=True)

def bytes_of(frame):
    return base64.b64decode(frame["b64"]) if isinstance(frame, dict) else frame.encode()

def work(job, me):
    """Do it, with a sign of life in each ping_interval; False: it is to end."""
    description, *frames = map(bytes_of, job["frames"])
    given = dict(zip(description[2:], frames))                  # of each type the last one counts
    command, argument = given[ord("$")], given.get(ord("%"), b"")
    end = time.monotonic() + (int(argument) if command == b"wait" else 0)
    beat = time.monotonic() + job["ping_interval"]
    while time.monotonic() < end:
        time.sleep(max(0, min(end, beat) - time.monotonic()))
        if time.monotonic() >= beat:
            answer = ask(b"alive", **me) or {"ping_interval": 1}        # not heard: again soon
            if "stop" in answer:
                print("stopped:", answer["stop"], flush=True)
                return False
            beat = time.monotonic() + answer["ping_interval"]
    if command not in (b"greet", b"wait"):
        return report(me, state="fail", reason="only greet and wait")
    return report(me, state="success", result="hello " + argument.decode())

def report(me, **outcome):                                      # a reply may be lost: the same again counts once
    return ask(b"report", **me, **outcome) or ask(b"report", **me, **outcome)

signal.signal(signal.SIGTERM, signal.default_int_handler)
socket, name = connect(), {"worker": sys.argv[3]} if len(sys.argv) > 3 else {}
try:
    while True:
        taken = ask(b"take", station=sys.argv[2], wait=20, **name)
        if taken is None:
            time.sleep(1)
            continue
        name = {"worker": taken["worker"]}                      # who has none is given one, and keeps it
        for job in taken["jobs"]:
            print("took", job["plan_id"], flush=True)
            work(job, {"plan": job["plan_id"], "exec_id": job["exec_id"], **name})
except KeyboardInterrupt:
    pass
