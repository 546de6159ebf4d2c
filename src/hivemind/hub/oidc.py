"""Members who come with a token of the team's own identity provider instead of one of ours."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import jwt

from hivemind.errors import InvalidInput, Unavailable
from hivemind.model.moments import written
from hivemind.model.team import Admitted, Member, Role

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Asymmetric ones: a hub that could forge what it checks would check nothing."""
PATIENCE_SECONDS = 5
TEAM, ROLE, AGENT = "hivemind_team", "hivemind_role", "hivemind_agent"
"""Claims that the provider is configured to put in."""


@dataclass(frozen=True, kw_only=True)
class Issuer:
    """The one identity provider that a hub believes."""

    url: str
    audience: str
    """What the provider calls this hub; a token made for another service is none for us."""

    def admitted(self, token: str, team_of: Callable[[str], str | None]) -> Admitted | None:
        """Whom a bearer token names; nobody if it is forged, expired, for another service or of no team here."""
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(
                token, key.key, ALGORITHMS, audience=self.audience, issuer=self.url,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )  # fmt: skip
            role = Role.parse(str(claims.get(ROLE, Role.READER)))
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable(f"the identity provider at {self.url} does not answer") from error
        except (jwt.PyJWTError, InvalidInput):
            return None
        team = team_of(str(claims.get(TEAM, "")))
        person = str(claims.get("email") or claims.get("preferred_username") or claims["sub"])
        member = Member(person=person, role=role, is_agent=bool(claims.get(AGENT)))
        until = written(datetime.fromtimestamp(claims["exp"], UTC))
        return Admitted(team=team, member=member, token=person, until=until) if team else None

    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._configuration["jwks_uri"], timeout=PATIENCE_SECONDS)

    @property
    def _configuration(self) -> dict[str, Any]:
        where = self.url.rstrip("/") + "/.well-known/openid-configuration"
        try:
            with urllib.request.urlopen(where, timeout=PATIENCE_SECONDS) as answer:
                told: dict[str, Any] = json.load(answer)
        except (urllib.error.URLError, ValueError) as error:
            raise Unavailable(f"the identity provider at {where} does not answer: {error}") from error
        return told
