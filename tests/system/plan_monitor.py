"""A port of what the web monitor of MicroZero does with the broadcasts of plans."""
import json
from types import SimpleNamespace

from zplantest import FT


class PlanMonitor:
    """The monitor's view of the plans, from the broadcasts it accepts.

    It takes a message apart by the description, deserializes the plan (a field of the wrong type
    throws the message away), and copies seven fields of it onto the plan it knows, except that ADD
    puts in a plan as a whole and REMOVE takes it out.
    """
    ADD, UPDATE, QUEUE, EXEC, RESULT, PAUSE, END, REMOVE = range(1, 9)
    NAMES = ("", "ADD", "UPDATE", "QUEUE", "EXEC", "RESULT", "PAUSE", "END", "REMOVE")
    FIELDS = {"plan_id": int, "request_id": str, "station": str, "station_type": int, "caller": str,
              "description": str, "plan_type": int, "plan_value": int, "plan_repet": int,
              "real_repet": int, "no_skip": bool, "skip_set": int, "skip_num": int,
              "exec_state": int, "plan_state": int, "plan_time": int, "exec_time": int,
              "add_time": int, "command": str}
    COPIED = ("exec_time", "exec_state", "plan_state", "plan_time", "real_repet", "skip_set",
              "skip_num")

    def __init__(self):
        self.plans = {}
        self.items = []         # all that was accepted
        self.rejected = []

    def take(self, parts):
        """One message of the subscription; the item, or None if it was thrown away."""
        item = self.unpack(parts)
        if item is None:
            self.rejected.append(parts)
            return None
        self.items.append(item)
        plan = item.plan
        if item.event == self.ADD:
            self.plans[plan["plan_id"]] = plan
        elif item.event == self.REMOVE:
            self.plans.pop(plan["plan_id"], None)
        elif plan["plan_id"] in self.plans:
            known = self.plans[plan["plan_id"]]
            known.update({field: plan[field] for field in self.COPIED})
        return item

    def unpack(self, parts):
        if len(parts) < 3 or len(parts[1]) < 2 or parts[1][0] + 2 != len(parts):
            return None
        desc = parts[1]
        if len(desc) < len(parts):
            return None         # an index out of range there
        item = SimpleNamespace(title=parts[0].decode(), event=desc[1], subtitle=None, station=None,
                               publisher=None, plan=None, result=None, status=None,
                               buffer=None, values=[], types=desc[2:len(parts)])
        for index in range(2, len(parts)):
            frame, kind = parts[index], desc[index]
            if not frame:
                continue
            if kind == FT.SUBTITLE:
                item.subtitle = frame.decode()
            elif kind == FT.STATION_ID:
                item.station = frame.decode()
            elif kind == FT.REQUESTER:
                item.publisher = frame.decode()
            elif kind == FT.CONTEXT:
                item.plan = self.deserialize(frame)
            elif kind == FT.JSON:
                item.result = frame.decode()
            elif kind == FT.STATUS:
                item.status = frame
            elif kind == FT.BIN:
                item.buffer = frame
            else:
                item.values.append(frame)
        return item if item.plan and 1 <= item.event <= 8 else None

    def deserialize(self, frame):
        plan = json.loads(frame)
        for field, kind in self.FIELDS.items():
            value = plan.setdefault(field, kind())
            if type(value) is not kind and not (kind is str and value is None):
                return None
        return plan

    def names(self, plan_id):
        """The events of one plan, in order."""
        return [self.NAMES[item.event] for item in self.items if item.plan["plan_id"] == plan_id]
