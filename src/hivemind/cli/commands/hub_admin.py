"""The commands below ``hivemind hub`` that administer a hub and its teams: tokens, limits, members, devices, epochs."""

import importlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import click

from hivemind.cli.arguments import combine, confirm, open_mind, yes_option
from hivemind.cli.framework import CommandGroup
from hivemind.cli.output import emit, emit_rows, print_field
from hivemind.errors import InvalidInput, Unavailable
from hivemind.model.codec import to_plain
from hivemind.model.team import Role
from hivemind.model.timestamps import format_date, format_minute
from hivemind.system import open_private
from hivemind.text.clean import plural

database_option = click.option(
    "--database", envvar="HIVEMIND_HUB_DATABASE", metavar="URL", help="The hub's Postgres, as postgresql://…"
)
PAGE_ACTS = 200
admin_options = combine(
    database_option,
    click.option("--team", default="team", show_default=True, help="Which team, with --database."),
)
days_option = click.option("--days", default=90, show_default=True, help="Days until it expires.")


@click.group("token", cls=CommandGroup)
def token() -> None:
    """Administer members' tokens, with --database or as a logged-in admin."""


@token.command("create")
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
    answer = _act_as_admin(
        database, team, lambda mind: {"token": mind.admin.tokens.issue(**fields)}, "POST /v1/tokens", fields
    )
    emit(answer, f"The token of {name}, shown only now:\n\n    {answer['token']}\n")


@token.command("list")
@admin_options
def list_tokens(database: str, team: str) -> None:
    """List the team's tokens, newest first.

    \b
    hivemind hub token list
    """
    tokens = _act_as_admin(database, team, lambda mind: mind.admin.tokens.list(), "GET /v1/tokens")
    rows = [
        [t["id"], t["name"], t["role"] + (" (agent)" if t["is_agent"] else " (signed in)" if t["is_login"] else ""),
         format_date(t["expires_at"]),
         format_minute(t["last_used_at"]) if t["last_used_at"] else "never", "revoked" if t["revoked_at"] else ""]
        for t in tokens
    ]  # fmt: skip
    emit_rows(tokens, ["id", "name", "role", "expires", "last used", ""], rows)


@token.command("revoke")
@click.argument("token", metavar="ID")
@admin_options
def revoke_token(token: str, database: str, team: str) -> None:
    """Revoke a token at once, by its id or its member's name.

    \b
    hivemind hub token revoke alice
    """
    route = f"DELETE /v1/tokens/{_quote(token)}"
    result = _act_as_admin(database, team, lambda mind: mind.admin.tokens.revoke(token), route)
    emit(result, f"Revoked {result['id']} of {result['name']}.")


@token.command("rotate")
@click.argument("token", metavar="ID")
@days_option
@admin_options
def rotate_token(token: str, days: int, database: str, team: str) -> None:
    """Replace a token with a new one and revoke the old one.

    \b
    hivemind hub token rotate alice
    """
    route = f"POST /v1/tokens/{_quote(token)}/rotate"
    answer = _act_as_admin(
        database, team, lambda mind: {"token": mind.admin.tokens.rotate(token, days)}, route, {"days": days}
    )
    emit(answer, f"The new token, shown only now:\n\n    {answer['token']}\n")


@click.group("team", cls=CommandGroup)
def team() -> None:
    """Create, list, limit, export and delete the teams of a hub."""


@team.command("create")
@click.argument("name")
@database_option
def create_team(name: str, database: str) -> None:
    """Create a team; prints the token of its admin, once.

    \b
    hivemind hub team create payments --database postgresql://hub@localhost/hub
    """
    token = _use_host(database, lambda host: host.create_team(name))
    emit({"team": name, "token": token}, f"The admin's token, shown only now:\n\n    {token}\n")


@team.command("list")
@database_option
def list_teams(database: str) -> None:
    """List the teams of a hub.

    \b
    hivemind hub team list --database postgresql://hub@localhost/hub
    """
    names = _use_host(database, lambda host: host.list_teams())
    emit_rows(names, ["team"], [[name] for name in names], if_empty="No team yet: hivemind hub team create NAME")


