"""Tokens that no real provider would make: here the provider signs whatever a test asks for.

``test_sign_in.py`` has logins at a real provider.
"""

import base64
import hashlib
import hmac
import http.server
import json
import secrets
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hivemind.errors import AccessRevoked, HivemindError, InvalidInput, Unauthenticated, Unavailable
from hivemind.hub import access
from hivemind.hub.host import Host
from hivemind.hub.oidc import Issuer
from hivemind.hub.store import HubDatabase
from hivemind.model.team import LoginRequest, Role, hash_nonce, hash_token, new_token
from hivemind.settings import Settings

AUDIENCE, CLIENT_ID = "https://hub.example", "hivemind"
SECRET = "known to the device alone"


class Provider:
    """Signs tokens, and says by which key."""

    def __init__(self) -> None:
        self.change_key("k1")
        provider = self

        class Pages(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                pages = {
                    "/.well-known/openid-configuration": {"issuer": provider.url, "jwks_uri": f"{provider.url}/keys"},
                    "/keys": {"keys": [provider.public_key | {"kid": provider.key_id, "use": "sig", "alg": "ES256"}]},
                }
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(pages[self.path]).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever).start()

    def change_key(self, key_id: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.public_key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        self.key_id = key_id

    def make_claims(self, **claims: Any) -> dict[str, Any]:
        common = {"iss": self.url, "aud": AUDIENCE, "sub": "u1", "iat": time.time(), "exp": time.time() + 60}
        return {name: value for name, value in (common | claims).items() if value is not None}

    def token(self, key: Any = None, **claims: Any) -> str:
        return jwt.encode(self.make_claims(**claims), key or self.key, "ES256", headers={"kid": self.key_id})

    def id_token(self, **claims: Any) -> str:
        return self.token(**{"aud": CLIENT_ID, "nonce": hash_nonce(SECRET), "groups": ["all"]} | claims)

    def forge(self, algorithm: str, key: bytes, **claims: Any) -> str:
        """A token as somebody without the key would write it by hand."""
        parts = ({"alg": algorithm, "kid": self.key_id, "typ": "JWT"}, self.make_claims(**claims))
        text = ".".join(encode(json.dumps(part).encode()) for part in parts)
        signature = hmac.new(key, text.encode(), hashlib.sha256).digest() if key else b""
        return f"{text}.{encode(signature)}"


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.fixture
def provider() -> Iterator[Provider]:
    running = Provider()
    yield running
    running.server.shutdown()
    running.server.server_close()


def make_host(hub: HubDatabase, provider: Provider, team: str, **options: Any) -> Host:
    rules = (Issuer.parse_rule(f"all={team}:writer"),)
    host = Host(
        hub, Settings.load(),
        Issuer(url=provider.url, audience=AUDIENCE, client_id=CLIENT_ID, **{"rules": rules} | options),
    )  # fmt: skip
    host.create_team(team)
    return host


@pytest.fixture
def team() -> str:
    return f"openid-{secrets.token_hex(4)}"


def sign_in(host: Host, id_token: str, nonce_secret: str = SECRET) -> str:
    """The name of whoever the hub takes this for; empty if it refuses."""
    request = LoginRequest(id_token=id_token, nonce_secret=nonce_secret, token_hash=hash_token(new_token()))
    try:
        with host.open_sign_in("127.0.0.1") as hub_sign_in:
            return hub_sign_in.sign_in(request).person
    except Unauthenticated:
        return ""


def admit(host: Host, token: str) -> str:
    try:
        return host.admit(token, "127.0.0.1", "test").member.person
    except HivemindError:
        return ""


def test_only_a_token_that_the_provider_made_for_this_hub_lets_in(
    hub: HubDatabase, provider: Provider, team: str
) -> None:
    host = make_host(hub, provider, team, rules=())
    right = {"hivemind_team": team, "hivemind_role": "writer", "email": f"{team}@acme.example", "email_verified": True}

    assert admit(host, provider.token(**right)) == f"{team}@acme.example"
    assert admit(host, provider.token(key=ec.generate_private_key(ec.SECP256R1()), **right)) == ""
    assert admit(host, provider.token(**right, aud="https://other.example")) == ""
    assert admit(host, provider.token(**right, iss="https://evil.example")) == ""
    assert admit(host, provider.token(**right, exp=time.time() - 120)) == ""
    assert admit(host, provider.token(**right | {"hivemind_team": "another"})) == ""
    assert admit(host, provider.token(**right | {"hivemind_role": "emperor"})) == ""
    assert admit(host, jwt.encode({"sub": "u1"}, "x" * 32, "HS256")) == ""


def test_only_true_marks_an_agent(hub: HubDatabase, provider: Provider, team: str) -> None:
    host = make_host(hub, provider, team, rules=())

    def is_agent(claim: object) -> bool:
        token = provider.token(sub=team, hivemind_team=team, hivemind_agent=claim)
        return host.admit(token, "127.0.0.1", "test").member.is_agent

    assert is_agent(True)
    assert not is_agent("false")


def test_forged_id_tokens_sign_nobody_in(hub: HubDatabase, provider: Provider, team: str) -> None:
    host = make_host(hub, provider, team)
    fields = {"aud": CLIENT_ID, "nonce": hash_nonce(SECRET), "groups": ["all"], "sub": team}
    public_pem = provider.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    assert sign_in(host, provider.id_token(sub=team)) == team
    assert sign_in(host, provider.forge("none", b"", **fields)) == ""
    assert sign_in(host, provider.forge("HS256", public_pem, **fields)) == ""
    assert sign_in(host, provider.forge("HS256", json.dumps(provider.public_key).encode(), **fields)) == ""
    assert sign_in(host, provider.id_token(sub=team, key=ec.generate_private_key(ec.SECP256R1()))) == ""


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another application"},
        {"aud": [CLIENT_ID, "another application"], "azp": "another application"},
        {"iss": "https://evil.example"},
        {"exp": time.time() - 3600},
        {"exp": None},
        {"iat": time.time() - 3600},
        {"iat": None},
        {"nonce": hash_nonce("of another login")},
        {"groups": ["nobody"]},
        {"groups": None},
    ],
    ids=" ".join,
)
def test_an_id_token_with_a_wrong_claim_signs_nobody_in(
    hub: HubDatabase, provider: Provider, team: str, claims: dict[str, Any]
) -> None:
    host = make_host(hub, provider, team)

    assert sign_in(host, provider.id_token(sub=team, **claims)) == ""
    assert sign_in(host, provider.id_token(sub=team)) == team


