"""The hub's side of OpenID Connect: verify tokens of the team's own identity provider and read who they are about."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jwt

from hivemind.errors import InvalidInput, Unauthenticated, Unavailable
from hivemind.model.team import Identity, ProviderOptions, Role, hash_nonce
from hivemind.text.clean import validate_label

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
"""Only asymmetric ones: with a shared secret, the hub could forge tokens."""
TIMEOUT_SECONDS = 5
CLOCK_SKEW_SECONDS = 60
MAX_PROOF_SECONDS = 600
"""An ID token for a login must be this new, however long the provider calls it valid."""
TEAM_CLAIM, ROLE_CLAIM, AGENT_CLAIM = "hivemind_team", "hivemind_role", "hivemind_agent"
"""Claims that the provider may be configured to add instead of groups."""
EVERYONE = "*"
"""In place of a group: everybody whom the other rules let in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRule:
    """The role that a group of the identity provider has in a team."""

    group: str
    team: str
    role: Role


@dataclass(frozen=True, kw_only=True)
class Issuer:
    """The identity provider that a hub trusts, and whom it lets in."""

    url: str
    audience: str = ""
    """The provider's name for this hub in access tokens; tokens for other services are rejected."""
    client_id: str = ""
    """The provider's name for the command line; empty if people do not sign in there."""
    client_secret: str = ""
    scopes: str = "openid email profile offline_access"
    parameters: Mapping[str, str] = field(default_factory=dict)
    redirect_port: int = 0
    subject_claim: str = "sub"
    name_claim: str = "email"
    groups_claim: str = "groups"
    rules: tuple[GroupRule, ...] = ()
    domains: tuple[str, ...] = ()
    """If there are any, the verified e-mail address must be in one of them."""
    required_claims: Mapping[str, str] = field(default_factory=dict)
    login_minutes: int = 60
    """How long a login is valid before the provider is asked again."""

    def __post_init__(self) -> None:
        is_open = any(rule.group == EVERYONE for rule in self.rules)
        if is_open and not (self.domains or self.required_claims):
            raise InvalidInput(
                f"the group {EVERYONE} would let in everybody who has an account at {self.url};"
                " limit it with --oidc-domain or --oidc-require"
            )

    @staticmethod
    def parse_rule(text: str) -> GroupRule:
        """Parse ``GROUP=TEAM:ROLE``; the last ``=`` and ``:`` count, because groups may be paths or URLs."""
        group, _, rest = text.rpartition("=")
        team, _, role = rest.rpartition(":")
        if not group or not team:
            raise InvalidInput(f"{text!r} is not a rule for a group; write it like engineers=payments:writer")
        return GroupRule(group=group.strip(), team=team.strip(), role=Role.parse(role))

    def describe(self) -> ProviderOptions:
        """Return what a device needs to sign a person in."""
        configuration = self._configuration
        return ProviderOptions(
            issuer=str(configuration["issuer"]), client_id=self.client_id, client_secret=self.client_secret,
            scopes=self.scopes, parameters=dict(self.parameters), redirect_port=self.redirect_port,
            authorization_endpoint=str(configuration.get("authorization_endpoint", "")),
            token_endpoint=str(configuration.get("token_endpoint", "")),
            device_authorization_endpoint=str(configuration.get("device_authorization_endpoint", "")),
        )  # fmt: skip

    def verify_access_token(self, token: str) -> Identity:
        """Return whose access token it is; raise Unauthenticated if it is not valid here."""
        return self._identify(self._verify(token, self.audience))

    def verify_id_token(self, token: str, nonce_secret: str, now: float) -> Identity:
        """Return who has just signed in; raise Unauthenticated if the ID token proves nothing."""
        claims = self._verify(token, self.client_id)
        # With several audiences, the authorized party is the client that asked for the token.
        if claims.get("azp", self.client_id) != self.client_id:
            raise Unauthenticated("this ID token was made for another application")
        if float(claims["iat"]) < now - MAX_PROOF_SECONDS:
            raise Unauthenticated("this ID token is too old; sign in again")
        # Tokens of the device code flow and renewed ones may have none.
        if "nonce" in claims and claims["nonce"] != hash_nonce(nonce_secret):
            raise Unauthenticated("this ID token belongs to another login; sign in again")
        return self._identify(claims)

    def _verify(self, token: str, audience: str) -> dict[str, Any]:
        try:
            # By the key's id in the header; what else the header says, such as where to get a key, is not believed.
            key = self._keys.get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token, key.key, ALGORITHMS, audience=audience, issuer=self._configuration["issuer"],
                leeway=CLOCK_SKEW_SECONDS, options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )  # fmt: skip
        except jwt.PyJWKClientConnectionError as error:
            raise Unavailable(f"the identity provider at {self.url} does not answer; try again later") from error
        except jwt.PyJWTError as error:
            raise Unauthenticated(f"the identity provider's token is not valid: {error}; sign in again") from None
        return claims

    def _identify(self, claims: Mapping[str, Any]) -> Identity:
        subject = claims.get(self.subject_claim)
        if not isinstance(subject, str) or not subject:
            raise Unauthenticated(
                f"the identity provider's token has no {self.subject_claim}; ask whoever runs the hub"
            )
        # Anybody may have typed an address that is not verified.
        email = str(claims.get("email") or "").lower() if claims.get("email_verified") is True else ""
        if self.domains and email.rpartition("@")[2] not in self.domains:
            raise Unauthenticated(f"only verified e-mail addresses of {', '.join(self.domains)} may sign in")
        for claim, value in self.required_claims.items():
            if str(claims.get(claim)) != value:
                raise Unauthenticated(f"only accounts with {claim}={value} may sign in; use another account")
        name = email if self.name_claim == "email" else str(claims.get(self.name_claim) or "")
        return Identity(
            issuer=str(claims["iss"]), subject=subject, name=validate_label(name or subject, "the name"),
            has_verified_name=bool(email) and self.name_claim == "email", roles=self._read_roles(claims),
            expires_at=int(claims["exp"]), is_agent=claims.get(AGENT_CLAIM) is True,
        )  # fmt: skip

    def _read_roles(self, claims: Mapping[str, Any]) -> dict[str, Role]:
        """Return the highest role that the groups give in each team."""
        # Some providers send a single group as a text.
        groups = claims.get(self.groups_claim, [])
        names = {EVERYONE, *(map(str, groups) if isinstance(groups, list) else [str(groups)])}
        grants = [(rule.team, rule.role) for rule in self.rules if rule.group in names]
        if team := claims.get(TEAM_CLAIM):
            try:
                grants.append((str(team), Role.parse(str(claims.get(ROLE_CLAIM, Role.READER)))))
            except InvalidInput as error:
                raise Unauthenticated(f"the identity provider's token has a wrong role: {error}") from None
        # Roles are listed from the least to the most rights.
        return dict(sorted(grants, key=lambda grant: list(Role).index(grant[1])))

    # Kept between requests, because it caches the provider's keys; a key that it does not know is looked up again.
    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        return jwt.PyJWKClient(self._configuration["jwks_uri"], timeout=TIMEOUT_SECONDS)

    @cached_property
    def _configuration(self) -> dict[str, Any]:
        url = self.url.rstrip("/") + "/.well-known/openid-configuration"
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
                configuration: dict[str, Any] = json.load(answer)
        except (OSError, ValueError) as error:
            raise Unavailable(f"the identity provider at {url} does not answer: {error}; try again later") from error
        # Otherwise another provider could speak for this one.
        if str(configuration.get("issuer")).rstrip("/") != self.url.rstrip("/"):
            raise Unavailable(f"{url} is about {configuration.get('issuer')}; give that as --issuer if it is yours")
        return configuration
