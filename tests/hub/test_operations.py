"""What an operator relies on: health checks, metrics, logs, limits that cannot be turned against members."""

import http.client
import json
import logging
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from hivemind.errors import Unavailable
from hivemind.hub.access import Limits
from hivemind.hub.http import admission
from hivemind.hub.http.operations import LOGGER, JsonFormatter
from hivemind.model.team import Role
from hivemind.viewer import http_guard
from tests.hub.serving import SECONDS, Served


def get(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def log_lines() -> Iterator[list[dict[str, object]]]:
    """The lines that the hub logs, parsed."""
    lines: list[dict[str, object]] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(JsonFormatter().format(record)))

    handler, level = Collector(), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    yield lines
    LOGGER.removeHandler(handler)
    LOGGER.setLevel(level)


def test_health_checks_answer_by_address_without_a_token(served: Served) -> None:
    for path in ("/healthz", "/readyz"):
        assert get(served.url + path, Host="10.0.0.7:8787") == (200, "ok\n")
    assert get(served.url + "/v1/devices", Host="10.0.0.7:8787")[0] == 421


def test_a_hub_whose_database_is_gone_is_alive_but_not_ready(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.host, "database", _Closed())

    assert get(served.url + "/healthz")[0] == 200
    status, text = get(served.url + "/readyz")
    assert (status, text) == (503, "the database does not answer\n")


class _Closed:
    """A hub whose database cannot be reached."""

    def connect_without_team(self) -> None:
        raise Unavailable("the hub's database does not answer (secret address)")


def test_metrics_count_requests_by_route_and_name_nobody(served: Served, team: str) -> None:
    token = served.token(team, Role.READER, "zaphod")
    served.ask("GET", "/v1/memories/abcd1234", token)

    status, text = get(served.url + "/metrics")

    assert status == 200
    assert 'hivemind_requests_total{method="GET",route="/v1/memories/{memory}",status="404"}' in text
    assert 'hivemind_request_seconds_bucket{le="+Inf",route="/v1/memories/{memory}"}' in text
    assert "hivemind_pool_connections" in text
    assert not {"zaphod", "abcd1234", team} & set(text.replace('"', " ").split())


def test_methods_that_clients_invent_are_counted_together(served: Served) -> None:
    for method in ("BREW", "WHEN", "PROPFIND"):
        connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=SECONDS)
        connection.request(method, "/v1/memories")
        connection.getresponse().read()
        connection.close()

    _, text = get(served.url + "/metrics")

    assert 'method="other"' in text
    assert not {"BREW", "WHEN", "PROPFIND"} & set(text.replace('"', " ").split())


def test_every_request_is_a_line_of_json_with_an_id_and_without_content(
    served: Served, team: str, log_lines: list[dict[str, object]]
) -> None:
    token = served.token(team, name="alice")
    request = urllib.request.Request(
        served.url + "/v1/memories", method="POST", data=json.dumps({"text": "The vault code is 42"}).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json", "X-Request-Id": "from-proxy"},
    )  # fmt: skip

    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        assert answer.headers["X-Request-Id"] == "from-proxy"
    get(served.url + "/v1/devices", **{"X-Request-Id": 'forged", "status": 200'})

    # A line is written after its answer was sent.
    while len(log_lines) < 2:
        time.sleep(0.01)
    known, stranger = log_lines[-2:]
    assert {name: known[name] for name in ("event", "method", "path", "status", "member", "request_id")} == {
        "event": "request", "method": "POST", "path": "/v1/memories", "status": 200, "member": "alice",
        "request_id": "from-proxy",
    }  # fmt: skip
    assert (stranger["status"], stranger["member"]) == (401, "")
    assert "forged" not in str(stranger["request_id"])
    assert "vault" not in str(log_lines)
    assert token not in str(log_lines)


def test_a_strangers_body_is_not_read(served: Served, team: str) -> None:
    token, address = served.token(team), served.url.removeprefix("http://")
    statuses = []
    for secret in ("hm_wrong", token):
        connection = http.client.HTTPConnection(address, timeout=SECONDS)
        connection.putrequest("POST", "/v1/memories")
        connection.putheader("Authorization", f"Bearer {secret}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "100000")
        connection.endheaders()
        if secret == token:
            connection.send(json.dumps({"text": "Said in time"}).encode().ljust(100_000))
        # A stranger is answered although nothing of the body was sent.
        statuses.append(connection.getresponse().status)
        connection.close()

    assert statuses == [401, 200]


@pytest.mark.usefixtures("long_minute")
def test_wrong_tokens_do_not_lock_out_members_at_the_same_address(
    served: Served, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.host, "limits", Limits(per_token=50, wrong_per_address=3))
    token = served.token(team)

    wrong_statuses = [served.ask("GET", "/v1/devices", "hm_wrong").status for _ in range(40)]

    assert set(wrong_statuses[-30:]) == {429}
    assert served.ask("GET", "/v1/devices", token).status == 200


def test_headers_that_do_not_arrive_end_the_connection(monkeypatch: pytest.MonkeyPatch, served: Served) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with monkeypatch.context() as changes:
        changes.setattr(admission, "HEADER_TIMEOUT_SECONDS", 0.3)
        with socket.create_connection((host, int(port)), timeout=SECONDS) as slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
            assert slow.recv(100) == b""
    assert get(served.url + "/healthz")[0] == 200


def test_a_body_that_does_not_arrive_ends_the_request(
    monkeypatch: pytest.MonkeyPatch, served: Served, team: str
) -> None:
    monkeypatch.setattr(http_guard, "BODY_TIMEOUT_SECONDS", 0.3)
    connection = http.client.HTTPConnection(served.url.removeprefix("http://"), timeout=SECONDS)
    connection.putrequest("POST", "/v1/memories")
    connection.putheader("Authorization", f"Bearer {served.token(team)}")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders()

    answer = connection.getresponse()

    assert answer.status == 408
    assert "took too long" in json.load(answer)["error"]
    connection.close()


def test_a_repository_with_a_nul_is_an_error_of_the_caller(served: Served, team: str) -> None:
    token = served.token(team)

    answer = served.ask("GET", "/v1/memories?repo=github.com/acme%00api", token)

    assert answer.status == 422
    assert "NUL" in answer.body["error"]
    assert served.ask("GET", "/v1/memories?repo=github.com/acme/api", token).status == 200


def test_without_an_identity_provider_nobody_is_sent_to_look_for_one(served: Served) -> None:
    assert get(served.url + "/.well-known/oauth-protected-resource/mcp")[0] == 404
