"""Devices and hubs of different versions."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hivemind.errors import InvalidInput, Refused, Unavailable
from hivemind.model import protocol
from hivemind.model.protocol import ExchangeVersions, describe_mismatch, parse_versions
from hivemind.model.team import Role
from hivemind.sync import hub_client
from hivemind.sync.hub_client import HubClient
from tests.hub.serving import Served

FUTURE = "7-9"


@contextmanager
def answering(*answers: tuple[int, dict[str, str]]) -> Iterator[tuple[HubClient, list[str | None]]]:
    """A server that gives these answers one after the other, and the version that each request named."""
    waiting, versions = list(answers), list[str | None]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            versions.append(self.headers.get(protocol.HEADER))
            status, headers = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            body = json.dumps({"error": "told so"} if status >= 400 else {"name": "team"}).encode()
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - names of the standard library

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield HubClient(url=f"http://127.0.0.1:{server.server_port}", token="t"), versions
        server.shutdown()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_client, "RETRY_SECONDS", (0.01, 0.01, 0.01))


def test_a_program_that_names_no_version_speaks_the_first() -> None:
    assert parse_versions(None) == ExchangeVersions(1, 1) == parse_versions("nonsense")
    assert describe_mismatch(parse_versions(None), protocol.OURS) is None
    assert describe_mismatch(protocol.OURS, parse_versions(None)) is None


def test_each_side_says_which_one_to_upgrade() -> None:
    assert "the device" in str(describe_mismatch(protocol.OURS, ExchangeVersions(7, 9)))
    assert "runs the hub" in str(describe_mismatch(ExchangeVersions(7, 9), protocol.OURS))


def test_a_hub_answers_a_device_of_the_version_before_and_names_its_own(served: Served, team: str) -> None:
    answer = served.ask("GET", "/v1/devices", served.token(team, Role.WRITER))

    assert answer.status == 200
    assert answer.headers[protocol.HEADER.lower()] == str(protocol.OURS)


def test_a_hub_refuses_a_device_whose_exchange_it_does_not_speak(served: Served, team: str) -> None:
    token = served.token(team, Role.WRITER)

    refused = served.ask("GET", "/v1/devices", token, **{protocol.HEADER: FUTURE})

    assert refused.status == 426
    assert "7-9" in refused.body["error"]
    assert served.ask("GET", "/v1/devices", token, **{protocol.HEADER: "2-9"}).status == 200


def test_a_device_names_its_version_and_leaves_a_hub_whose_exchange_it_does_not_speak() -> None:
    with answering((200, {})) as (client, versions):
        assert client.request("GET", "/v1/team") == {"name": "team"}
    with answering((200, {protocol.HEADER: FUTURE})) as (client, _), pytest.raises(Refused):
        client.request("GET", "/v1/team")

    assert versions == [str(protocol.OURS)]


def test_a_request_that_an_older_hub_does_not_understand_says_that_the_hub_is_older() -> None:
    with answering((422, {})) as (client, _), pytest.raises(InvalidInput, match="upgrade"):
        client.request("POST", "/v1/hello", {})
    with answering((422, {protocol.HEADER: str(protocol.OURS)})) as (client, _), pytest.raises(InvalidInput) as error:
        client.request("POST", "/v1/hello", {})
    assert "upgrade" not in str(error.value)


def test_a_device_asks_again_while_the_hub_is_away_for_a_moment() -> None:
    with answering((503, {}), (502, {}), (200, {})) as (client, versions):
        assert client.request("POST", "/v1/push", {}) == {"name": "team"}
    assert len(versions) == 3


@pytest.mark.parametrize("status", [200, 503])
def test_a_device_asks_again_when_an_answer_breaks_off(status: int) -> None:
    with answering((status, {"Content-Length": "1000"}), (200, {})) as (client, versions):
        assert client.request("GET", "/v1/team") == {"name": "team"}
    assert len(versions) == 2


def test_a_server_that_is_no_hub_is_named() -> None:
    with answering((200, {})) as (client, _), pytest.raises(Unavailable, match="check its URL"):
        client.say_hello("device")
    with answering((200, {})) as (client, _), pytest.raises(Unavailable, match="check its URL"):
        hub_client.find_provider(client.url)


def test_a_device_gives_up_after_some_attempts() -> None:
    with answering((503, {})) as (client, versions), pytest.raises(Unavailable):
        client.request("GET", "/v1/team")
    assert len(versions) == 4


def test_what_may_not_be_done_twice_is_sent_once() -> None:
    with answering((503, {})) as (client, versions), pytest.raises(Unavailable):
        client.request("POST", "/v1/tokens", {"name": "bob"})
    assert len(versions) == 1
