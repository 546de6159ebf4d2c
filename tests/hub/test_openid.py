"""Members may come with a token of the team's own identity provider, which here is a real one of our own."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from hivemind.app.team_host import Host
from hivemind.errors import HivemindError, Unauthenticated
from hivemind.hub.oidc import Issuer
from hivemind.hub.store import Hub
from hivemind.model.team import Role
from hivemind.settings import Settings

AUDIENCE = "https://hub.example"


class Provider:
    """Signs tokens, and says by which key."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        public = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.key.public_key()))
        provider = self

        class Pages(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                pages = {
                    "/.well-known/openid-configuration": {"issuer": provider.url, "jwks_uri": f"{provider.url}/keys"},
                    "/keys": {"keys": [public | {"kid": "k1", "use": "sig", "alg": "ES256"}]},
                }
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(pages[self.path]).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever).start()

    def token(self, key: Any = None, **claims: Any) -> str:
        told = {"iss": self.url, "aud": AUDIENCE, "sub": "u1", "exp": time.time() + 60, "email": "dora@acme.example"}
        return jwt.encode(told | claims, key or self.key, "ES256", headers={"kid": "k1"})


@pytest.fixture
def provider() -> Iterator[Provider]:
    started = Provider()
    yield started
    started.server.shutdown()
    started.server.server_close()


def test_only_a_token_that_the_provider_made_for_this_hub_lets_in(hub: Hub, provider: Provider) -> None:
    host = Host(hub, Settings.load(), Issuer(url=provider.url, audience=AUDIENCE))
    host.found_team("openid")
    good = {"hivemind_team": "openid", "hivemind_role": "writer"}

    def person(token: str) -> str:
        try:
            return host.admit(token, "127.0.0.1", "test").member.person
        except HivemindError:
            return ""

    assert person(provider.token(**good)) == "dora@acme.example"
    assert person(provider.token(key=ec.generate_private_key(ec.SECP256R1()), **good)) == ""
    assert person(provider.token(**good, aud="https://other.example")) == ""
    assert person(provider.token(**good, iss="https://evil.example")) == ""
    assert person(provider.token(**good, exp=time.time() - 1)) == ""
    assert person(provider.token(**good | {"hivemind_team": "another"})) == ""
    assert person(provider.token(**good | {"hivemind_role": "emperor"})) == ""
    assert person(jwt.encode({"sub": "u1"}, "x" * 32, "HS256")) == ""


def test_a_browser_that_the_provider_vouched_for_is_known_as_long_as_its_token_was_good(
    hub: Hub, provider: Provider
) -> None:
    now = [datetime.now(UTC)]
    host = Host(hub, Settings.load(), Issuer(url=provider.url, audience=AUDIENCE), clock=lambda: now[0])
    host.found_team("openid browsers")
    shown = host.begin_visit(provider.token(hivemind_team="openid browsers", hivemind_role="reviewer"), "127.0.0.1")

    known = host.admit_visit(shown, "127.0.0.1", "test").member
    now[0] += timedelta(seconds=61)

    assert (known.person, known.role) == ("dora@acme.example", Role.REVIEWER)
    with pytest.raises(Unauthenticated):
        host.admit_visit(shown, "127.0.0.1", "test")