def test_an_id_token_without_a_nonce_is_good_once(hub: HubDatabase, provider: Provider, team: str) -> None:
    host, id_token = make_host(hub, provider, team), provider.id_token(sub=team, nonce=None)

    assert [sign_in(host, id_token, "") for _ in range(2)] == [team, ""]


def test_only_verified_addresses_of_the_right_domain_sign_in(hub: HubDatabase, provider: Provider, team: str) -> None:
    host = make_host(hub, provider, team, domains=("acme.example",))

    def sign_in_as(email: str | None, is_verified: object) -> str:
        return sign_in(host, provider.id_token(sub=team, email=email, email_verified=is_verified))

    assert sign_in_as(f"{team}@acme.example", True) == f"{team}@acme.example"
    assert sign_in_as(f"{team}@acme.example", False) == ""
    assert sign_in_as(f"{team}@acme.example", "true") == ""
    assert sign_in_as(f"{team}@evil-acme.example", True) == ""
    assert sign_in_as(f"{team}@acme.example.evil.example", True) == ""
    assert sign_in_as(None, True) == ""


def test_a_required_claim_keeps_other_accounts_out(hub: HubDatabase, provider: Provider, team: str) -> None:
    host = make_host(hub, provider, team, required_claims={"hd": "acme.example"})

    assert sign_in(host, provider.id_token(sub=team, hd="acme.example")) == team
    assert sign_in(host, provider.id_token(sub=team, hd="evil.example")) == ""
    assert sign_in(host, provider.id_token(sub=team)) == ""


