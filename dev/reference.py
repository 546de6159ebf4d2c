"""Writes docs/reference/ and a table of docs/how-to/actions.md from the code, so that they cannot disagree.

python dev/reference.py           write
python dev/reference.py --check   fail if what is written is not what would be written
"""

import ast
import dataclasses
import inspect
import json
import re
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from fastapi import FastAPI

import hivemind as hivemind_package
from hivemind.agents import callers
from hivemind.agents.agent import get_agent
from hivemind.async_hivemind import AsyncHivemind
from hivemind.cli import hivemind
from hivemind.cli.framework import EXIT_CODES, OTHER_CODES
from hivemind.hivemind import Hivemind, Mind
from hivemind.hub.http.routes import ERRORS, router
from hivemind.mcp.tools import TOOLS
from hivemind.model.events import FACTS
from hivemind.model.memory import Memory
from hivemind.model.recall import Hit, Recall
from hivemind.settings import FILE_ONLY, Settings, read_meanings
from hivemind.sql import VECTOR_FUNCTIONS, connect, embed
from hivemind.store.sql_reader import VIEWS, Reader
from hivemind.store.store import Store

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
ACTIONS = REFERENCE.parent / "how-to" / "actions.md"
"""A page of which only the last part is made."""
MADE = "<!-- Made by dev/reference.py from the code; change the code, then run it. -->\n"

MANY = 5
"""Commands with an option that make it common."""
OWN_ARGUMENTS = ("settings", "writer", "clock", "is_hurried")
"""Arguments that only our own programs use."""


def commands() -> str:
    """Every command with its help, in the order of the alphabet."""
    context = click.Context(hivemind, info_name="hivemind", terminal_width=80, **hivemind.context_settings)
    common = _list_common_options(context)
    # The list of commands is what follows on the page.
    root = hivemind.get_help(context).partition("\n\nMemories:\n")[0].partition("\n\n")[2]
    head = (
        "`hivemind --help` groups the commands, `hivemind COMMAND --help` shows one. All have `--json`, `--quiet` and"
        " `--help`, and the same [exit codes](exit-codes.md). Options that many commands have are explained here and"
        " only named below:\n"
    )
    rows = [f"| `{names}` | {meaning} |" for names, meaning in sorted(common.items())]
    table = "\n".join(["| option | meaning |", "|---|---|", *rows, ""])
    below = (part for name in hivemind.list_commands(context) for part in _command(name, hivemind, context, common))
    return "\n".join(["# Commands\n", MADE, head, table, "## hivemind\n", _indent(root), *below])


def _list_common_options(context: click.Context) -> dict[str, str]:
    """Return the options that are the same in many commands."""
    counts = Counter(record for command in _list_below(hivemind, context) for record in _list_options(command))
    return {names: meaning for (names, meaning), count in counts.items() if count >= MANY}


