"""When a plan runs first: the preview, the reply to its submission, and what show and next say of it
afterwards are the same, whatever its zone and that of the station."""
import datetime
import json
import zoneinfo

import pytest

from clitest import zplan
from test_faults_clock import redis_clock
from zplantest import FT, ST, later

ZONES = ["Europe/Berlin", "America/Los_Angeles", "Pacific/Kiritimati"]
KINDS = [
    ("--weekly", "mon@00:30"),
    ("--weekly", "sun@23:30:15"),
    ("--monthly", "1@00:30"),
    ("--monthly", "0@23:30"),
    ("--cron", "30 0 * * MON"),
    ("--cron", "30 23 L * ?"),
    ("--every", "1d", "--start", "2026-03-01T00:30"),
    ("--every", "1d", "--start", "2026-03-01T23:30", "--cycle", "1,2"),
    ("--every", "6h", "--start", "2026-03-01T00:30"),
    ("--type", "week", "--value", "1", "--time", "2026-01-01T00:30"),
    ("--at", "2028-01-01T00:30"),
]
# Shortly before and after midnight in Berlin and in UTC: at the ends of weeks, of a month and of a
# year, and on the days on which Berlin sets its clocks. No kind has a time in the next 20 minutes.
MOMENTS = [("2027-03-27T22:50:00+00:00", "UTC"), ("2027-03-28T22:05:00+00:00", "Europe/Berlin"),
           ("2027-10-30T22:05:00+00:00", "Asia/Tokyo"), ("2027-10-31T23:50:00+00:00", "UTC"),
           ("2026-12-31T23:50:00+00:00", "Europe/Berlin"), ("2027-06-20T22:05:00+00:00", "UTC")]


def seconds(text):
    return int(datetime.datetime.fromisoformat(text).timestamp())


class Asked:
    """A station at a moment of its own; its Redis says when that is."""

    def __init__(self, make_rig, moment, own):
        self.rig, _ = redis_clock(make_rig, "--timezone", own, at=seconds(moment))
        self.moment = moment

    def says(self, *words):
        return json.loads(zplan("--connect", self.rig.ipc("q"), *words, "--json=wire").done())

    def is_the_same(self, *kind):
        """Preview, reply, show and next. The plan's first time."""
        preview = self.says("next", *kind, "--now", self.moment, "-n", "3")
        added = self.says("add", "--station", "jobs", "--command", "x", *kind)
        assert added["first"] == preview[0], kind
        assert self.says("show", added["id"])["plan_time"] == seconds(added["first"]), kind
        assert self.says("next", added["id"], "-n", "3") == preview, kind
        return seconds(added["first"])


@pytest.mark.parametrize("moment, own", MOMENTS)
def test_preview_reply_show_and_next_say_the_same(make_rig, moment, own):
    """B056: a time of day is that of the clock in its zone, of a `plan_time` and of cron."""
    asked = Asked(make_rig, moment, own)
    for kind in KINDS:
        for zone in ZONES:
            first = asked.is_the_same(*kind, "--timezone", zone)
            if "mon@00:30" in kind or "30 0 * * MON" in kind:
                local = datetime.datetime.fromtimestamp(first, zoneinfo.ZoneInfo(zone))
                assert (local.weekday(), local.hour, local.minute) == (0, 0, 30), (kind, zone)
        if own == "UTC" or "--type" not in kind:    # without a zone hours are those of UTC; the wire's words leave it out
            asked.is_the_same(*kind)


def test_the_first_time_that_is_told_is_the_station_s(make_rig):
    """The clock of the client may be wrong by months."""
    rig = Asked(make_rig, "2027-06-20T12:00:00+00:00", "UTC").rig
    words = zplan("--connect", rig.ipc("q"), "add", "--station", "jobs", "--command", "x",
                  "--weekly", "mon@00:30", "--timezone", "Europe/Berlin").done()
    assert " accepted, first run at 2027-06-20T22:30:00Z\n" in words


# The wire.

def of_reply(reply):
    return reply.types, reply.get(FT.PLAN_TIME)


def test_the_reply_carries_the_first_time(shared):
    plan = later()
    reply = shared.client.submit(plan, gid="f1", more=[(FT.REQUESTER, b"me"), (FT.REQUEST_ID, b"7")])
    assert of_reply(reply) == (bytes([FT.REQUESTER, FT.REQUEST_ID, FT.GLOBAL_ID, FT.PLAN_TIME]),
                               b"%d" % plan["plan_time"])
    # What is there already says when it runs next.
    shared.client.done("skip", shared.client.added(
        {"plan_type": 8, "cron": "0 0 1 1 *", "key": "yearly"}), 1)
    reply = shared.client.submit({"plan_type": 8, "cron": "0 0 1 1 *", "key": "yearly"})
    ident = reply.get(FT.GLOBAL_ID).decode()
    assert reply.text == "+plan: already exists"
    assert reply.get(FT.PLAN_TIME) == b"%d" % shared.message(ident)["plan_time"]
    reply = shared.client.submit({"plan_type": 8, "cron": "0 0 2 1 *", "key": "yearly",
                                  "if_exists": "replace"})
    assert reply.get(FT.PLAN_TIME) == b"%d" % shared.message(ident)["plan_time"]
    shared.client.done("close", ident)
    reply = shared.client.submit({"plan_type": 8, "cron": "0 0 1 1 *", "key": "yearly"})
    assert reply.code == ST.PLAN and reply.get(FT.PLAN_TIME) is None
    assert shared.client.submit({"plan_type": 99}).get(FT.PLAN_TIME) is None


def test_an_interval_s_first_time_is_counted_from_the_receipt(shared):
    reply = shared.client.submit({"plan_type": "hour", "plan_value": 5, "plan_repet": -1})
    message = shared.message(reply.get(FT.GLOBAL_ID).decode())
    assert int(reply.get(FT.PLAN_TIME)) == message["plan_time"] == message["add_time"] + 5 * 3600


@pytest.mark.parametrize("args, words", [(["--weekly", "mon@8:30"], "Mon 08:30"), (["--monthly", "31@10:00"], "day 31 at 10:00")])
def test_list_says_the_hours_of_a_plan_without_a_zone(rig, args, words):
    """They are those of UTC, as the options mean them."""
    zplan("--connect", rig.ipc("q"), "add", "--target", "jobs", "--command", "x", *args).done()
    assert words in zplan("--connect", rig.ipc("q"), "list").done()
