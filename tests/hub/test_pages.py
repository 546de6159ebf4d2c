"""The team's pages on the hub, in a real browser and by hand."""

import http.client
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect
from starlette.testclient import TestClient

from hivemind.hub.http import create_application
from hivemind.model.team import Role
from hivemind.viewer.page_guard import POLICY
from tests.browser import audit_page, open_page
from tests.hub.serving import SECONDS, Served

pytestmark = pytest.mark.xdist_group("viewer")

COOKIE = "hivemind_hub"
Visiting = Callable[..., Page]


@pytest.fixture
def visiting(browser: Browser, served: Served, team: str) -> Iterator[Visiting]:
    """Logs somebody in, as a person would."""
    with ExitStack() as open_pages:

        def log_in(name: str, role: Role) -> Page:
            page = open_pages.enter_context(open_page(browser, served.url, {}))
            page.goto("/review")
            page.get_by_label("Token").fill(served.token(team, role, name))
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_url(f"{served.url}/")
            return page

        yield log_in


@pytest.fixture
def filled(served: Served, team: str) -> dict[str, str]:
    """A team that knows something: what was said, and the memory's id."""
    people = {name: served.token(team, Role.WRITER, name) for name in ("alice", "bob")}
    robot = served.token(team, Role.WRITER, "ci-agent", is_agent=True)
    said = [
        (people["alice"], "Deploys run from the release branch", "decision", "github.com/acme/api"),
        (people["bob"], "Prices are kept in integer cents", "convention", "github.com/acme/shop"),
        (people["alice"], "Deploys never run from the release branch", "decision", "github.com/acme/api"),
        (robot, "Run `make check` before every commit", "procedure", "github.com/acme/api"),
    ]
    for name, token in people.items():
        served.ask("POST", "/v1/hello", token, {"device": f"laptop-of-{name}"})
    made = {}
    for token, text, kind, repo in said:
        told = served.ask("POST", "/v1/memories", token, {"text": text, "kind": kind, "repo": repo, "tags": ["demo"]})
        made[text] = told.body["id"]
    served.ask("DELETE", "/v1/tokens/alice", people["bob"])
    return made


def plainly(
    served: Served, method: str, path: str, cookie: str = "", form: dict[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    """One request that no browser helps with, and that follows nothing."""
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=SECONDS)
    sent = {"Origin": served.url, "Content-Type": "application/x-www-form-urlencoded"} if method == "POST" else {}
    connection.request(method, path, urlencode(form or {}), {**sent, "Cookie": f"{COOKIE}={cookie}"})
    came = connection.getresponse()
    told = came.status, {name.lower(): value for name, value in came.getheaders()}, came.read().decode()
    connection.close()
    return told


def let_in(served: Served, token: str) -> str:
    """What a browser holds once its person showed their token."""
    _, headers, _ = plainly(served, "POST", "/login", form={"secret": token})
    return headers["set-cookie"].partition("=")[2].partition(";")[0]


def test_a_token_is_shown_once_and_the_browser_holds_something_else(served: Served, team: str) -> None:
    token = served.token(team, name="alice")

    status, headers, _ = plainly(served, "POST", "/login", form={"secret": token})

    assert (status, headers["location"]) == (303, "/")
    assert token not in headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in headers["set-cookie"].split(";")}
    assert plainly(served, "GET", "/", let_in(served, token))[0] == 200


def test_behind_tls_the_cookie_goes_nowhere_else(served: Served, team: str) -> None:
    url = "https://hub.example"
    asking = TestClient(create_application(served.host, url), base_url=url, follow_redirects=False)

    came = asking.post("/login", data={"secret": served.token(team)}, headers={"Origin": url})

    assert came.headers["set-cookie"].startswith("__Host-hivemind=")
    assert {"HttpOnly", "SameSite=strict", "Secure", "Path=/"} <= set(came.headers["set-cookie"].split("; "))


def test_a_wrong_token_and_an_agents_token_let_no_browser_in(served: Served, team: str) -> None:
    agent = served.token(team, Role.ADMIN, "robot", is_agent=True)

    wrong, refused = (plainly(served, "POST", "/login", form={"secret": one}) for one in ("hm_wrong", agent))

    assert (wrong[0], refused[0]) == (401, 403)
    assert "set-cookie" not in wrong[1] | refused[1]
    assert "ask an admin" in wrong[2]