def _list_below(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        yield command
        if isinstance(command, click.Group):
            yield from _list_below(command, click.Context(command, info_name=name, parent=context))


def _list_options(command: click.Command) -> Iterator[tuple[str, str]]:
    context = click.Context(command)
    for option in command.params:
        if isinstance(option, click.Option) and option.name not in ("json", "quiet"):
            record = option.get_help_record(context)
            if record:
                yield record[0].replace(" INTEGER RANGE", " N"), record[1]


def _command(name: str, group: click.Group, parent: click.Context, common: Mapping[str, str]) -> Iterator[str]:
    command = group.get_command(parent, name)
    assert command
    context = click.Context(command, info_name=name, parent=parent)
    formatter = context.make_formatter()
    options = list(_list_options(command))
    command.format_help_text(context, formatter)
    if own := [(names, meaning) for names, meaning in options if common.get(names) != meaning]:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl(own)
    text = _drop_plain_example(formatter.getvalue(), context.command_path)
    if shared := ", ".join(names.partition(" ")[0] for names, meaning in options if common.get(names) == meaning):
        text += f"\n  Also {shared}\n"
    pieces = command.collect_usage_pieces(context)
    # The commands of a group follow on the page.
    arguments = [piece for piece in pieces if not re.search("OPTIONS|COMMAND|ARGS", piece)]
    yield f"## {' '.join([context.command_path, *arguments])}\n\n{_indent(text)}"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _command(below, command, context, common)


def _drop_plain_example(text: str, path: str) -> str:
    """Return a help text without an example that says no more than the heading."""
    examples = re.findall(rf"^  {path}\b.*$", text, re.MULTILINE)
    plain = rf"  {path}(?: [\w@./-]+)?(?: --database \S+)?"
    return text.replace(f"\n{examples[0]}\n", "") if len(examples) == 1 and re.fullmatch(plain, examples[0]) else text


def _indent(text: str) -> str:
    lines = (line.rstrip() for line in text.strip("\n").splitlines())
    return textwrap.indent("\n".join(lines), "    ") + "\n"


def exit_codes() -> str:
    """What a script can tell from how a command ended."""
    meanings = OTHER_CODES | {code: kind.__doc__ for kind, code in EXIT_CODES.items()}
    rows = [f"| {code} | {meaning} |" for code, meaning in sorted(meanings.items())]
    return "\n".join(["# Exit codes\n", MADE, "| code | meaning |", "|---|---|", *rows, ""])


def tools() -> str:
    """What the server offers to a model."""
    head = "`hivemind mcp` serves them over the Model Context Protocol. Arguments in bold are required.\n"
    parts = ["# Tools for agents\n", MADE, head]
    for tool in TOOLS:
        schema = tool["inputSchema"]
        rows = [
            f"* {_argument(name, shape, required=name in schema.get('required', ()))}"
            f"{': ' * ('description' in shape)}{shape.get('description', '')}"
            for name, shape in schema["properties"].items()
        ]
        parts.append("\n".join([f"## {tool['name']}\n", f"{tool['description']}\n", *rows, ""]))
    return "\n".join(parts)


def _kind(shape: dict[str, Any]) -> str:
    if "enum" in shape:
        return ", ".join(map(str, shape["enum"]))
    return f"list of {_kind(shape['items'])}" if shape.get("type") == "array" else str(shape.get("type", "any"))


def http() -> str:
    """What a hub answers over HTTP, told by its own description."""
    told = routes_description()
    head = (
        'Send a token as `Authorization: Bearer …`. Answers are JSON, errors `{"error": "…"}`. Arguments in bold are'
        " required. A running hub describes itself at `/v1/openapi.json`.\n"
    )
    codes = [f"| {code} | {what['description']} |" for code, what in sorted(ERRORS.items(), key=str)]
    parts = ["# HTTP\n", MADE, head, "\n".join(["| code | meaning |", "|---|---|", *codes, ""])]
    for path, methods in told["paths"].items():
        for method, route in methods.items():
            rows = [*_parameters(route), *_body(route, told["components"]["schemas"])]
            description = route["description"].replace("``", "`")
            parts.append("\n".join([f"## {method.upper()} {path}\n", f"{description}\n", *rows]))
    return "\n".join(parts)


def routes_description() -> dict[str, Any]:
    """The OpenAPI description of the routes alone; no database is needed for it."""
    app = FastAPI()
    app.include_router(router)
    return app.openapi()


def _parameters(route: dict[str, Any]) -> Iterator[str]:
    for place in ("path", "query"):
        arguments = [
            _argument(one["name"], one["schema"], required=one["required"])
            for one in route.get("parameters", ())
            # The address names plain ones.
            if one["in"] == place and (place == "query" or "enum" in one["schema"])
        ]
        if arguments:
            yield f"{place.title()}: {'; '.join(arguments)}\n"


def _body(route: dict[str, Any], schemas: dict[str, Any]) -> Iterator[str]:
    if "requestBody" not in route:
        return
    reference = route["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema = schemas[reference.rsplit("/", 1)[-1]]
    required = schema.get("required", ())
    arguments = [_argument(name, shape, required=name in required) for name, shape in schema["properties"].items()]
    yield f"Body: {'; '.join(arguments)}\n"


def _argument(name: str, shape: dict[str, Any], *, required: bool) -> str:
    return f"**`{name}`** {_shape(shape)}" if required else f"`{name}` {_shape(shape)}"


def _shape(schema: dict[str, Any]) -> str:
    """A type as a person says it; named ones by their name."""
    if "anyOf" in schema:
        return " or ".join(_shape(one) for one in schema["anyOf"] if one.get("type") != "null")
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1].lower()
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
        "The environment overrides the file (`hivemind config path`), the file overrides the default; a repository can"
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
    head = [
        "# Events\n",
        MADE,
        "What `hivemind log --json` shows. `src/hivemind/model/events.py` has the fields of each.\n",
        "| event | meaning |",
        "|---|---|",
    ]
    rows = [f"| `{name}` | {' '.join((inspect.getdoc(shape) or '').split())} |" for name, shape in FACTS.items()]
    return "\n".join([*head, *rows, ""])


def python() -> str:
    """What a program can call, with signatures."""
    example = (hivemind_package.__doc__ or "").split("\n\n``open``")[0].partition("\n\n")[2]
    values = (Recall, Hit, Memory)
    parts = [
        "# Python\n",
        MADE,
        f"```python\n{inspect.cleandoc(example)}\n```\n",
        _describe("hivemind.open", Hivemind.open),
        "`hivemind.AsyncHivemind` takes the same arguments and has the same verbs for asyncio, each awaited.\n",
        "## Verbs\n",
        *(_describe(name, verb) for name, verb in _list_verbs()),
        "## Features\n",
        "| attribute of `Hivemind` | what it does |\n|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in sorted(_list_features())),
        "\n## Values\n",
        *(f"### {kind.__name__}\n\n{inspect.getdoc(kind)}\n\n{_list_fields(kind)}\n" for kind in values),
        "## SQL and vectors\n",
        _describe("hivemind.connect", connect),
        _describe("hivemind.embed", embed),
    ]
    return "\n".join(parts)


def _describe(name: str, verb: Callable[..., Any]) -> str:
    call = textwrap.fill(f"{name}({_list_parameters(verb)})", 100, subsequent_indent="    ", break_on_hyphens=False)
    return f"### {name}\n\n{_indent(call)}\n{inspect.getdoc(verb)}\n"


def _list_verbs() -> list[tuple[str, Callable[..., Any]]]:
    verbs = [name for name in vars(AsyncHivemind) if hasattr(vars(AsyncHivemind)[name], "__wrapped__")]
    return [(name, getattr(Hivemind, name)) for name in verbs]


def _list_parameters(verb: Callable[..., Any]) -> str:
    names: list[str] = []
    for one in inspect.signature(verb).parameters.values():
        if one.name in ("self", *OWN_ARGUMENTS):
            continue
        if one.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in names:
            names.append("*")
        default = f"={str(one.default)!r}" if isinstance(one.default, StrEnum) else f"={one.default!r}"
        names.append(one.name + (default if one.default is not inspect.Parameter.empty else ""))
    return ", ".join(names)


def _list_features() -> Iterator[tuple[str, str]]:
    """Yield the components of Hivemind, and what is written below each."""
    for kind in (Mind, Hivemind):
        tree = ast.parse(inspect.getsource(kind)).body[0]
        assert isinstance(tree, ast.ClassDef)
        for statement, text in pairwise(tree.body):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(text, ast.Expr)
                and "component(" in ast.unparse(statement)
            ):
                yield ast.unparse(statement.target), ast.literal_eval(text.value)
        for name, value in vars(kind).items():
            if isinstance(value, cached_property) and value.__doc__ and not name.startswith("_"):
                yield name, inspect.cleandoc(value.__doc__)


