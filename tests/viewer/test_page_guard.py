"""What stands between the pages and the rest of the world."""

import dataclasses
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, expect
from starlette.requests import Request

from hivemind import Hivemind
from hivemind.viewer import PAGES, Site, Visitor, build
from tests.viewer.conftest import Viewer, serving

pytestmark = pytest.mark.xdist_group("viewer")

READ = [path for method, path, *_ in PAGES if method == "GET"]
WRITE = [path for method, path, *_ in PAGES if method == "POST"]


def real(viewer: Viewer, path: str) -> str:
    session = "/session/5f1c9a52-31d7-4c0e-9a66-0b7d0f2f61aa"
    if path.startswith("/session/"):
        return session
    memory = (
        viewer.demo.memories["Money is kept in int"].id
        if path.endswith(("promote", "publish"))
        else viewer.demo.hostile
    )
    filled = path.replace("{id}", memory).replace("{act}", "approve")
    return "/file?path=harbour/settings.py" if path == "/file" else filled


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"cookie": None}, 401),
        ({"cookie": "hivemind=9999999999.00"}, 401),
        ({"cookie": "hivemind=9999999999.\xfc"}, 401),
    ],
)
def test_every_route_refuses_what_does_not_come_from_its_own_pages(
    viewer: Viewer, headers: dict[str, str | None], status: int
) -> None:
    before = viewer.end()

    reads = [viewer.ask("GET", real(viewer, path), **headers) for path in READ]
    writes = [viewer.ask("POST", real(viewer, path), {"token": viewer.token()}, **headers) for path in WRITE]

    assert {answer.status for answer in (*reads, *writes)} == {status}
    assert viewer.end() == before


def test_every_page_answers_its_own_visitor_and_no_page_changes_anything_by_being_read(viewer: Viewer) -> None:
    viewer.ask("GET", "/search?q=deploy")  # lets vectors catch up, which is no fact
    before = viewer.end()

    answers = {path: viewer.ask("GET", real(viewer, path)) for path in READ}
    searched = viewer.ask("GET", "/search?q=how+do+we+deploy")

    assert {path: answer.status for path, answer in answers.items()} == dict.fromkeys(READ, 200)
    assert "Deploys go out" in searched.text
    assert viewer.end() == before


@pytest.mark.parametrize("written", ["²", "9" * 40, "-1", "1 OR 1"])
def test_a_number_that_is_none_is_left_aside(viewer: Viewer, written: str) -> None:
    asked = quote(written)

    answers = [
        viewer.ask("GET", f"/log?before={asked}"),
        viewer.ask("GET", f"{real(viewer, '/session/{id}')}?from={asked}"),
        viewer.ask("GET", f"/file?path=README.md&lines={asked}"),
    ]

    assert {answer.status for answer in answers} == {200}


def test_what_is_sent_is_never_taken_from_an_address(viewer: Viewer) -> None:
    before = viewer.end()

    answers = [viewer.ask("GET", real(viewer, path)) for path in WRITE if path not in READ]

    assert {answer.status for answer in answers} <= {404, 405}
    assert viewer.end() == before


def test_a_form_needs_the_token_of_its_own_visit(viewer: Viewer) -> None:
    with viewer.mind() as mind:
        memory = mind.remember("A form of our own may take this back.", tags=["guard"])
    path = f"/memory/{memory.id}/retract"

    without = viewer.ask("POST", path)
    wrong = viewer.ask("POST", path, {"token": "ü" * 64})
    without_origin = viewer.ask("POST", path, {"token": viewer.token()}, origin=None)
    with viewer.mind() as mind:
        untouched = mind.show(memory.id).status
    right = viewer.ask("POST", path, {"token": viewer.token()})

    assert (without.status, wrong.status, without_origin.status, right.status) == (403, 403, 403, 303)
    assert untouched == "active"
    with viewer.mind() as mind:
        assert mind.show(memory.id).status == "retracted"


def test_a_form_that_is_too_large_is_refused(viewer: Viewer) -> None:
    answer = viewer.ask("POST", "/undo", {"token": viewer.token(), "batch": "x" * (1 << 20)})

    assert answer.status == 413


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/viewer.css", "/login", "/memory/zzzz"])
def test_every_answer_carries_the_policy(viewer: Viewer, path: str) -> None:
    answer = viewer.ask("GET", path)

    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?! (type=\"module\" )?src=\"/static/)|<[^>]*\s(style|on\w+)=", answer.text)


def test_the_cookie_is_strict_and_out_of_reach_and_a_link_lets_in_once(viewer: Viewer) -> None:
    code = viewer.make_code()

    looked = viewer.ask("GET", f"/login?code={code}", cookie=None)
    first = viewer.ask("POST", "/login", {"code": code}, cookie=None)
    second = viewer.ask("POST", "/login", {"code": code}, cookie=None)

    assert looked.status == 200
    assert "set-cookie" not in looked.headers
    assert first.status == 303
    assert "httponly" in first.headers["set-cookie"].lower()
    assert "samesite=strict" in first.headers["set-cookie"].lower()
    assert second.status == 401
    assert (viewer.demo.home / "viewer.token").stat().st_mode & 0o077 == 0


