"""zplan-web: what a browser may keep of the pages."""
import os
import re

from webtest import make_web, needs_web, web  # noqa: F401 fixtures

pytestmark = needs_web
KEPT = "public, max-age=31536000, immutable"
ASSETS = os.path.join(os.path.dirname(__file__), "..", "..", "src", "web", "assets")


def test_what_the_page_refers_to_is_kept_for_good(web):
    page = web.get("/")
    assert page.headers["Cache-Control"] == "no-cache" and page.headers["ETag"]
    paths = re.findall(r'(?:href|src)="(assets/[^"]+)"', page.body.decode())
    assert len(paths) == 3 and {path.count("/") for path in paths} == {2}
    for path in paths:
        answer = web.get(f"/{path}")
        assert answer.status == 200 and answer.headers["Cache-Control"] == KEPT
        same = web.get(f"/{path}", If_None_Match=answer.headers["ETag"])
        assert same.status == 304 and same.headers["Cache-Control"] == KEPT


def test_the_scripts_are_one_request(web):
    page = web.get("/").body.decode()
    assert len(re.findall("<script|modulepreload", page)) == 1
    script = web.get("/" + re.search(r'src="(assets/[^"]+/app\.js)"', page)[1]).body.decode()
    made = re.findall(r"(?m)^modules\['([\w-]+\.js)'\] = ", script)
    assert set(made) == {name for name in os.listdir(ASSETS) if name.endswith(".js")} and made[-1] == "app.js"
    assert not re.search(r"(?m)^import\b|\bimport\(", script)      # nothing that is asked for later, of another version


def test_names_without_a_version_are_asked_for_each_time(web):
    answer = web.get("/assets/app.js")
    assert answer.status == 200 and answer.headers["Cache-Control"] == "no-cache"
    assert web.get("/assets/app.js", If_None_Match=answer.headers["ETag"]).status == 304


def test_another_version_is_not_found(web):
    web.get("/assets/0123456789abcdef/app.js").problem(404, "not_found")
    path = re.search(r'src="(assets/[^"]+/)app\.js"', web.get("/").body.decode())[1]
    web.get(f"/{path}no.js").problem(404, "not_found")
    web.get(f"/{path}x/app.js").problem(404, "not_found")