def _list_fields(kind: type) -> str:
    return ", ".join(f"`{field.name}`" for field in dataclasses.fields(kind))


REFUSALS = """
A [guard](guards.md) can refuse a call or ask before it. If the hooks cannot ask, or no person is there, the call is
refused and the agent is told to ask the person. In Cline a refused call ends the run."""


def actions() -> str:
    """At which actions each agent can be told something, and where that was seen in the real client."""
    file = Path(__file__).parents[1] / "lab" / "evals" / "results" / "clients.json"
    seen = json.loads(file.read_text())["figures"] if file.exists() else {}
    parts = [
        MADE,
        "`yes` means that the agent's hooks accept it, `seen` or `not seen` whether `python -m lab.evals.clients"
        " --save` saw it in the version named. A client that was not run was read in its documentation, and in sources"
        " of its vendor where they are public.\n",
        "| agent | before an edit | before a command | after a failure | subagents | refuses a call |"
        " asks before a call | run |",
        "|---|---|---|---|---|---|---|---|",
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
            _action("yes" if "deny" in agent.refusals else "no", checks.get("deny")),
            _action("yes" if "ask" in agent.refusals else "refuses it" if agent.refusals else "no", checks.get("ask")),
            _describe_run(checks, reads_transcripts=bool(agent.transcripts)),
        ]
        parts.append(f"| {agent.title} | {' | '.join(cells)} |")
    return "\n".join([*parts, REFUSALS, ""])


def _describe_run(checks: dict[str, object], *, reads_transcripts: bool) -> str:
    package = checks.get("package")
    if not package:
        return "no: documentation only"
    parts = "server and transcripts" if reads_transcripts else "server"
    return str(package) if checks.get("hooks", True) else f"{package}: {parts}; hooks from documentation only"


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
        "python.md": python(),
    }
    texts = {REFERENCE / name: text for name, text in pages.items()}
    texts[ACTIONS] = ACTIONS.read_text().partition(MADE)[0] + actions()
    stale = [page for page, text in texts.items() if not page.exists() or page.read_text() != text]
    if "--check" in sys.argv:
        names = ", ".join(page.name for page in stale)
        sys.exit(f"run 'python dev/reference.py': {names} not up to date" if stale else 0)
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for page in stale:
        page.write_text(texts[page])


if __name__ == "__main__":
    main()
