"""Submit a plan and print its results until it has ended (proto/, chapters 3, 5 and 8.1):

    zplan_client.py tcp://127.0.0.1:7920 tcp://127.0.0.1:7921 jobs greet world \
        '{"plan_type": "second", "plan_value": 2, "plan_repet": 3}'
"""
import json, sys, zmq

request, publish, target, command, argument, plan = sys.argv[1:]
results = zmq.Context.instance().socket(zmq.SUB)
results.subscribe(b"")
results.connect(publish)
station = zmq.Context.instance().socket(zmq.DEALER)
station.connect(request)
# PLAN, STATION_ID, COMMAND, ARG; in front the count, the code PLAN, a type per frame and END.
frames = {0x05: plan, 0x02: target, ord("$"): command, ord("%"): argument}
station.send_multipart([bytes([len(frames), 0x02, *frames, 0]), *map(str.encode, frames.values())])
description, *frames = station.recv_multipart()
reply = dict(zip(description[2:], frames))
if description[1] != 0x02:
    sys.exit("rejected: " + reply[0x03].decode())
print(f"accepted as {reply[0x01].decode()}, first run at {reply[0x06].decode()}", flush=True)
ended = False
while not ended:
    title, description, ident, stored, *frames = results.recv_multipart()
    if ident == reply[0x01]:
        answer = dict(zip(description[4:], frames))   # after SUBTITLE and CONTENT: the target's frames
        print("ok:" if description[1] < 0x80 else "failed:",
              (answer.get(ord("T")) or answer.get(0x03, b"")).decode(), flush=True)
        ended = json.loads(stored)["plan_state"] == 7