def test_a_path_to_go_back_to_never_leads_elsewhere(viewer: Viewer) -> None:
    with viewer.mind() as mind, mind.review.batch("viewer") as batch:
        mind.remember("To be undone from the outside.", tags=["guard"])

    answer = viewer.ask("POST", "/undo", {"token": viewer.token(), "batch": batch, "back": "//evil.example/"})

    assert answer.headers["location"].startswith("/?")


@contextmanager
def behind(site: Site) -> Iterator[Viewer]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        site = dataclasses.replace(site, origins=frozenset({f"http://127.0.0.1:{port}"}))
        stop = serving(build(site), listening)
        yield Viewer(port=port, codes=set(), demo=None, site=site, cookie="x")  # type: ignore[arg-type]
        stop()


def test_a_visitor_who_may_only_look_sees_no_buttons_and_cannot_use_them(viewer: Viewer) -> None:
    def reader(request: Request) -> Visitor:
        return Visitor(name="guest", key="g", may=frozenset())

    def everybody(request: Request) -> Visitor:
        return Visitor(name="ada", key="g")

    site = dataclasses.replace(viewer.site, find_visitor=reader)
    with behind(site) as guest:
        page = guest.ask("GET", f"/memory/{viewer.demo.hostile}")
        form = {"act": "approve", "token": site.make_form_token(reader(None))}  # type: ignore[arg-type]
        tried = [guest.ask("POST", real(viewer, path), form) for path in WRITE]
        health = guest.ask("GET", "/health")
    with behind(dataclasses.replace(viewer.site, find_visitor=everybody)) as host:
        full = host.ask("GET", f"/memory/{viewer.demo.hostile}")

    assert "Approve" in full.text
    assert "Erase" in full.text
    assert "Approve" not in page.text
    assert "Erase" not in page.text
    assert {answer.status for answer in (*tried, health)} == {403}


def test_a_mistake_of_ours_is_a_page_with_the_policy_too(viewer: Viewer) -> None:
    def broken(request: Request) -> Hivemind:
        raise RuntimeError("a secret detail")

    known = dataclasses.replace(viewer.site, open_mind=broken, find_visitor=lambda request: Visitor(name="a", key="a"))
    with behind(known) as ours:
        answer = ours.ask("GET", "/")

    assert answer.status == 500
    assert "bug in hivemind" in answer.text
    assert "secret detail" not in answer.text
    assert "content-security-policy" in answer.headers


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/memory/ffffffffffff", 404, "there is no memory"),
        ("/session/none-such", 404, "there is no session"),
        ("/search?q=x&as_of=yesterday-ish", 422, "is not a date"),
        ("/file?path=../../etc/passwd", 404, "there is no file"),
        ("/file?path=README.md&commit=HEAD", 422, "is not a commit"),
        ("/nowhere", 404, "No such page"),
        ("/search?scope=galaxy", 422, "is not a scope"),
    ],
)
def test_errors_are_pages_that_say_what_to_do(viewer: Viewer, path: str, status: int, said: str) -> None:
    answer = viewer.ask("GET", path)

    assert answer.status == status
    assert said in answer.text
    assert "<h1>" in answer.text


def test_the_command_prints_a_link_that_lets_in(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hivemind", "ui", "--no-open"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert running.stdout
    link = running.stdout.readline().strip()
    with socket.create_connection(("127.0.0.1", int(link.split(":")[2].split("/")[0]))):
        pass

    with urlopen(link) as answer:
        page = answer.read().decode()
    running.terminate()
    running.communicate(timeout=10)

    assert "This link signs in one browser, once." in page
    assert link.partition("code=")[2] in page


def test_the_page_that_a_browser_is_given_signs_it_in_and_is_deleted(browser: Browser, tmp_path: Path) -> None:
    # Keeps what it is asked to open, and ends.
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/address"\n')
    program.chmod(0o755)
    environment = os.environ | {"BROWSER": str(program)}
    running = subprocess.Popen(
        [sys.executable, "-m", "hivemind", "ui"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert running.stdout
    running.stdout.readline()
    address = tmp_path / "address"
    wait_until(lambda: address.exists() and bool(address.read_text().strip()))

    page = browser.new_page()
    page.goto(address.read_text().strip())
    expect(page.get_by_role("navigation").first).to_be_visible()
    wait_until(lambda: not list((tmp_path / "home").glob("sign-in-*")))
    page.close()
    running.terminate()
    running.communicate(timeout=10)

    assert address.read_text().startswith("file://")


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)
