"""``hivemind hub``: run a team's hub; ``hub_admin`` has the commands that administer its teams."""

import os
import signal
import socket
import ssl
import sys
from typing import Any

import click

from hivemind.cli.arguments import combine
from hivemind.cli.commands import hub_admin
from hivemind.cli.commands.hub_admin import database_option, import_extra, require_database
from hivemind.cli.framework import CommandGroup
from hivemind.cli.output import emit, emit_rows, note, print_text, warn
from hivemind.errors import InvalidInput, Unavailable
from hivemind.model.codec import to_plain

LOOPBACK = ("127.0.0.1", "localhost", "::1")
ALL_INTERFACES = ("0.0.0.0", "::")


class ListItem(click.types.StringParamType):
    """A value of an option that may be repeated."""

    # Between values in the environment; not a space, because names of groups have spaces in them.
    envvar_list_splitter = ";"


hub_options = combine(
    click.option("--backup-days", default=30, show_default=True, type=click.IntRange(0, 36_500),
                 help="Days that you keep backups and write-ahead log; receipts of erasures say so."),
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
provider_options = combine(
    click.option("--issuer", default="", envvar="HIVEMIND_HUB_ISSUER", metavar="URL",
                 help="The OpenID Connect provider at which members sign in."),
    click.option("--audience", default="", envvar="HIVEMIND_HUB_AUDIENCE",
                 help="The audience of its access tokens; by default the public URL."),
    click.option("--oidc-client-id", "client_id", default="", envvar="HIVEMIND_HUB_OIDC_CLIENT_ID",
                 help="The provider's id of our public client."),
    click.option("--oidc-client-secret", "client_secret", default="", envvar="HIVEMIND_HUB_OIDC_CLIENT_SECRET",
                 help="Its secret, if the provider demands one; every device gets it."),
    click.option("--oidc-scopes", "scopes", default="openid email profile offline_access", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_SCOPES", help="The scopes to ask for."),
    click.option("--oidc-parameter", "parameters", multiple=True, metavar="NAME=VALUE", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_PARAMETERS",
                 help="Add this to the authorization request; may be repeated."),
    click.option("--oidc-redirect-port", "redirect_port", default=0, show_default=True, type=click.IntRange(0, 65_535),
                 envvar="HIVEMIND_HUB_OIDC_REDIRECT_PORT",
                 help="The port of the callback on devices, if the provider insists on one; 0: any."),
    click.option("--oidc-subject-claim", "subject_claim", default="sub", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_SUBJECT_CLAIM",
                 help="The claim that identifies a person; it must never change."),
    click.option("--oidc-name-claim", "name_claim", default="email", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_NAME_CLAIM",
                 help="The claim that names a person to the team."),
    click.option("--oidc-groups-claim", "groups_claim", default="groups", show_default=True,
                 envvar="HIVEMIND_HUB_OIDC_GROUPS_CLAIM",
                 help="The claim with the groups of a person."),
    click.option("--oidc-group", "groups", multiple=True, metavar="GROUP=TEAM:ROLE", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_GROUPS",
                 help="Give a group a role in a team; * is everybody who may sign in; may be repeated."),
    click.option("--oidc-domain", "domains", multiple=True, metavar="DOMAIN", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_DOMAINS",
                 help="Let in only people with a verified e-mail address of this domain; may be repeated."),
    click.option("--oidc-require", "required", multiple=True, metavar="CLAIM=VALUE", type=ListItem(),
                 envvar="HIVEMIND_HUB_OIDC_REQUIRE", help="Let in only people with this claim; may be repeated."),
    click.option("--login-minutes", default=60, show_default=True, type=click.IntRange(1, 1_440),
                 envvar="HIVEMIND_HUB_LOGIN_MINUTES",
                 help="Minutes until the hub asks the provider for a person's groups again."),
)  # fmt: skip
receipt_option = click.option(
    "--receipt-days", default=0, envvar="HIVEMIND_HUB_RECEIPT_DAYS", show_default=True, type=click.IntRange(0, 36_500),
    help="Days to keep receipts of recalls; 0 keeps them all.",
)  # fmt: skip
port_option = click.option(
    "--port", default=8787, show_default=True, type=click.IntRange(1, 65_535), help="The port to listen on."
)

commands = click.Group()


@commands.group("hub", cls=CommandGroup)
def command() -> None:
    """Run and administer a team's hub on Postgres.

    \b
    hivemind hub try
    hivemind hub serve --database postgresql://hub@localhost/hub
    hivemind hub token create --name alice --role writer
    """


for admin_command in hub_admin.COMMANDS:
    command.add_command(admin_command)


@command.command("serve")
@database_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@port_option
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
    help="How many requests without a valid token an address may make.",
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
    _require_free_port(host, port)
    authority = f"[{host}]" if ":" in host else host
    url = (public_url or f"{'https' if tls_cert else 'http'}://{authority}:{port}").rstrip("/")
    access, store, hub, operations = (
        import_extra(f"hivemind.hub.{name}") for name in ("access", "store", "host", "http.operations")
    )
    options = store.HubOptions(
        backup_days=backup_days, replica=replica, connections=connections, pool_seconds=pool_timeout,
        lock_seconds=lock_timeout, statement_seconds=statement_timeout,
    )  # fmt: skip
    limits = access.Limits(per_token=requests_per_minute, wrong_per_address=wrong_requests_per_minute)
    issuer = _make_issuer(url, **provider)
    hub_host = hub.Host.open(require_database(database), options, issuer=issuer, limits=limits)
    if token := hub_host.create_first_team():
        print_text(f"The admin's token, shown only now:\n\n    {token}\n")
    note(f"The hub listens at {url}; requests are logged here as lines of JSON")
    print_text(f"Members join with:\n\n    hivemind team login {url}\n")
    if issuer:
        # The hub serves all the same, because members with tokens need no provider.
        _check_issuer(issuer)
    operations.log_to_stderr()
    _listen(
        hub_host, url, metrics_token, workers=workers, receipt_days=receipt_days, host=host, port=port, proxy=proxy,
        ssl_certfile=tls_cert, ssl_keyfile=tls_key, limit_concurrency=max_connections,
    )  # fmt: skip


@command.command("try")
@port_option
def try_out(port: int) -> None:
    """Start a hub with two members to try it; needs no Postgres, and leaves nothing behind.

    It prints what to paste into two other terminals. Ctrl-C stops it and deletes everything.

    \b
    hivemind hub try
    """
    trial = import_extra("hivemind.hub.trial")
    url = f"http://127.0.0.1:{port}"
    _require_free_port("127.0.0.1", port)
    # As an exception, so that everything is deleted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    note("Starting Postgres and the hub")
    with trial.run_trial() as (folder, host):
        print_text(trial.describe_trial(folder, host, url))
        _listen(host, url, port=port)


def _require_free_port(host: str, port: int) -> None:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise Unavailable(f"cannot listen on port {port} of {host}: {reason}; give another --port or --host") from None


def _listen(
    hub_host: Any, url: str, metrics_token: str = "", *, workers: int = 1, receipt_days: int = 0, proxy: str = "",
    **options: Any,
) -> None:  # fmt: skip
    """Answer requests until the process is told to end; ``options`` are uvicorn's."""
    http, uvicorn, admission, worker = map(
        import_extra, ("hivemind.hub.http", "uvicorn", "hivemind.hub.http.admission", "hivemind.hub.worker")
    )
    try:
        with worker.keep_workers(workers, hub_host.database.address, receipt_days):
            uvicorn.run(
                http.create_application(hub_host, url, metrics_token), log_config=None, access_log=False,
                server_header=False, proxy_headers=bool(proxy), forwarded_allow_ips=proxy,
                http=admission.TimedProtocol, **options,
            )  # fmt: skip
    except ssl.SSLError as error:
        raise InvalidInput(
            f"the certificate or its key cannot be used ({error.reason}); give --tls-cert and --tls-key as PEM files"
        ) from error
    finally:
        hub_host.close()


def _make_issuer(
    public_url: str, *, issuer: str, audience: str, parameters: tuple[str, ...],
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
    issuer_class = import_extra("hivemind.hub.oidc").Issuer
    return issuer_class(
        url=issuer, audience=audience or public_url, parameters=_parse_pairs(parameters, "--oidc-parameter"),
        required_claims=_parse_pairs(required, "--oidc-require"),
        rules=tuple(map(issuer_class.parse_rule, groups)),
        # Addresses are compared in lower case.
        domains=tuple(domain.lower().removeprefix("@") for domain in domains), **options,
    )  # fmt: skip


def _check_issuer(issuer: Any) -> None:
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
    columns = ["team", "passages", "without a vector", "search", "tables"]
    emit_rows(to_plain(teams), columns, rows, if_empty="No team yet; the first 'hivemind hub serve' creates one.")
