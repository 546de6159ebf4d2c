"""``hivemind hub``: run and administer a team's hub; apart, because it imports much when it is used."""

from typing import Any

import click

from hivemind.cli.arguments import combine
from hivemind.cli.commands import hub_admin
from hivemind.cli.commands.hub_admin import (
    admin_options,
    as_admin,
    database_option,
    import_extra,
    import_team_host,
    require_database,
)
from hivemind.cli.commands.hub_provider import check_issuer, make_issuer, provider_options
from hivemind.cli.framework import CommandGroup
from hivemind.cli.output import emit, emit_rows, note, print_text
from hivemind.errors import InvalidInput
from hivemind.model.codec import to_plain
from hivemind.model.team import Role
from hivemind.model.timestamps import format_date, format_minute

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ALL_INTERFACES = ("0.0.0.0", "::")
hub_options = combine(
    click.option("--backup-days", default=30, show_default=True, type=click.IntRange(0, 36_500),
                 help="How long write-ahead log and backups of the database are kept; receipts of erasures say so."),
    click.option("--replica", default="", envvar="HIVEMIND_HUB_REPLICA", metavar="URL",
                 help="A read replica of the database; it answers recalls."),
    click.option("--connections", default=8, show_default=True, type=click.IntRange(1, 1_000),
                 help="Maximum number of connections to each database."),
    click.option("--pool-timeout", default=10, show_default=True, type=click.IntRange(1, 600),
                 help="Seconds that a request waits for a connection."),
    click.option("--lock-timeout", default=30, show_default=True, type=click.IntRange(1, 3_600),
                 help="Seconds that a write waits for another write of its team."),
    click.option("--statement-timeout", default=60, show_default=True, type=click.IntRange(0, 3_600),
                 help="Seconds that a statement may take; 0 for no limit."),
)  # fmt: skip
receipt_option = click.option(
    "--receipt-days", default=0, envvar="HIVEMIND_HUB_RECEIPT_DAYS", show_default=True, type=click.IntRange(0, 36_500),
    help="Days to keep receipts of recalls; 0 keeps them all.",
)  # fmt: skip
days_option = click.option("--days", default=90, show_default=True, help="Days until it expires.")

commands = click.Group()


@commands.group("hub", cls=CommandGroup)
def command() -> None:
    """Run and administer a team's hub on Postgres.

    \b
    hivemind hub serve --database postgresql://hub@localhost/hub
    hivemind hub token create --name alice --role writer
    """


for group in (hub_admin.team, hub_admin.member, hub_admin.device, hub_admin.audit, hub_admin.epoch, hub_admin.compact):
    command.add_command(group)


