"""Who owned the plans, and which batches were applied, as the append-only files of Redis have them:
witness.py FOLDER RECORDS

It reads behind Redis, in the order in which the writes were applied, until it gets SIGTERM. A rewrite begins another
file.
"""
import os
import re
import signal
import sys
import time

from records import Log

WRITE = re.compile(rb"\*\d+\r\n\$4\r\nHSET\r\n\$10\r\nplan:owner\r\n((?:\$\d+\r\n[^\r\n]*\r\n)+)")
LONGEST = 8192      # bytes: more than a write of plan:owner has


class Witness:
    def __init__(self, folder, log):
        self.folder, self.log = os.path.join(folder, "appendonlydir"), log
        self.number, self.file, self.rest = 0, None, b""
        self.token, self.first, self.last = None, 0, 0
        self.stopping = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.stopping = True

    def next_file(self):
        """The next one, when there is one."""
        try:
            file = open(os.path.join(self.folder, f"appendonly.aof.{self.number + 1}.incr.aof"), "rb")
        except FileNotFoundError:
            return None
        self.number += 1
        return file

    def read(self):
        """What was appended; empty when nothing was."""
        self.file = self.file or self.next_file()
        if not self.file:
            return b""
        if os.fstat(self.file.fileno()).st_size < self.file.tell():     # Redis has cut off what was written in part
            self.file.seek(0, os.SEEK_END)
            self.rest = b""
        data = self.file.read(1 << 20)
        if data:
            return data
        follower = self.next_file()
        if follower:
            data = self.file.read()     # until the other one was made
            self.file.close()
            self.file = follower
        return data

    def end_span(self):
        if self.token:
            self.log.write("batches", token=self.token, first=self.first, last=self.last, at=time.time())

    def wrote(self, values):
        token = values.get("token", self.token) or ""
        if token.endswith(".free"):
            self.end_span()
            self.token, self.first = None, 0
            self.log.write("free", token=token, at=time.time())
        elif "token" in values:
            self.end_span()
            self.token, self.first, self.last = token, int(values["batch"]), int(values["batch"])
            self.log.write("owner", token=token, name=values.get("name"), request=values["endpoints"].split()[0],
                           at=time.time())
        elif int(values["batch"]) == self.last + 1 and self.token:
            self.last += 1
        else:
            self.end_span()
            self.token, self.first, self.last = token or "free", int(values["batch"]), int(values["batch"])

    def take(self, data):
        data = self.rest + data
        end = 0
        for found in WRITE.finditer(data):
            # Its last value may be there in part.
            words = found.group(1).split(b"\r\n")[1::2]
            count = int(found.group(0)[1:found.group(0).index(b"\r")]) - 2
            if len(words) < count:
                break
            words = [word.decode() for word in words[:count]]
            self.wrote(dict(zip(words[::2], words[1::2])))
            end = found.end()
        self.rest = data[max(end, len(data) - LONGEST):]

    def run(self):
        quiet = 0
        while not self.stopping or quiet < 3:
            data = self.read()
            quiet = 0 if data else quiet + 1
            if data:
                self.take(data)
            else:
                time.sleep(0.05)
        self.end_span()


if __name__ == "__main__":
    witness = Witness(sys.argv[1], Log(sys.argv[2]))
    print("ready", flush=True)
    witness.run()
