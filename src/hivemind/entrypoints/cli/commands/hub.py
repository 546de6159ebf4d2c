"""``hivemind hub``."""

import importlib
from collections.abc import Callable
from typing import Any

import click

from hivemind.entrypoints.cli.arguments import open_mind, options
from hivemind.entrypoints.cli.framework import Family
from hivemind.entrypoints.cli.output import note, say, tell, tell_rows, warn
from hivemind.errors import InvalidInput, Unavailable
from hivemind.formats.codec import to_plain
from hivemind.formats.timestamps import format_date, format_minute
from hivemind.model.team import Role

LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")
database_option = click.option(
    "--database", envvar="HIVEMIND_HUB_DATABASE", metavar="URL", help="The hub's Postgres, as postgresql://…"
)
admin_options = options(
    database_option,
    click.option("--team", default="team", show_default=True, help="Which team, when asked by --database."),
)
days_option = click.option("--days", default=90, show_default=True, help="How long it is good for.")

chapter = click.Group()


@chapter.group("hub", cls=Family)
def command() -> None:
    """Run and administer a team's hub on Postgres.

    \b
    hivemind hub serve --database postgresql://hub@localhost/hub
    hivemind hub token create --name alice --role writer
    """


@command.command("serve")
@database_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8787, show_default=True, help="The port to listen on.")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="Certificate, with its chain.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Its key.")
@click.option("--public-url", default="", metavar="URL", help="How members reach it, if something stands in front.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine without TLS.")
@click.option("--proxy", default="", metavar="ADDRESS", help="What stands in front; it is believed who asks.")
@click.option(
    "--backup-days", default=30, show_default=True, type=click.IntRange(0, 36_500),
    help="How long write-ahead log and backups of the database are kept; receipts of erasures say so.",
)  # fmt: skip
@click.option("--issuer", default="", metavar="URL", help="An OpenID Connect provider whose tokens are believed too.")
@click.option("--audience", default="", help="What that provider calls this hub; by default its public URL.")
def serve(
    database: str, host: str, port: int, tls_cert: str, tls_key: str, public_url: str, insecure: bool, proxy: str,
    backup_days: int, issuer: str, audience: str,
) -> None:  # fmt: skip
    """Start a hub; its database is migrated first.

    Started for the first time it prints the token of an admin, once.

    \b
    hivemind hub serve --database postgresql://hub@localhost/hub
    hivemind hub serve --host 0.0.0.0 --tls-cert hub.pem --tls-key hub.key --public-url https://hub.example
    """
    if host not in LOOPBACK and not tls_cert and not insecure:
        raise InvalidInput(
            f"{host} is beyond this machine, and without TLS anybody on the way could read tokens and memories;"
            " give --tls-cert and --tls-key, or --insecure if something in front of it has TLS"
        )
    if host in EVERYWHERE and not public_url:
        raise InvalidInput("say how members reach it, for it answers to that name alone: --public-url https://…")
    shown = f"[{host}]" if ":" in host else host
    url = (public_url or f"{'https' if tls_cert else 'http'}://{shown}:{port}").rstrip("/")
    hosting, http, uvicorn = _hosting(), _imported("hivemind.entrypoints.http"), _imported("uvicorn")
    serving = hosting.Host.open(_given(database), issuer=issuer, audience=audience or url, backup_days=backup_days)
    if token := serving.first_token():
        say(f"The admin's token, shown only now:\n\n    {token}\n")
    note(f"The hub answers at {url}")
    uvicorn.run(
        http.application(serving, url), host=host, port=port, ssl_certfile=tls_cert, ssl_keyfile=tls_key,
        log_level="warning", server_header=False, proxy_headers=bool(proxy), forwarded_allow_ips=proxy,
    )  # fmt: skip
    serving.close()


@command.group("team", cls=Family)
def team() -> None:
    """Administer the teams of a hub."""


@team.command("create")
@click.argument("name")
@database_option
def create_team(name: str, database: str) -> None:
    """Create a team; prints the token of its admin, once.

    \b
    hivemind hub team create payments --database postgresql://hub@localhost/hub
    """
    made = _hosting().Host.open(_given(database)).found_team(name)
    tell({"team": name, "token": made}, f"The admin's token, shown only now:\n\n    {made}\n")


