"""A hub's commands, as the people type them who run it and who use it."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hivemind.model.team import Role
from tests.hub.people import Person
from tests.hub.serving import SECONDS, Served

TOKEN = re.compile(r"hm_[\w-]+")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as asking:
            if not asking.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.1)


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """A certificate for this machine that signed itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hub of a test")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1)).add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (tmp_path / "hub.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    format_ = serialization.PrivateFormat.PKCS8
    (tmp_path / "hub.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, format_, plain))
    return str(tmp_path / "hub.pem"), str(tmp_path / "hub.key")


@contextmanager
def hub_serving(database: str, *options: str) -> Iterator[Callable[[], str]]:
    """The command, running; what is given back stops it and tells what it printed."""
    line = [sys.executable, "-m", "hivemind", "hub", "serve", "--database", database, *options]
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    assert running.stdout is not None
    while "listens at" not in (said := running.stderr.readline()):
        assert said, "it ended"

    def stopped() -> str:
        running.terminate()
        return running.communicate(timeout=SECONDS)[0]

    try:
        yield stopped
    finally:
        running.kill()
        running.wait()
        running.stdout.close()
        running.stderr.close()


def test_a_hub_without_tls_stays_on_its_machine(person: Person) -> None:
    ops = person("ops")
    beyond = ("hub", "serve", "--database", "postgresql://nowhere", "--host", "0.0.0.0")

    refused = ops(*beyond, codes=(2,))
    nameless = ops(*beyond, "--insecure", codes=(2,))
    meant = ops(*beyond, "--insecure", "--public-url", "https://hub.example", codes=(6,))

    assert "--tls-cert" in refused
    assert "--public-url" in nameless
    assert "database does not answer" in meant


def test_a_hub_that_cannot_start_says_what_to_change(
    empty_database: str, certificate: tuple[str, str], person: Person
) -> None:
    ops, (pem, _) = person("ops"), certificate
    serve = ("hub", "serve", "--workers", "0", "--port")

    no_address = [ops("hub", "status", "--database", text, codes=(2,)) for text in ("hub", "postgresql://u:%@h/d")]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        taken_port = ops(*serve, port, "--database", empty_database, codes=(6,))
    assert ops("hub", "team", "list", "--database", empty_database) == []
    without_key = ops.plainly(
        "-m", "hivemind", *serve, str(free_port()), "--tls-cert", pem, "--database", empty_database
    )

    assert all("postgresql://hub@localhost/hub" in text and "%@h" not in text for text in no_address)
    assert port in taken_port
    assert (without_key.returncode, "--tls-key" in without_key.stderr) == (2, True)


def test_a_hub_with_tls_is_joined_by_who_trusts_it_and_prints_its_first_token_once(
    empty_database: str, certificate: tuple[str, str], person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, (pem, key) = free_port(), certificate
    options = ("--port", str(port), "--tls-cert", pem, "--tls-key", key, "--public-url", f"https://localhost:{port}")
    wary = person("wary")
    person.more["SSL_CERT_FILE"] = pem
    ada = person("ada")

    with hub_serving(empty_database, *options) as stopped:
        first = TOKEN.findall(stopped())
    with hub_serving(empty_database, *options) as stopped:
        wait_for(port)
        joined = ada("team", "login", f"https://localhost:{port}", "--token", first[0])
        doubted = wary("team", "login", f"https://localhost:{port}", "--token", first[0], codes=(6,))
        again = TOKEN.findall(stopped())

    assert (len(first), again) == (1, [])
    assert joined["refused"] == []
    assert "certificate" in doubted


def test_tokens_are_given_listed_changed_and_taken_by_the_database_and_by_an_admin(
    hub_address: str, served: Served, team: str, person: Person
) -> None:
    ada = person("ada")
    ada("team", "login", served.url, "--token", served.token(team, Role.ADMIN, "ada"))

    for where in ((), ("--database", hub_address, "--team", team)):
        made = ada("hub", "token", "create", "--name", "bob", "--role", "writer", *where)["token"]
        new = ada("hub", "token", "rotate", "bob", *where)["token"]
        alive = [served.ask("GET", "/v1/memories", one).status for one in (made, new)]
        listed = ada("hub", "token", "list", *where)
        gone = ada("hub", "token", "revoke", "bob", *where)

        assert alive == [401, 200]
        assert "bob" in [one["name"] for one in listed if not one["revoked_at"]]
        assert made not in str(listed)
        assert gone["revoked_at"]
        assert served.ask("GET", "/v1/memories", new).status == 401


def test_an_admin_ends_the_access_of_exactly_the_member_whose_name_was_given(
    served: Served, team: str, person: Person
) -> None:
    ada = person("ada")
    ada("team", "login", served.url, "--token", served.token(team, Role.ADMIN, "ada"))
    names = ("ci", "ci bot", "ci?all", "ci/eu", "ci/rotate", "50%")
    for name in names:
        ada("hub", "token", "create", "--name", name, "--role", "reader")

    for name in names[1:]:
        ada("hub", "token", "rotate", name)
        revoked = ada("hub", "token", "revoke", name)
        removed = ada("hub", "member", "remove", name)
        assert (revoked["name"], removed["tokens"]) == (name, [])

    listed = ada("hub", "token", "list")
    assert [each["name"] for each in listed if not each["revoked_at"]] == ["ci", "ada", "admin"]


@pytest.mark.parametrize("number", ["0", "3651", "99999999999"])
@pytest.mark.parametrize("command", ["token create --name bob --role writer --days", "team set --lease-days"])
def test_no_token_or_lease_lasts_for_ever(
    hub_address: str, served: Served, team: str, person: Person, command: str, number: str
) -> None:
    ada = person("ada")
    ada("team", "login", served.url, "--token", served.token(team, Role.ADMIN, "ada"))

    for where in ((), ("--database", hub_address, "--team", team)):
        ada("hub", *command.split(), number, *where, codes=(2,))
        ada("hub", *command.split(), "3650", *where)


def test_who_is_no_admin_gives_no_tokens(served: Served, team: str, person: Person) -> None:
    walter, nobody = person("walter"), person("nobody")
    walter("team", "login", served.url, "--token", served.token(team, Role.WRITER, "walter"))
    create = ("hub", "token", "create", "--name", "eve", "--role", "admin")

    refused, unknown = walter(*create, codes=(4,)), nobody(*create, codes=(2,))

    assert "only an admin" in refused
    assert "join it as an admin: hivemind team login URL" in unknown


def test_a_member_sees_how_the_team_stands_and_leaves_it(served: Served, team: str, person: Person) -> None:
    alice = person("alice")
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    alice("remember", "Deploys run on Fridays", "--scope", "team")

    before = alice("team", "status")
    alice("sync")
    synced = alice("team", "status")
    alice("team", "logout")
    after = alice("team", "status")

    assert (before["waiting"], synced["waiting"]) == (1, 0)
    assert [one["person"] for one in synced["devices"]] == ["alice"]
    assert "key" not in synced["membership"]
    assert (after["membership"], after["hub"]) == (None, "")
    assert "belongs to no team" in alice("sync", codes=(2,))


def test_a_member_whom_the_hub_refuses_still_sees_how_this_store_stands(
    served: Served, team: str, person: Person
) -> None:
    ada, alice = person("ada"), person("alice")
    ada("team", "login", served.url, "--token", served.token(team, Role.ADMIN, "ada"))
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    alice("remember", "Deploys run on Fridays", "--scope", "team")
    ada("hub", "token", "revoke", "alice")

    status = alice("team", "status")

    assert (status["membership"]["person"], status["waiting"], status["devices"]) == ("alice", 1, [])
    assert "revoked" in alice.plainly("-m", "hivemind", "team").stderr


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_folder_that_is_away_keeps_no_memory_from_the_team(
    served: Served, team: str, person: Person, tmp_path: Path, is_paused: bool
) -> None:
    alice, folder = person("alice"), tmp_path / "stick"
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    alice("sync", "setup", str(folder), "--yes")
    alice("remember", "Deploys run on Fridays", "--scope", "team")

    alice("sync", "pause") if is_paused else folder.rename(tmp_path / "unplugged")
    reported = alice.plainly("-m", "hivemind", "sync")

    assert alice("team", "status")["waiting"] == 0
    assert (reported.returncode, reported.stdout) == (6, "Team: 0 entries received, 1 sent, 0 memories erased here.\n")
    assert ("resume" if is_paused else "connect the drive") in reported.stderr


def test_a_hub_that_is_away_keeps_no_memory_from_the_other_machines(
    served: Served, team: str, person: Person, tmp_path: Path
) -> None:
    alice = person("alice")
    alice("team", "login", served.url, "--token", served.token(team, Role.WRITER, "alice"))
    alice("sync", "setup", str(tmp_path / "folder"), "--yes")
    alice("remember", "I like short answers", "--scope", "user")
    hub_file = Path(alice.environment["HIVEMIND_HOME"]) / "hub.json"
    hub_file.write_text(hub_file.read_text().replace(served.url, f"http://127.0.0.1:{free_port()}"))

    reported = alice.plainly("-m", "hivemind", "sync")

    assert (reported.returncode, "does not answer" in reported.stderr) == (6, True)
    assert reported.stdout == "Your machines: 0 entries received, 1 sent, 0 memories erased here.\n"


def test_what_goes_wrong_is_said_in_a_sentence_with_a_remedy(served: Served, person: Person) -> None:
    alice = person("alice")
    nobody_there = f"http://127.0.0.1:{free_port()}"
    script = "import sys; sys.modules['psycopg'] = None; from hivemind.__main__ import main; main()"

    wrong = alice("team", "login", served.url, "--token", "hm_wrong", codes=(4,))
    down = alice("team", "login", nobody_there, "--token", "hm_any", codes=(6,))
    open_network = alice("team", "login", "http://hub.example", "--token", "hm_any", codes=(2,))
    no_address = alice("team", "login", "hub.example", "--token", "hm_any", codes=(2,))
    without_extra = alice.plainly("-c", script, "hub", "serve", "--database", "postgresql://x")

    assert "ask an admin" in wrong
    assert "does not answer" in down
    assert "--insecure" in open_network
    assert "https://hub.example" in no_address
    assert "pip install 'hivemind-memory[hub]'" in without_extra.stderr
    assert without_extra.returncode == 6
    assert not (Path(alice.environment["HIVEMIND_HOME"]) / "hub.json").exists()


def test_the_receipt_of_an_erasure_says_until_when_backups_are_kept(empty_database: str, person: Person) -> None:
    ada, port = person("ada"), free_port()
    made = ada("hub", "team", "create", "payments", "--database", empty_database)["token"]

    with hub_serving(empty_database, "--port", str(port), "--backup-days", "7"):
        wait_for(port)
        hub = Served(host=None, url=f"http://127.0.0.1:{port}")  # type: ignore[arg-type]
        memory = hub.ask("POST", "/v1/memories", made, {"text": "Deploys run on Fridays"}).body["id"]
        receipt = hub.ask("DELETE", f"/v1/memories/{memory}", made).body

    week = (datetime.now(UTC) + timedelta(days=7)).date().isoformat()
    assert f"gone by {week}" in [place["detail"] for place in receipt["places"]]


def test_a_hub_makes_vectors_in_a_process_of_its_own_and_its_status_says_what_waits(
    empty_database: str, person: Person
) -> None:
    ada, port = person("ada"), free_port()
    token = ada("hub", "team", "create", "payments", "--database", empty_database)["token"]
    hub = Served(host=None, url=f"http://127.0.0.1:{port}")  # type: ignore[arg-type]

    with hub_serving(empty_database, "--port", str(port), "--workers", "0"):
        wait_for(port)
        hub.ask("POST", "/v1/memories", token, {"text": "Deploys run on Fridays"})
    (before,) = ada("hub", "status", "--database", empty_database)
    with hub_serving(empty_database, "--port", str(port)):
        for _ in range(300):
            (after,) = ada("hub", "status", "--database", empty_database)
            if not after["waiting"]:
                break
            time.sleep(0.1)

    assert (before["name"], before["passages"], before["waiting"]) == ("payments", 1, 1)
    assert (after["waiting"], after["is_outdated"]) == (0, False)
    assert ada("hub", "migrate", "--database", empty_database) == {"migrations": [], "rebuilt": [], "queued": 0}
