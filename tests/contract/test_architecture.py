"""Rules that no import linter can see."""

import ast
import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hivemind
from hivemind.store.projector import OWNERS

ROOT = Path(__file__).parents[2]
SOURCE = Path(hivemind.__file__).parent
SEARCHED = {"words", "word_counts", "session_word_counts", "vectors", "vector_blocks"}
"""Tables that an engine searches, and therefore writes, in its own way."""
SEARCHES = {SOURCE / "store/search.py", SOURCE / "hub/search.py"}
FOREIGN = {"opencode.py"}
"""Reads, and only reads, a database that is not ours."""
COMPONENTS = {
    "agents.install",
    "code.code",
    "erase.erasures",
    "maintenance.maintenance",
    "memory.lifecycle",
    "recall.actions",
    "recall.answer",
    "recall.brief",
    "recall.browse",
    "review.history",
    "review.review",
    "sessions.sessions",
    "sync.devices",
    "sync.team",
    "transfer.files",
}
LIGHT = {
    "hivemind",
    "hivemind.agents",
    "hivemind.agents.callers",
    "hivemind.sessions",
    "hivemind.sessions.brief_marker",
    "hivemind.sessions.redact",
    "hivemind.sessions.secret_rules",
    "hivemind.sessions.spool",
    "hivemind.hook",
    "hivemind.errors",
    "hivemind.paths",
    "hivemind.system",
    "hivemind.text",
    "hivemind.text.cues",
    "hivemind.text.switch",
}


LIGHT_TESTS = ("tests/text", "tests/model", "tests/memory", "tests/embedding", "tests/learning")


def modules_after(statement: str, *options: str) -> set[str]:
    probe = f"import sys; {statement}; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, *options, "-c", probe], capture_output=True, text=True, check=True)
    return set(loaded.stdout.split())


def test_the_hook_loads_nothing_but_the_standard_library_and_what_is_as_light_as_itself() -> None:
    loaded = modules_after("import hivemind.hook")

    ours = {name for name in loaded if name.split(".")[0] == "hivemind"}
    foreign = {name.split(".")[0] for name in loaded - ours} - sys.stdlib_module_names
    assert ours == LIGHT
    assert not {name for name in foreign if not name.startswith(("_", "sitecustomize", "distutils"))}
    assert {"json", "typing", "importlib", "pathlib"}.isdisjoint(loaded - modules_after("pass"))


def test_a_hook_that_asks_a_running_server_loads_nothing_more_than_the_socket() -> None:
    hook = f"sys.path.append({str(SOURCE.parent)!r}); import hivemind.hook"

    before, after = (modules_after(each, "-I", "-S") for each in (hook, f"{hook}; from hivemind import local_socket"))

    assert after - before == {"hivemind.local_socket", "_socket"}
    assert "contextlib" not in before - modules_after("import re", "-I", "-S")