def test_a_browser_is_out_as_soon_as_its_token_is_or_it_leaves(served: Served, team: str) -> None:
    tokens = [served.token(team, name=name) for name in ("alice", "bob")]
    alice, bob = (let_in(served, token) for token in tokens)
    form_token = plainly(served, "GET", "/", bob)[2].partition('name="token" value="')[2].partition('"')[0]
    before = [plainly(served, "GET", "/", one)[0] for one in (alice, bob)]

    with served.host.open_mind(served.host.find_owner(team)) as mind:
        mind.admin.tokens.revoke("alice")
    plainly(served, "POST", "/logout", bob, {"token": form_token})

    assert before == [200, 200]
    assert [plainly(served, "GET", "/", one)[0] for one in (alice, bob)] == [303, 303]
    assert served.ask("GET", "/v1/memories", tokens[1]).status == 200


def test_every_form_needs_the_token_of_its_own_visit(served: Served, team: str, filled: dict[str, str]) -> None:
    memory = next(iter(filled.values()))
    alice, bob = (let_in(served, served.token(team, Role.REVIEWER, name)) for name in ("ann", "ben"))
    others = plainly(served, "GET", "/", bob)[2].partition('name="token" value="')[2].partition('"')[0]

    answers = [
        plainly(served, "POST", f"/memory/{memory}/retract", alice, {"token": token})[0] for token in ("", others)
    ]

    assert answers == [403, 403]
    assert plainly(served, "POST", f"/memory/{memory}/retract", bob, {"token": others})[0] == 303


def test_pages_of_a_laptop_say_where_they_are(served: Served, team: str) -> None:
    held = let_in(served, served.token(team))

    answers = [plainly(served, "GET", path, held) for path in ("/sessions", "/health", "/file?path=x")]

    assert [status for status, _, _ in answers] == [403] * 3
    assert all("own machine" in text for _, _, text in answers)
    assert all(headers["content-security-policy"] == POLICY for _, headers, _ in answers)


def test_another_team_reads_nothing_on_any_page(
    served: Served, team: str, strangers: str, filled: dict[str, str]
) -> None:
    said, memory = next(iter(filled.items()))
    held, hers = let_in(served, served.token(team)), let_in(served, served.token(strangers, Role.ADMIN, "carol"))
    paths = ("/", "/search", "/search?q=deploys", f"/memory/{memory}", "/review", "/log", "/team")

    seen = [plainly(served, "GET", path, held)[2] for path in paths]
    hidden = [plainly(served, "GET", path, hers)[2] for path in paths]

    assert sum(said in text for text in seen) >= 4
    assert "alice" in seen[-1]
    # The strangers' log has only what was done to their own team: created, and a token for its admin and for Carol.
    assert re.findall(r"\d+ entries", hidden[5]) == ["3 entries"]
    assert not [text for text in hidden if said in text or "alice" in text]


def test_what_somebody_asked_is_theirs_alone_to_read(served: Served, team: str, filled: dict[str, str]) -> None:
    tokens = [served.token(team, name=name) for name in ("ann", "ben")]
    served.ask("POST", "/v1/recall", tokens[0], {"query": "deploys zebrafish"})

    hers, his = ([plainly(served, "GET", path, let_in(served, token))[2]
                  for path in ("/", "/log?sort=recalls", "/log?sort=all")] for token in tokens)  # fmt: skip

    assert "zebrafish" in hers[0]
    assert "zebrafish" in hers[1]
    assert "zebrafish" not in "".join(his)


def test_a_member_searches_what_the_team_knows(visiting: Visiting, filled: dict[str, str]) -> None:
    page = visiting("rita", Role.READER)

    page.goto("/search")
    page.get_by_label("Query").press_sequentially("how are prices kept", delay=5)

    expect(page.locator("#results [data-row]").first).to_contain_text("integer cents")
    page.get_by_text("Filters").click()
    page.get_by_label("Repository").select_option("remote:github.com/acme/api")
    expect(page.locator("#results")).not_to_contain_text("integer cents")