@command.command("serve")
@database_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8787, show_default=True, help="The port to listen on.")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="Certificate, with its chain.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Its key.")
@click.option("--public-url", default="", metavar="URL", help="How members reach it, if a proxy is in front.")
@click.option("--insecure", is_flag=True, help="Listen beyond this machine without TLS.")
@click.option("--proxy", default="", metavar="ADDRESS", help="The proxy in front; its X-Forwarded headers are trusted.")
@hub_options
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(0, 64),
    help="Processes that make vectors; 0 if 'hivemind hub worker' runs elsewhere.",
)  # fmt: skip
@receipt_option
@provider_options
@click.option(
    "--requests-per-minute", default=600, show_default=True, type=click.IntRange(1),
    envvar="HIVEMIND_HUB_REQUESTS_PER_MINUTE", help="How many requests a token may make.",
)  # fmt: skip
@click.option(
    "--wrong-requests-per-minute", default=30, show_default=True, type=click.IntRange(1),
    envvar="HIVEMIND_HUB_WRONG_REQUESTS_PER_MINUTE",
    help="How many requests without a valid token an address may make; valid tokens there are not affected.",
)  # fmt: skip
@click.option(
    "--max-connections", default=1_000, show_default=True, type=click.IntRange(1),
    envvar="HIVEMIND_HUB_MAX_CONNECTIONS", help="How many connections are open at once; more get 503.",
)  # fmt: skip
@click.option(
    "--metrics-token", default="", envvar="HIVEMIND_HUB_METRICS_TOKEN",
    help="The bearer token for /metrics; without it, only this machine may read them.",
)  # fmt: skip
def serve(
    database: str, host: str, port: int, tls_cert: str, tls_key: str, public_url: str, insecure: bool, proxy: str,
    backup_days: int, replica: str, connections: int, pool_timeout: int, lock_timeout: int, statement_timeout: int,
    workers: int, receipt_days: int, requests_per_minute: int, wrong_requests_per_minute: int, max_connections: int,
    metrics_token: str, **provider: Any,
) -> None:  # fmt: skip
    """Start a hub; its database is migrated first.

    The first start prints the token of an admin, once.

    \b
    hivemind hub serve --database postgresql://hub@localhost/hub
    hivemind hub serve --host 0.0.0.0 --tls-cert hub.pem --tls-key hub.key --public-url https://hub.example
    """
    if host not in LOOPBACK and not tls_cert and not insecure:
        raise InvalidInput(
            f"{host} can be reached from other machines, and without TLS tokens and memories could be read on the way;"
            " give --tls-cert and --tls-key, or --insecure if a proxy in front of it has TLS"
        )
    if host in ALL_INTERFACES and not public_url:
        raise InvalidInput("the hub answers to one name only; give the one that members use: --public-url https://…")
    authority = f"[{host}]" if ":" in host else host
    url = (public_url or f"{'https' if tls_cert else 'http'}://{authority}:{port}").rstrip("/")
    team_host, http, uvicorn = import_team_host(), import_extra("hivemind.hub.http"), import_extra("uvicorn")
    operations, admission = (import_extra(f"hivemind.hub.http.{name}") for name in ("operations", "admission"))
    options = team_host.HubOptions(
        backup_days=backup_days, replica=replica, connections=connections, pool_seconds=pool_timeout,
        lock_seconds=lock_timeout, statement_seconds=statement_timeout,
    )  # fmt: skip
    limits = team_host.Limits(per_token=requests_per_minute, wrong_per_address=wrong_requests_per_minute)
    issuer = make_issuer(team_host, url, **provider)
    hub_host = team_host.Host.open(require_database(database), options, issuer=issuer, limits=limits)
    if token := hub_host.first_token():
        print_text(f"The admin's token, shown only now:\n\n    {token}\n")
    processes = import_extra("hivemind.hub.worker").WorkerProcesses(workers, database, receipt_days)
    note(f"The hub listens at {url}; requests are logged here as lines of JSON")
    print_text(f"Members join with:\n\n    hivemind team login {url}\n")
    if issuer:
        # The hub serves all the same, because members with tokens need no provider.
        check_issuer(issuer)
    operations.log_to_stderr()
    try:
        uvicorn.run(
            http.application(hub_host, url, metrics_token), host=host, port=port, ssl_certfile=tls_cert,
            ssl_keyfile=tls_key, log_config=None, access_log=False, server_header=False, proxy_headers=bool(proxy),
            forwarded_allow_ips=proxy, http=admission.TimedProtocol, limit_concurrency=max_connections,
        )  # fmt: skip
    finally:
        processes.close()
        hub_host.close()


@command.command("worker")
@database_option
@receipt_option
def worker(database: str, receipt_days: int) -> None:
    """Make vectors and rebuild tables in the background; start as many as are needed.

    'hivemind hub serve' runs one by itself, unless it is started with --workers 0.

    \b
    hivemind hub worker --database postgresql://hub@localhost/hub
    """
    run_worker = import_extra("hivemind.hub.worker").run_worker
    note("The worker waits for passages without a vector")
    run_worker(require_database(database), receipt_days, note)