@team.command("show")
@admin_options
def show_team(database: str, team: str) -> None:
    """Show the limits of a team.

    \b
    hivemind hub team show
    """
    _show_limits(_act_as_admin(database, team, lambda mind: mind.admin.read_limits(), "GET /v1/team"))


@team.command("set")
@click.option("--rename", metavar="NAME", help="A new name; only with --database.")
@click.option("--lease-days", type=click.IntRange(1), help="How long a device may use its copy without a sync.")
@click.option("--max-devices", type=click.IntRange(1), help="How many devices a member may have.")
@click.option("--max-entries", type=click.IntRange(0), help="How many entries the team's log may have; 0 for no limit.")
@click.option("--refusal-days", type=click.IntRange(1), help="How long refused requests are kept.")
@click.option(
    "--review-edits/--no-review-edits", default=None, help="A reviewer must agree to edits of others' memories."
)
@admin_options
def set_limits(rename: str, database: str, team: str, **limits: int | None) -> None:
    """Change the limits of a team; those not given stay.

    \b
    hivemind hub team set --lease-days 14 --max-devices 5
    hivemind hub team set --review-edits
    """
    changes: dict[str, int | str] = {name: value for name, value in limits.items() if value is not None}
    if rename and not database:
        raise InvalidInput("only whoever runs the hub can rename a team; give its --database")
    if rename:
        changes["name"] = rename
    if not changes:
        raise InvalidInput("nothing to change; give a limit, such as --lease-days 14")
    _show_limits(
        _act_as_admin(database, team, lambda mind: mind.admin.change_limits(**changes), "PATCH /v1/team", changes)
    )


@team.command("export")
@click.option("--output", required=True, type=click.Path(dir_okay=False, writable=True), help="The file to write.")
@click.option("--team", required=True, help="Which team.")
@database_option
def export_team(output: str, team: str, database: str) -> None:
    """Write all memories of a team to a file.

    \b
    hivemind hub team export --team payments --output payments.jsonl --database postgresql://hub@localhost/hub
    """

    def write(mind: Any) -> int:
        count = 0
        with open(output, "w", encoding="utf-8", opener=open_private) as file:
            for count, line in enumerate(mind.admin.export(), start=1):  # noqa: B007
                file.write(line + "\n")
        return count

    count = _use_team(require_database(database), team, write)
    emit({"team": team, "memories": count, "file": output}, f"Wrote {plural(count, 'memory')} to {output}.")


@team.command("delete")
@click.argument("name")
@database_option
@yes_option
def delete_team(name: str, database: str, yes: bool) -> None:
    """Delete a team with its memories, log, members and tokens.

    Devices keep their copies until their leases end. Backups of the database keep the team as long as they are kept.

    \b
    hivemind hub team delete payments --database postgresql://hub@localhost/hub
    """
    require_database(database)
    confirm(f"Delete the team {name} and all its memories from this hub, for good?", yes=yes)
    _use_host(database, lambda host: host.delete_team(name))
    emit({"deleted": name}, f"Deleted the team {name}.")


everywhere_option = click.option("--everywhere", is_flag=True, help="In all teams of the hub; needs --database.")


@click.group("member", cls=CommandGroup)
def member() -> None:
    """Administer members; 'hivemind hub token create' adds one."""


@member.command("remove")
@click.argument("name")
@everywhere_option
@admin_options
def remove_member(name: str, everywhere: bool, database: str, team: str) -> None:
    """Revoke every token of a member and remove all their devices, at once.

    They cannot sign in again either, whatever the identity provider says. NAME is their name or the provider's subject.

    \b
    hivemind hub member remove alice
    hivemind hub member remove alice@example.com --everywhere --database postgresql://hub@localhost/hub
    """
    if everywhere:
        removals = to_plain(_use_host(database, lambda host: host.remove_everywhere(name)))
        whole = {
            part: [ended for removal in removals.values() for ended in removal[part]] for part in ("tokens", "devices")
        }
        _show_removal({**whole, "teams": list(removals)}, f"{name} from {plural(len(removals), 'team')}")
        return
    route = f"DELETE /v1/members/{_quote(name)}"
    _show_removal(_act_as_admin(database, team, lambda mind: mind.admin.remove_member(name), route), name)


