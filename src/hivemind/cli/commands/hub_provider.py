"""The options of ``hivemind hub serve`` about the identity provider at which members sign in."""

from typing import Any

import click

from hivemind.cli.arguments import combine
from hivemind.cli.output import warn
from hivemind.errors import InvalidInput, Unavailable


class ListItem(click.types.StringParamType):
    """A value of an option that may be repeated."""

    # Between values in the environment; not a space, because names of groups have spaces in them.
    envvar_list_splitter = ";"


provider_options = combine(
    click.option("--issuer", default="", envvar="HIVEMIND_HUB_ISSUER", metavar="URL",
                 help="The OpenID Connect provider at which members sign in."),
    click.option("--audience", default="", envvar="HIVEMIND_HUB_AUDIENCE",
                 help="The audience of its access tokens, which cloud agents use; by default the public URL."),
    click.option("--oidc-client-id", "client_id", default="", envvar="HIVEMIND_HUB_OIDC_CLIENT_ID",
                 help="The provider's id of the public client by which 'hivemind team login' signs people in."),
    click.option("--oidc-client-secret", "client_secret", default="", envvar="HIVEMIND_HUB_OIDC_CLIENT_SECRET",
                 help="Its secret, if the provider demands one of public clients; every device gets it."),
    click.option("--oidc-scopes", "scopes", default="openid email profile offline_access", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_SCOPES", help="The scopes to ask for."),
    click.option("--oidc-parameter", "parameters", multiple=True, metavar="NAME=VALUE", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_PARAMETERS",
                 help="Add this to the authorization request, such as prompt=consent; may be repeated."),
    click.option("--oidc-redirect-port", "redirect_port", default=0, show_default=True, type=click.IntRange(0, 65_535),
                 envvar="HIVEMIND_HUB_OIDC_REDIRECT_PORT",
                 help="The port of http://127.0.0.1:PORT/callback on devices, if the provider insists on one; 0: any."),
    click.option("--oidc-subject-claim", "subject_claim", default="sub", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_SUBJECT_CLAIM",
                 help="The claim that identifies a person; it must never change or pass to somebody else."),
    click.option("--oidc-name-claim", "name_claim", default="email", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_NAME_CLAIM",
                 help="The claim that names a person to the team; an e-mail address only if it is verified."),
    click.option("--oidc-groups-claim", "groups_claim", default="groups", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_GROUPS_CLAIM",
                 help="The claim with the groups of a person."),
    click.option("--oidc-group", "groups", multiple=True, metavar="GROUP=TEAM:ROLE", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_GROUPS",
                 help="Give a group a role in a team; * is everybody whom the rules below let in; may be repeated."),
    click.option("--oidc-domain", "domains", multiple=True, metavar="DOMAIN", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_DOMAINS",
                 help="Let in only people with a verified e-mail address of this domain; may be repeated."),
    click.option("--oidc-require", "required", multiple=True, metavar="CLAIM=VALUE", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_REQUIRE", help="Let in only people with this claim; may be repeated."),
    click.option("--login-minutes", default=60, show_default=True, type=click.IntRange(1, 1_440),
                 envvar="HIVEMIND_HUB_LOGIN_MINUTES",
                 help="Minutes until the provider is asked again whether a person is still in their groups."),
)  # fmt: skip


def make_issuer(
    team_host: Any, public_url: str, *, issuer: str, audience: str, parameters: tuple[str, ...],
    required: tuple[str, ...], groups: tuple[str, ...], domains: tuple[str, ...], **options: Any,
) -> Any:  # fmt: skip
    """Return the identity provider that the options describe; None if they name none."""
    if not issuer:
        # Otherwise a misspelled variable would start a hub where nobody can sign in.
        if groups or options["client_id"]:
            raise InvalidInput("the identity provider is missing; give its --issuer https://…")
        return None
    if options["client_id"] and not groups:
        raise InvalidInput(
            "nobody could sign in, because no group has a role; give --oidc-group, such as engineers=team:writer"
        )
    return team_host.Issuer(
        url=issuer, audience=audience or public_url, parameters=_parse_pairs(parameters, "--oidc-parameter"),
        required_claims=_parse_pairs(required, "--oidc-require"),
        rules=tuple(map(team_host.Issuer.parse_rule, groups)),
        # Addresses are compared in lower case.
        domains=tuple(domain.lower().removeprefix("@") for domain in domains), **options,
    )  # fmt: skip


def check_issuer(issuer: Any) -> None:
    """Warn if the identity provider does not answer, so that whoever starts the hub sees a wrong URL at once."""
    try:
        issuer.describe()
    except Unavailable as error:
        warn(f"nobody can sign in for now: {error}")


def _parse_pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    pairs = dict(text.strip().split("=", 1) for text in texts if "=" in text)
    if len(pairs) != len(texts):
        raise InvalidInput(f"{option} takes NAME=VALUE, each name once")
    return pairs