@pytest.mark.parametrize("name", ["hook", "statusline"])
def test_what_agents_run_by_its_path_only_imports_because_python_compiles_it_each_time(name: str) -> None:
    tree = ast.parse((SOURCE / "entrypoints" / f"{name}.py").read_text("utf-8"))

    assert f"hivemind.{name}" in {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def test_asking_for_the_version_loads_neither_the_store_nor_the_looks() -> None:
    loaded = modules_after("import hivemind.cli")

    assert "click" in loaded
    assert {"apsw", "rich", "numpy", "hivemind.hivemind"}.isdisjoint(loaded)


def test_the_status_line_loads_neither_the_command_line_nor_the_store() -> None:
    loaded = modules_after("import hivemind.statusline")

    assert "apsw" in loaded
    assert {name for name in loaded if name.startswith("hivemind.")} == {
        "hivemind.statusline",
        "hivemind.paths",
        "hivemind.store",
        "hivemind.store.statusline_counts",
        "hivemind.store.review_queue",
    }
    assert {"json", "typing", "click"}.isdisjoint(loaded - modules_after("import apsw"))


def test_the_server_for_agents_is_ready_before_the_store_is_loaded() -> None:
    loaded = modules_after("import hivemind.cli.commands.mcp")

    assert "hivemind.mcp.tools" in loaded
    assert {"apsw", "rich", "numpy", "hivemind.hivemind"}.isdisjoint(loaded)


def test_a_component_is_loaded_when_it_is_first_used() -> None:
    loaded = modules_after("import hivemind.hivemind")

    assert "hivemind.context" in loaded
    assert {f"hivemind.{name}" for name in COMPONENTS}.isdisjoint(loaded)
    assert {"hivemind.recall", "hivemind.hub", "hivemind.learning.detectors", "hivemind.code.index"}.isdisjoint(loaded)


def test_remember_loads_neither_the_detectors_nor_the_search_by_meaning() -> None:
    loaded = modules_after(
        "import hivemind; mind = hivemind.open(); mind.browse.possible_conflicts(mind.remember('We use pnpm'))"
    )

    assert "hivemind.memory.comparison" in loaded
    assert {"numpy", "hivemind.review.review", "hivemind.learning.detectors"}.isdisjoint(loaded)


def test_the_state_of_the_store_is_told_without_numpy() -> None:
    loaded = modules_after("import hivemind.maintenance.maintenance, hivemind.maintenance.status")

    assert "hivemind.store.integrity" in loaded
    assert "numpy" not in loaded


def test_hivemind_has_twenty_verbs_and_the_rest_lies_in_components() -> None:
    from hivemind.hivemind import Hivemind

    verbs = {name for name in dir(Hivemind) if not name.startswith("_") and callable(getattr(Hivemind, name))}

    assert "remember" in verbs
    assert len(verbs) <= 20
    assert all((SOURCE / f"{name.replace('.', '/')}.py").exists() for name in COMPONENTS)


def test_the_hub_has_nothing_that_only_a_machine_can_do() -> None:
    from hivemind.hivemind import Hivemind
    from hivemind.hub.host import TeamMind

    assert not issubclass(TeamMind, Hivemind)
    assert [hasattr(Hivemind, name) for name in ("agents", "files", "team")] == [True, True, True]
    assert [hasattr(TeamMind, name) for name in ("agents", "files", "team")] == [False, False, False]


def test_each_table_is_written_by_its_owner_alone() -> None:
    for owner in OWNERS:
        for table in owner.TABLES:
            writes = re.compile(rf"(INSERT( OR \w+)? INTO|UPDATE|DELETE FROM) {table}\b(?! \({table}, rank\))")
            writers = {p for p in SOURCE.rglob("*.py") if writes.search(p.read_text("utf-8"))}
            if table in SEARCHED:
                assert writers <= SEARCHES, f"{table} is written by {writers}"
            else:
                # On a hub, workers share the queue of passages without a vector.
                others = {SOURCE / "hub" / "derived_data.py"} if table == "vectors_wanted" else set()
                assert writers - others == {Path(str(owner.__file__))}, f"{table} is written by {writers}"


def strings_in_code(file: Path) -> list[str]:
    """Every string that is not a docstring."""
    tree = ast.parse(file.read_text("utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in said]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_sql_stands_in_the_store_the_hub_and_in_the_index_of_trees_alone() -> None:
    sql = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP) [a-zA-Z*:(]")
    speakers = {p for p in SOURCE.rglob("*.py") if any(map(sql.match, strings_in_code(p)))}

    assert any("store" in p.parts for p in speakers)
    places = [p.relative_to(SOURCE) for p in speakers]
    elsewhere = {str(p) for p in places if p.parts[0] not in ("store", "hub") and p.name not in FOREIGN}
    assert elsewhere == {
        f"code/{name}.py" for name in ("cache_database", "commit_index", "index", "index_database", "related_files")
    }


def test_every_connection_overwrites_what_it_deletes(tmp_path: Path) -> None:
    from hivemind.store.sqlite import Sqlite

    writing = Sqlite.open(tmp_path / "a.db")
    reading = Sqlite.open_for_reading(tmp_path / "a.db")

    assert writing.value("PRAGMA secure_delete") == reading.value("PRAGMA secure_delete") == 1
    openers = {p for p in SOURCE.rglob("*.py") if "apsw.Connection(" in p.read_text("utf-8")}
    # The index of a tree is a cache of files that lie beside it in the clear, and a status line only reads.
    assert {str(p.relative_to(SOURCE)) for p in openers if p.name not in FOREIGN} == {
        "store/sqlite.py",
        "store/statusline_counts.py",
        "code/cache_database.py",
    }
    writing.close()
    reading.close()


def test_the_layers_hold() -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_tests_of_values_and_text_need_only_the_package_and_pytest() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    tools = {re.split(r"[^\w-]", requirement)[0] for name in ("dev", "hub") for requirement in extras[name]}
    tools -= {"pytest", "hivemind-memory"}
    packages = importlib.metadata.packages_distributions().items()
    blocked = [module for module, distributions in packages if tools & set(distributions)]
    # None in sys.modules makes every import of that name fail.
    program = f"import sys; sys.modules.update(dict.fromkeys({blocked})); import pytest; "
    program += "sys.exit(pytest.main(['--collect-only', '-q', *sys.argv[1:]]))"
    command, environ = [sys.executable, "-c", program], os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    unit = subprocess.run([*command, *LIGHT_TESTS], cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    other = subprocess.run(
        [*command, "tests/viewer"], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )

    assert {"playwright", "psycopg", "hypothesis", "fastapi"} <= set(blocked)
    assert unit.returncode == 0, unit.stdout
    assert other.returncode != 0


def test_every_property_is_searched_with_our_settings() -> None:
    files = {path: path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    properties = {path for path, text in files.items() if "from hypothesis import" in text}

    assert len(properties) > 3
    assert [path for path in properties if "from tests.hypothesis_profile import" not in files[path]] == []


LATE_IMPORTERS = {
    "__init__.py",
    "__main__.py",
    "agents/agent.py",
    "cli/__init__.py",
    "cli/commands/hub_admin.py",
    "cli/framework.py",
    "hook.py",
    "hook_reply.py",
    "lazy.py",
    "mcp/__init__.py",
    "statusline.py",
    # The hook loads it, and `lazy` would cost it more than it saves.
    "text/cues.py",
}
"""Doors and what the hook loads; everything else imports late through `hivemind.lazy` alone."""


def list_calls(file: Path) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)]


def test_only_doors_import_our_modules_inside_functions() -> None:
    importers = set()
    for file in SOURCE.rglob("*.py"):
        functions = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
        for node in (inner for function in functions for inner in ast.walk(function)):
            match node:
                case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "hivemind":
                    importers.add(str(file.relative_to(SOURCE)))
                case ast.Call(func=ast.Attribute(attr="import_module"), args=[ast.JoinedStr() | ast.Constant()]):
                    importers.add(str(file.relative_to(SOURCE)))

    assert "hook.py" in importers
    assert importers <= LATE_IMPORTERS


def test_what_is_imported_late_exists() -> None:
    names = set()
    for call in (call for file in SOURCE.rglob("*.py") for call in list_calls(file)):
        match call:
            case ast.Call(
                func=ast.Name("when_called" | "component"), args=[ast.Constant(str(module)), ast.Constant(str(name))]
            ):
                names.add((module, name))
            case ast.Call(func=ast.Name("LazyModule"), args=[ast.Constant(str(module))]):
                names.add((module, "__name__"))

    assert len(names) > 15
    assert [(m, n) for m, n in names if not hasattr(importlib.import_module(f"hivemind.{m}"), n)] == []