@member.command("return")
@click.argument("name")
@everywhere_option
@admin_options
def return_member(name: str, everywhere: bool, database: str, team: str) -> None:
    """Let a person who was removed sign in again.

    The identity provider must still let them in.

    \b
    hivemind hub member return alice@example.com
    hivemind hub member return alice@example.com --everywhere --database postgresql://hub@localhost/hub
    """
    if everywhere:
        person = _use_host(database, lambda host: host.return_everywhere(name))
    else:
        route = f"POST /v1/members/{_quote(name)}/return"
        person = _act_as_admin(database, team, lambda mind: {"name": mind.admin.return_member(name)}, route)["name"]
    emit({"name": person}, f"{person} may sign in again.")


@click.group("device", cls=CommandGroup)
def device() -> None:
    """Administer the devices that sync with the team."""


@device.command("list")
@admin_options
def list_devices(database: str, team: str) -> None:
    """List the team's devices and when each last synced.

    \b
    hivemind hub device list
    """
    devices = _act_as_admin(database, team, lambda mind: mind.list_devices(), "GET /v1/devices")
    rows = [
        [d["id"][:8], d["person"], format_minute(d["last_seen_at"]), f"{d['behind']:,}", f"{d['erasures']:,}"]
        for d in devices
    ]
    columns = ["device", "person", "last seen", "entries unread", "erasures not confirmed"]
    emit_rows(devices, columns, rows, if_empty="No device has synced yet.")


@device.command("remove")
@click.argument("device", metavar="ID")
@admin_options
def remove_device(device: str, database: str, team: str) -> None:
    """End the access of a lost device at once, and revoke the token on it.

    Erasures no longer wait for it. At its next contact the device deletes its copy of the team's memories.

    \b
    hivemind hub device remove 3f9a2c1e
    """
    route = f"DELETE /v1/devices/{_quote(device)}"
    _show_removal(_act_as_admin(database, team, lambda mind: mind.admin.remove_device(device), route), device)


@click.command("audit")
@click.option(
    "--output", type=click.Path(dir_okay=False, writable=True), help="Write all of it to a file, as JSON lines."
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="How many acts to show.")
@admin_options
def audit(output: str | None, limit: int, database: str, team: str) -> None:
    """Show what admins did to a team, newest first; it is part of the log, so that changes to it are detected.

    \b
    hivemind hub audit
    hivemind hub audit --output administration.jsonl
    """
    acts = _read_acts(database, team, 0 if output else limit)
    if output:
        with open(output, "w", encoding="utf-8", opener=open_private) as file:
            file.writelines(json.dumps(act, ensure_ascii=False) + "\n" for act in acts)
        emit({"acts": len(acts), "file": output}, f"Wrote {plural(len(acts), 'act')} to {output}.")
        return
    rows = [[format_minute(act["at"]), act["actor"], act["action"], act["subject"], act["detail"]] for act in acts]
    emit_rows(acts, ["when", "who", "what", "of", "detail"], rows, if_empty="Nothing yet.")


def _read_acts(database: str, team: str, limit: int) -> list[dict[str, Any]]:
    """Return acts of administration, newest first; all of them without a limit."""
    acts: list[dict[str, Any]] = []
    before = 0
    while page := _read_acts_before(database, team, before):
        acts += [
            {"position": entry["position"], "at": entry["at"], "actor": entry["actor"], **entry["event"]["fact"]}
            for entry in page
        ]
        before = page[-1]["position"]
        if limit and len(acts) >= limit:
            return acts[:limit]
    return acts


def _read_acts_before(database: str, team: str, before: int) -> Any:
    route = f"GET /v1/administration?before={before}&limit={PAGE_ACTS}"
    return _act_as_admin(database, team, lambda mind: mind.admin.list_acts(before=before, limit=PAGE_ACTS), route)


@click.group("epoch", cls=CommandGroup)
def epoch() -> None:
    """Show the restores of the database, or tell the hub of one."""


