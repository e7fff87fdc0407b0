"""Records of a chaos run: one JSON object per line, in append-only files, one for each life of a process.

A record is in the file before what it tells of has an effect outside: kill -9 loses none of those. The
last line of a process that was killed may be torn; it had no effect then.

  submit    id at spec          a submission is about to be sent; spec: station and the fields of the PLAN frame
  ack       id at               it was answered PLAN
  refuse    id at code why      it was refused for good
  not-done  id at why           a submission was not done: Redis away or full
  unsure    id at why           nobody knows whether it was done
  manage    id at word          a management word is about to be sent
  managed   id at word code     its answer
  carry     id spec             taken over from the life before: not answered yet; spec null: to be reset
  carried                       all has been taken over
  exec      id at exec nominal target extra answer    a run has reached a target, which will answer `answer`
  decline   id at exec nominal target                 the same, and the target says NOT_WORKER
  broken    id at why           what a target or a subscriber received contradicts itself
  heard     id at seq epoch station code exec done    a broadcast; done: real_repet in it
  up, down  at station          the subscriber's connection to that station
  fault     at end kind who     what was done to whom (faults.py)
  handover  at code             the answer of a station that was asked for one
  owner     at token name request   a station took over; `at` is when it was seen; request ends with its number
  free      at token            the owner gave the plans up
  batches   at token first last these were applied one after the other; token `free`: nobody owned the plans
  crash     at who code         a process ended that nobody had killed
  drained   at seconds limit what     how long a queue took to empty after all was healed; seconds null: it did not
  history, left, meta           what is in Redis at the end (dump.py); holes: [from, to] of the seqs in no entry

Times are Unix seconds of the one clock of this machine; ids are hex.
"""
import glob
import json
import os


class Log:
    """The records of one life of a process."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lines = []

    def add(self, kind, /, **fields):
        """Written with the next flush."""
        self.lines.append(json.dumps({"k": kind, **fields}, separators=(",", ":")))

    def flush(self):
        if not self.lines:
            return
        data = ("\n".join(self.lines) + "\n").encode()
        self.lines.clear()
        while data:
            data = data[os.write(self.fd, data):]

    def write(self, kind, /, **fields):
        self.add(kind, **fields)
        self.flush()


def read_file(path):
    """The records of one file, without a torn last line."""
    with open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)


def read(folder):
    """All records of a run, file by file."""
    for path in sorted(glob.glob(os.path.join(folder, "*.log"))):
        yield from read_file(path)
