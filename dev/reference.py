"""Writes docs/reference/ from the code, so that the two cannot disagree.

python dev/reference.py           write
python dev/reference.py --check   fail if what is written is not what would be written
"""

import dataclasses
import inspect
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from fastapi import FastAPI

from hivemind.agents import callers
from hivemind.agents.agent import get_agent
from hivemind.cli import hivemind
from hivemind.cli.framework import EXIT_CODES, OTHER_CODES
from hivemind.hub.http.routes import ERRORS, router
from hivemind.mcp.tools import TOOLS
from hivemind.model.events import FACTS
from hivemind.settings import FILE_ONLY, Settings, read_meanings
from hivemind.sql import VECTOR_FUNCTIONS
from hivemind.store.sql_reader import VIEWS, Reader
from hivemind.store.store import Store

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- Made by dev/reference.py from the code; change the code, then run it. -->\n"


def commands() -> str:
    """Every command with its help, in the order of the alphabet."""
    context = click.Context(hivemind, info_name="hivemind", terminal_width=80, **hivemind.context_settings)
    codes = "All commands with their options. What their exit codes mean: [exit codes](exit-codes.md).\n"
    return "\n".join(["# Commands\n", MADE, codes, *_command(hivemind, context)])


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    with context.scope():
        text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    yield f"## {context.command_path}\n\n```text\n{text}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _command(below, click.Context(below, info_name=name, parent=context))


def exit_codes() -> str:
    """What a script can tell from how a command ended."""
    meanings = OTHER_CODES | {code: kind.__doc__ for kind, code in EXIT_CODES.items()}
    rows = [f"| {code} | {meaning} |" for code, meaning in sorted(meanings.items())]
    return "\n".join(["# Exit codes\n", MADE, "| code | meaning |", "|---|---|", *rows, ""])


def tools() -> str:
    """What the server offers to a model."""
    parts = ["# Tools for agents\n", MADE, "Served by `hivemind mcp`, over the Model Context Protocol.\n"]
    for tool in TOOLS:
        schema = tool["inputSchema"]
        rows = [
            f"| `{name}` | {_kind(shape)} | {'yes' if name in schema.get('required', ()) else ''}"
            f" | {shape.get('description', '')} |"
            for name, shape in schema["properties"].items()
        ]
        table = ["| argument | type | required | meaning |", "|---|---|---|---|", *rows]
        parts.append("\n".join([f"## {tool['name']}\n", f"{tool['description']}\n", *table, ""]))
    return "\n".join(parts)