@epoch.command("list")
@admin_options
def list_epochs(database: str, team: str) -> None:
    """List the epochs of a team's log; each but the first began with a restore or failover of the database.

    \b
    hivemind hub epoch list
    """
    epochs = _act_as_admin(database, team, lambda mind: mind.admin.list_epochs(), "GET /v1/epochs")
    rows = [[format_minute(e["began_at"]), e["why"], f"{e['returned']:,}"] for e in epochs]
    emit_rows(epochs, ["began", "why", "entries that devices sent back"], rows)


@epoch.command("begin")
@database_option
def begin_epoch(database: str) -> None:
    """Tell all devices that the database was restored.

    Each device sends back what the database lost, and reads the whole log again. Restores with pg_restore, PITR and
    promoted replicas are noticed without this.

    \b
    hivemind hub epoch begin --database postgresql://hub@localhost/hub
    """
    count = _use_host(database, lambda host: host.begin_epochs())
    emit({"teams": count}, f"A new epoch began for {plural(count, 'team')}.")


@click.command("compact")
@database_option
@yes_option
def compact(database: str, yes: bool) -> None:
    """Rewrite the tables, so that no trace of erased content is left.

    Each table is locked while it is rewritten and needs its own size in free space. Write-ahead log and backups keep
    what they have. pg_repack does the same without the lock.

    \b
    hivemind hub compact --database postgresql://hub@localhost/hub
    """
    require_database(database)
    confirm("Requests have to wait while tables are rewritten. Continue?", yes=yes)
    _use_host(database, lambda host: host.database.compact())
    emit({"compacted": True}, "Rewrote the tables.")


def _show_limits(limits: dict[str, Any]) -> None:
    def show() -> None:
        print_field("team", limits["name"])
        print_field("lease", plural(limits["lease_days"], "day"))
        print_field("devices", f"{limits['max_devices']:,} for each member")
        print_field("entries", f"at most {limits['max_entries']:,}" if limits["max_entries"] else "no limit")
        print_field("refusals", f"kept for {plural(limits['refusal_days'], 'day')}")
        print_field("edits", "of others' memories wait for a reviewer" if limits["review_edits"] else "by every writer")

    emit(limits, show)


def _show_removal(removal: dict[str, Any], what: str) -> None:
    devices, tokens = plural(len(removal["devices"]), "device"), plural(len(removal["tokens"]), "token")
    emit(removal, f"Removed {what}: {devices} removed, {tokens} revoked.")


def _act_as_admin(database: str, team: str, do: Callable[[Any], Any], route: str, body: Any = None) -> Any:
    """Do something in the database where its address is given, else by HTTP as who is logged in; return it as JSON."""
    if database:
        return to_plain(_use_team(database, team, do))
    with open_mind() as mind:
        hub = mind.team.hub
    if hub is None:
        raise InvalidInput("no hub; give its --database, or join it as an admin: hivemind team login URL")
    method, path = route.split(" ", 1)
    return hub.request(method, path, body)


def _quote(name: str) -> str:
    return quote(name, safe="")


def _use_team(database: str, team: str, do: Callable[[Any], Any]) -> Any:
    """Do something with a team's memory by the hub's database."""

    def open_team(host: Any) -> Any:
        with host.open_mind(host.find_owner(team)) as mind:
            return do(mind)

    return _use_host(database, open_team)


def _use_host(database: str, do: Callable[[Any], Any]) -> Any:
    """Do something on a hub by its database."""
    host = import_extra("hivemind.hub.host").Host.open(require_database(database))
    try:
        return do(host)
    finally:
        host.close()


COMMANDS: tuple[click.Command, ...] = (token, team, member, device, audit, epoch, compact)


def require_database(database: str) -> str:
    """Return the database's address; raise an error if it is missing."""
    if not database:
        raise InvalidInput("the hub's database is missing; give --database postgresql://…")
    return database


def import_extra(module: str) -> Any:
    """Import a module that needs the packages of the extra ``hub``."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hivemind"):
            raise
        raise Unavailable(
            f"a hub needs more packages ({error.name} is missing); install them: pip install 'hivemind-memory[hub]'"
        ) from None