@command.command("migrate")
@database_option
def migrate(database: str) -> None:
    """Bring the database up to date while the hub goes on answering.

    Run it before or after the hubs are upgraded; both versions can serve meanwhile.

    \b
    hivemind hub migrate --database postgresql://hub@localhost/hub
    """
    migrate_hub = import_extra("hivemind.hub.worker").migrate_hub
    report = migrate_hub(require_database(database), note)
    emit(
        to_plain(report),
        f"The database is up to date. Migrations: {len(report.migrations)}. Teams rebuilt: {len(report.rebuilt)}."
        f" Passages that wait for vectors of another model: {report.queued}.",
    )


@command.command("status")
@database_option
def status(database: str) -> None:
    """Show each team of the hub and what waits for a worker.

    \b
    hivemind hub status --database postgresql://hub@localhost/hub
    """
    teams = import_extra("hivemind.hub.worker").list_teams(require_database(database))
    rows = [
        [team.name, f"{team.passages:,}", f"{team.waiting:,}", "graph" if team.has_graph else "one by one",
         "wait for a rebuild" if team.is_outdated else "up to date"]
        for team in teams
    ]  # fmt: skip
    emit_rows(to_plain(teams), ["team", "passages", "without a vector", "search", "tables"], rows)


@command.group("token", cls=CommandGroup)
def token_group() -> None:
    """Administer members' tokens, with --database or as a logged-in admin."""


@token_group.command("create")
@click.option("--name", required=True, help="The member's name.")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]), help="What they may do.")
@click.option("--agent", "is_agent", is_flag=True, help="For an agent: it can never approve or erase.")
@days_option
@admin_options
def create_token(name: str, role: str, is_agent: bool, days: int, database: str, team: str) -> None:
    """Create a token; it is shown only now.

    \b
    hivemind hub token create --name alice --role writer
    hivemind hub token create --name ci-agent --role writer --agent --days 30
    """
    fields = {"name": name, "role": Role(role), "is_agent": is_agent, "days": days}
    answer = as_admin(
        database, team, lambda mind: {"token": mind.admin.tokens.issue(**fields)}, "POST /v1/tokens", fields
    )
    emit(answer, f"The token of {name}, shown only now:\n\n    {answer['token']}\n")


@token_group.command("list")
@admin_options
def list_tokens(database: str, team: str) -> None:
    """List the team's tokens, newest first.

    \b
    hivemind hub token list
    """
    tokens = as_admin(database, team, lambda mind: mind.admin.tokens.list(), "GET /v1/tokens")
    rows = [
        [t["id"], t["name"], t["role"] + (" (agent)" if t["is_agent"] else " (signed in)" if t["is_login"] else ""),
         format_date(t["expires_at"]),
         format_minute(t["last_used_at"]) if t["last_used_at"] else "never", "revoked" if t["revoked_at"] else ""]
        for t in tokens
    ]  # fmt: skip
    emit_rows(tokens, ["id", "name", "role", "expires", "last used", ""], rows)


@token_group.command("revoke")
@click.argument("token", metavar="ID")
@admin_options
def revoke_token(token: str, database: str, team: str) -> None:
    """Revoke a token at once, by its id or its member's name.

    \b
    hivemind hub token revoke alice
    """
    result = as_admin(database, team, lambda mind: mind.admin.tokens.revoke(token), f"DELETE /v1/tokens/{token}")
    emit(result, f"Revoked {result['id']} of {result['name']}.")


@token_group.command("rotate")
@click.argument("token", metavar="ID")
@days_option
@admin_options
def rotate_token(token: str, days: int, database: str, team: str) -> None:
    """Replace a token with a new one and revoke the old one.

    \b
    hivemind hub token rotate alice
    """
    route = f"POST /v1/tokens/{token}/rotate"
    answer = as_admin(
        database, team, lambda mind: {"token": mind.admin.tokens.rotate(token, days)}, route, {"days": days}
    )
    emit(answer, f"The new token, shown only now:\n\n    {answer['token']}\n")
