"""zplan-web and a user that asks too often."""
import pytest

from clitest import zplan
from webtest import make_web, needs_web  # noqa: F401 fixture
from zplanprocs import wait_until

pytestmark = needs_web


@pytest.fixture
def paced(rig, make_web, tmp_path):
    """A gateway, and what ann, who has a rate of 1, and bob, who has none, send."""
    users, tokens = tmp_path / "users", {}
    users.mkdir(0o700)
    for name, *rate in (("ann", "--rate", "1"), ("bob",)):
        tokens[name] = zplan("web", "user", name, "--out", str(users), *rate).done().strip()
    web = make_web(rig, "--users", str(users))
    web.tokens = tokens
    return web


def get(web, token):
    return web.get("/v1/session", Authorization=f"Bearer {token}")


def rejected(web, token):
    """The first answer that is not 200."""
    return wait_until(lambda: (answer := get(web, token)).status != 200 and answer, "there is one too many")


def test_the_rate_of_a_token(paced):
    answer = rejected(paced, paced.tokens["ann"])
    assert "rate" in answer.problem(429, "too_many") and answer.headers["Retry-After"] == "1"
    wait_until(lambda: get(paced, paced.tokens["ann"]).status == 200, "a second later it is served")


def test_others_do_not_pay_for_it(paced):
    rejected(paced, paced.tokens["ann"])
    assert {get(paced, paced.tokens["bob"]).status for _ in range(20)} == {200}


def test_sessions_count_as_their_token(paced):
    session = paced.post("/v1/session", {"token": paced.tokens["ann"]}).json["session"]
    rejected(paced, session).problem(429, "too_many")