@command.group("token", cls=Family)
def token() -> None:
    """Administer members' tokens, with --database or as a logged-in admin."""


@token.command("create")
@click.option("--name", required=True, help="Scope.")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]), help="What they may do.")
@click.option("--agent", "is_agent", is_flag=True, help="For an agent: it can never approve or erase.")
@days_option
@admin_options
def create(name: str, role: str, is_agent: bool, days: int, database: str, team: str) -> None:
    """Create a token; it is shown only now.

    \b
    hivemind hub token create --name alice --role writer
    hivemind hub token create --name ci-agent --role writer --agent --days 30
    """
    asked = {"name": name, "role": Role(role), "is_agent": is_agent, "days": days}
    there, by_http = (
        lambda mind: mind.tokens.issue(**asked),
        lambda hub: hub.request("POST", "/v1/tokens", asked)["token"],
    )
    made = _as_admin(database, team, there, by_http)
    tell({"token": made}, f"The token of {name}, shown only now:\n\n    {made}\n")


@token.command("list")
@admin_options
def list_(database: str, team: str) -> None:
    """List the team's tokens, newest first.

    \b
    hivemind hub token list
    """
    found = to_plain(
        _as_admin(database, team, lambda mind: mind.tokens.list(), lambda hub: hub.request("GET", "/v1/tokens"))
    )
    rows = [
        [one["id"], one["name"], one["role"] + (" (agent)" if one["is_agent"] else ""), format_date(one["expires_at"]),
         format_minute(one["last_used_at"]) if one["last_used_at"] else "never", "revoked" if one["revoked_at"] else ""]
        for one in found
    ]  # fmt: skip
    tell_rows(found, ["id", "name", "role", "expires", "last used", ""], rows)


@token.command("revoke")
@click.argument("token", metavar="ID")
@admin_options
def revoke(token: str, database: str, team: str) -> None:
    """Revoke a token at once, by its id or its member's name.

    \b
    hivemind hub token revoke alice
    """
    there, by_http = lambda mind: mind.tokens.revoke(token), lambda hub: hub.request("DELETE", f"/v1/tokens/{token}")
    gone = to_plain(_as_admin(database, team, there, by_http))
    tell(gone, f"Revoked {gone['id']} of {gone['name']}.")


@token.command("rotate")
@click.argument("token", metavar="ID")
@days_option
@admin_options
def rotate(token: str, days: int, database: str, team: str) -> None:
    """Replace a token with a new one and revoke the old one.

    \b
    hivemind hub token rotate alice
    """
    made = _as_admin(
        database, team,
        lambda mind: mind.tokens.rotate(token, days),
        lambda hub: hub.request("POST", f"/v1/tokens/{token}/rotate", {"days": days})["token"],
    )  # fmt: skip
    tell({"token": made}, f"The new token, shown only now:\n\n    {made}\n")


def _as_admin(database: str, team: str, there: Callable[[Any], Any], by_http: Callable[[Any], Any]) -> Any:
    """By the database's own address where it is given, else over HTTP as whoever is logged in here."""
    if database:
        host = _hosting().Host.open(database)
        try:
            with host.mind(host.owner_of(team)) as mind:
                return there(mind)
        finally:
            host.close()
    with open_mind() as mind:
        hub = mind.team.hub
    if hub is None:
        raise InvalidInput("give the hub's --database, or log in to it as an admin")
    return by_http(hub)


def _given(database: str) -> str:
    if not database:
        raise InvalidInput("say where the hub keeps its memories: --database postgresql://…")
    return database


def _hosting() -> Any:
    return _imported("hivemind.app.team_host")


def _imported(module: str) -> Any:
    """What only a hub needs, which an installation may lack."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hivemind"):
            raise
        warn(f"{error.name} is missing")
        raise Unavailable("a hub needs more packages; install them with: pip install 'hivemind-memory[hub]'") from None
