"""Sign in members with tokens of the team's own identity provider (OpenID Connect)."""

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
from hivemind.formats.timestamps import format_timestamp
from hivemind.model.team import AdmittedMember, Role, TeamMember

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Only asymmetric ones: with a shared secret, the hub could forge tokens."""
TIMEOUT_SECONDS = 5
TEAM_CLAIM, ROLE_CLAIM, AGENT_CLAIM = "hivemind_team", "hivemind_role", "hivemind_agent"
"""Claims that the provider must be configured to add."""


@dataclass(frozen=True, kw_only=True)
class Issuer:
    """The identity provider that a hub trusts."""

    url: str
    audience: str
    """The provider's name for this hub; tokens for other services are rejected."""

    def authenticate(self, token: str, team_of: Callable[[str], str | None]) -> AdmittedMember | None:
        """Return the member of a bearer token, or None if it is invalid, expired, for another service or team."""
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(
                token, key.key, ALGORITHMS, audience=self.audience, issuer=self.url,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )  # fmt: skip
            role = Role.parse(str(claims.get(ROLE_CLAIM, Role.READER)))
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable(f"the identity provider at {self.url} does not answer") from error
        except (jwt.PyJWTError, InvalidInput):
            return None
        team = team_of(str(claims.get(TEAM_CLAIM, "")))
        person = str(claims.get("email") or claims.get("preferred_username") or claims["sub"])
        member = TeamMember(person=person, role=role, is_agent=bool(claims.get(AGENT_CLAIM)))
        until = format_timestamp(datetime.fromtimestamp(claims["exp"], UTC))
        return AdmittedMember(team=team, member=member, token=person, until=until) if team else None

    # Kept between requests, because it caches the provider's keys.
    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._configuration["jwks_uri"], timeout=TIMEOUT_SECONDS)

    @property
    def _configuration(self) -> dict[str, Any]:
        url = self.url.rstrip("/") + "/.well-known/openid-configuration"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
                configuration: dict[str, Any] = json.load(answer)
        except (urllib.error.URLError, ValueError) as error:
            raise Unavailable(f"the identity provider at {url} does not answer: {error}") from error
        return configuration