def test_a_group_of_everybody_needs_a_limit() -> None:
    rules = (Issuer.parse_rule("*=team:reader"),)

    with pytest.raises(InvalidInput, match="--oidc-domain"):
        Issuer(url="https://id.example", rules=rules)
    assert Issuer(url="https://id.example", rules=rules, domains=("acme.example",))


def test_a_rule_names_group_team_and_role() -> None:
    rule = Issuer.parse_rule("CN=Payments: all,DC=acme=payments:reviewer")

    assert (rule.group, rule.team, rule.role) == ("CN=Payments: all,DC=acme", "payments", Role.REVIEWER)
    for text in ("payers", "payers=payments", "=payments:writer", "payers=payments:emperor"):
        with pytest.raises(InvalidInput):
            Issuer.parse_rule(text)


def test_a_key_that_the_provider_changed_is_looked_up_again(hub: HubDatabase, provider: Provider, team: str) -> None:
    host = make_host(hub, provider, team)
    assert sign_in(host, provider.id_token(sub=team)) == team
    old_token = provider.id_token(sub=team)
    # Unknown keys are looked up at most every 30 seconds; the test does not wait.
    assert host._issuer is not None
    host._issuer._keys.cooldown_duration = 0

    provider.change_key("k2")

    assert sign_in(host, provider.id_token(sub=team)) == team
    assert sign_in(host, old_token) == ""


def test_a_provider_cannot_speak_for_another_one(hub: HubDatabase, provider: Provider, team: str) -> None:
    url = provider.url
    host = make_host(hub, provider, team)
    provider.url = "https://id.example"

    with pytest.raises(Unavailable, match="is about https"):
        host.describe_provider()
    provider.url = url
    assert host.describe_provider()


def test_a_removed_person_is_out_with_every_kind_of_token(hub: HubDatabase, provider: Provider, team: str) -> None:
    host = make_host(hub, provider, team)
    token = provider.token(sub=team, groups=["all"])
    assert sign_in(host, provider.id_token(sub=team)) == team
    visit = host.begin_visit(token, "127.0.0.1")
    host.admit_visit(visit, "127.0.0.1", "test")

    host.remove_everywhere(team)

    with pytest.raises(AccessRevoked):
        host.admit(token, "127.0.0.1", "test")
    with pytest.raises(Unauthenticated):
        host.admit_visit(visit, "127.0.0.1", "test")


def test_a_restored_database_removes_a_person_again(hub: HubDatabase, provider: Provider, team: str) -> None:
    host = make_host(hub, provider, team)
    assert sign_in(host, provider.id_token(sub=team)) == team
    host.remove_everywhere(team)
    with host.open_mind(host.find_owner(team)) as mind:
        events = [entry.event for entry in mind.admin.list_acts() if entry.event]
        # As in a backup from before the removal.
        mind._store.db.execute("DELETE FROM removed_people")
        mind._store.db.execute("SELECT set_removal(id, '') FROM find_person(?)", team)
    assert sign_in(host, provider.id_token(sub=team, iat=time.time() - 5)) == team

    with hub.open_team(host.find_owner(team).team) as store:
        access.repeat_removals(store.db, reversed(events))

    assert sign_in(host, provider.id_token(sub=team, iat=time.time() - 6)) == ""


def test_a_browser_that_the_provider_vouched_for_is_known_as_long_as_its_token_was_good(
    hub: HubDatabase, provider: Provider, team: str
) -> None:
    now = [datetime.now(UTC)]
    host = make_host(hub, provider, team, rules=(Issuer.parse_rule(f"all={team}:reviewer"),))
    host._clock = lambda: now[0]
    secret = host.begin_visit(provider.token(sub=team, groups=["all"]), "127.0.0.1")

    member = host.admit_visit(secret, "127.0.0.1", "test").member
    now[0] += timedelta(seconds=61)

    assert (member.person, member.role) == (team, Role.REVIEWER)
    with pytest.raises(Unauthenticated):
        host.admit_visit(secret, "127.0.0.1", "test")