def _kind(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return ", ".join(map(str, shape["enum"]))
    return f"list of {_kind(shape['items'])}" if shape.get("type") == "array" else str(shape.get("type", "any"))


def http() -> str:
    """What a hub answers over HTTP, told by its own description."""
    told = routes_description()
    head = (
        "Every request shows a token as `Authorization: Bearer …`, answers are JSON, and what goes wrong is"
        ' `{"error": "…"}`. A running hub describes itself at `/v1/openapi.json`.\n'
    )
    codes = [f"| {code} | {what['description']} |" for code, what in sorted(ERRORS.items(), key=str)]
    parts = ["# HTTP\n", MADE, head, "\n".join(["| code | meaning |", "|---|---|", *codes, ""])]
    for path, methods in told["paths"].items():
        for method, route in methods.items():
            rows = [*_parameters(route), *_body(route, told["components"]["schemas"])]
            table = ["| argument | in | type | required |", "|---|---|---|---|", *rows, ""] if rows else []
            parts.append("\n".join([f"## {method.upper()} {path}\n", f"{route['description']}\n", *table]))
    return "\n".join(parts)


def routes_description() -> dict[str, Any]:
    """The OpenAPI description of the routes alone; no database is needed for it."""
    app = FastAPI()
    app.include_router(router)
    return app.openapi()


def _parameters(route: dict[str, Any]) -> Iterator[str]:
    for one in route.get("parameters", ()):
        yield f"| `{one['name']}` | {one['in']} | {_shape(one['schema'])} | {'yes' if one['required'] else ''} |"


def _body(route: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    if "requestBody" not in route:
        return
    reference = route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema = schemas[reference.rsplit("/", 1)[-1]]
    for name, shape in schema["properties"].items():
        yield f"| `{name}` | body | {_shape(shape)} | {'yes' if name in schema.get('required', ()) else ''} |"


def _shape(schema: dict[str, Any]) -> str:
    """A type as a person says it; named ones by their name."""
    if "anyOf" in schema:
        return " or ".join(_shape(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "$ref" in schema:
        return f"a {schema['$ref'].rsplit('/', 1)[-1].lower()}"
    return _kind(schema) if "items" not in schema else f"list of {_shape(schema['items'])}"


def views() -> str:
    """What SQL can read."""
    parts = ["# Views for SQL\n", MADE, "Read with `hivemind sql` or `hivemind.connect()`; nothing can be written.\n"]
    with tempfile.TemporaryDirectory() as directory:
        Store.open(Path(directory)).close()
        with Reader.open(Path(directory), VECTOR_FUNCTIONS) as reader:
            for name in VIEWS:
                columns = reader.execute(f"SELECT * FROM {name}").columns  # noqa: S608 - our own names
                parts.append(f"## {name}\n\n" + ", ".join(f"`{column}`" for column in columns) + "\n")
    return "\n".join(parts)


def settings() -> str:
    """Every knob."""
    meanings = read_meanings()
    rows = [
        f"| `{field.name}` | {_default(field)} | {_variable(field.name)} | {meanings[field.name]} |"
        for field in dataclasses.fields(Settings)
    ]
    head = [
        "# Settings\n",
        MADE,
        "The environment counts before the file, the file (`hivemind config path`) before the default; a repository can"
        " only turn memory off. `hivemind config` lists and changes them.\n",
        "| name | default | environment | meaning |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows, ""])


def _variable(name: str) -> str:
    return "file only" if name in FILE_ONLY else f"`HIVEMIND_{name.upper()}`"


def _default(field: dataclasses.Field[Any]) -> str:
    return "" if field.default is dataclasses.MISSING else str(field.default)


def events() -> str:
    """Every fact the log can hold."""
    parts = ["# Events\n", MADE]
    for name, shape in FACTS.items():
        fields = ", ".join(f"`{field.name}`" for field in dataclasses.fields(shape))
        parts.append(f"## {name}\n\n{inspect.getdoc(shape)}\n\n{fields}\n")
    return "\n".join(parts)


def actions() -> str:
    """At which actions each agent can be told something, and where that was seen in the real client."""
    file = Path(__file__).parents[1] / "lab" / "evals" / "results" / "clients.json"
    seen = json.loads(file.read_text())["figures"] if file.exists() else {}
    parts = [
        "# What each agent is told at its actions\n",
        MADE,
        "`yes` means that the agent's hooks accept it, `seen` or `not seen` whether `python -m lab.evals.clients"
        " --save` saw it reach the model in the version named. [How to use it](../how-to/actions.md).\n",
        "| agent | before an edit | before a command | after a failure | subagents | seen in |",
        "|---|---|---|---|---|---|",
    ]
    for name in callers.NAMES:
        agent = get_agent(name)
        kinds, checks = set(agent.answers.values()), seen.get(name, {})
        late = "after it was read or edited" if "after" in kinds else "no"
        cells = [
            _action("yes" if "before" in kinds else late, checks.get("edits")),
            "yes" if "before" in kinds else "no",
            _action("yes" if "after" in kinds else "no", checks.get("failures")),
            _action("yes" if "subagent" in kinds else "no", checks.get("subagents")),
            checks.get("package", ""),
        ]
        parts.append(f"| {agent.title} | {' | '.join(cells)} |")
    return "\n".join([*parts, ""])


def _action(ability: str, was_seen: bool | None) -> str:
    # Absent where the client was not run, or has no such hook.
    return ability if was_seen is None else f"{ability}, {'seen' if was_seen else 'not seen'}"


def main() -> None:
    """Write the pages, or check them."""
    pages = {
        "commands.md": commands(),
        "exit-codes.md": exit_codes(),
        "tools.md": tools(),
        "http.md": http(),
        "views.md": views(),
        "settings.md": settings(),
        "events.md": events(),
        "actions.md": actions(),
    }
    stale = [
        name
        for name, text in pages.items()
        if not (REFERENCE / name).exists() or (REFERENCE / name).read_text() != text
    ]
    if "--check" in sys.argv:
        sys.exit(f"run 'python dev/reference.py': {', '.join(stale)} not up to date" if stale else 0)
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (REFERENCE / name).write_text(pages[name])


if __name__ == "__main__":
    main()