def test_a_reviewer_decides_and_a_writer_may_not(
    visiting: Visiting, served: Served, team: str, filled: dict[str, str]
) -> None:
    memory = filled["Deploys never run from the release branch"]
    reviewer, writer = visiting("rosa", Role.REVIEWER), visiting("walter", Role.WRITER)
    writer.goto(f"/review?at={memory}")
    sees = writer.get_by_role("button", name="Keep this").count()
    form = {"token": writer.locator("input[name=token]").first.input_value(), "act": "approve"}
    held = {one["name"]: one["value"] for one in writer.context.cookies()}[COOKIE]

    refused = plainly(served, "POST", f"/review/{memory}", held, form)
    reviewer.goto(f"/review?at={memory}")
    article = reviewer.get_by_role("article").filter(has_text="never run")
    article.get_by_role("button", name="Keep this").click()

    expect(reviewer.get_by_role("status")).to_contain_text("Approved")
    assert (sees, refused[0]) == (0, 403)
    told = served.ask("GET", f"/v1/memories/{memory}", served.token(team)).body["memory"]
    assert told["status"] == "active"
    noted = served.ask("GET", "/v1/refusals", served.token(team, Role.ADMIN)).body
    assert ("walter", f"POST /review/{memory}") in [(one["who"], one["what"]) for one in noted]


def test_an_admin_gives_changes_and_takes_tokens(visiting: Visiting, served: Served, filled: dict[str, str]) -> None:
    page = visiting("ada", Role.ADMIN)
    made = page.get_by_label("The new token")
    page.goto("/team")

    page.get_by_text("New token").click()
    page.get_by_label("Name").fill("dora")
    page.get_by_role("button", name="Create").click()
    first = made.inner_text().strip()
    page.goto("/team")
    shown_again = first in page.content()
    page.get_by_role("button", name="Rotate the token of dora").click()
    second = made.inner_text().strip()
    rotated = [served.ask("GET", "/v1/memories", one).status for one in (first, second)]
    page.get_by_role("button", name="Revoke the token of dora").click()

    expect(page.get_by_role("status")).to_contain_text("dora was revoked")
    assert not shown_again
    assert rotated == [401, 200]
    assert served.ask("GET", "/v1/memories", second).status == 401
    expect(page.get_by_role("region", name="Refused requests")).to_contain_text("only an admin")


def test_an_admin_removes_a_lost_device(visiting: Visiting, served: Served, filled: dict[str, str]) -> None:
    page = visiting("ada", Role.ADMIN)
    page.goto("/team")

    page.get_by_role("button", name=re.compile("Remove the device .* of alice")).click()

    expect(page.get_by_role("status")).to_contain_text("was removed")
    assert "laptop-of-alice" not in page.content()


def test_a_writer_sees_the_team_without_its_tokens(visiting: Visiting, served: Served, filled: dict[str, str]) -> None:
    page = visiting("walter", Role.WRITER)

    page.goto("/team")
    held = {one["name"]: one["value"] for one in page.context.cookies()}[COOKIE]
    form = {"token": page.locator("input[name=token]").first.input_value(), "name": "eve", "role": "admin"}
    refused = plainly(served, "POST", "/team/create", held, form)

    expect(page.get_by_role("region", name="Members")).to_contain_text("alice")
    expect(page.get_by_role("region", name="Devices")).to_contain_text("laptop")
    assert page.get_by_role("region", name="Tokens").count() == 0
    assert refused[0] == 403
    assert "hm_" not in refused[2]


@pytest.mark.parametrize("name", ["login", "today", "search", "memory", "review", "log", "team"])
def test_a_page_of_the_hub_keeps_nobody_out_and_fits_every_width(
    visiting: Visiting, filled: dict[str, str], name: str
) -> None:
    page = visiting("ada", Role.ADMIN)
    memory = filled["Deploys run from the release branch"]
    where = {"today": "/", "search": "/search?q=deploys", "memory": f"/memory/{memory}"}.get(name, f"/{name}")
    page.goto(where)

    found, wide = audit_page(page, f"hub-{name}")

    assert found == []
    assert wide == []
