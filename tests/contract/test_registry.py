"""What MCP's registry and desktop clients get matches the package."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dev.registry import BUNDLE, ENTRY_POINT, NAME, ROOT, SERVER, find_problems, pack, render_files

README = (ROOT / "README.md").read_text("utf-8")


def test_the_files_are_what_the_script_writes() -> None:
    differing = [path for path, text in render_files().items() if (ROOT / path).read_text("utf-8") != text]

    assert differing == [], "run python dev/registry.py"


def test_the_files_keep_the_rules_of_the_registry() -> None:
    assert find_problems(render_files(), README) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "hivemind"), ("name", "io.github.somebody/hivemind"), ("description", "d" * 101), ("version", "^0.3.0")],
)
def test_a_file_that_breaks_a_rule_is_refused(field: str, value: str) -> None:
    files = render_files()
    server = json.loads(files[SERVER]) | {field: value}

    assert find_problems(files | {SERVER: json.dumps(server)}, README)
    assert NAME in README


def test_the_program_of_the_bundle_serves_the_tools(tmp_path: Path, home: Path) -> None:
    with zipfile.ZipFile(pack(tmp_path)) as archive:
        archive.extractall(tmp_path / "bundle")
    manifest = json.loads((tmp_path / "bundle/manifest.json").read_text("utf-8"))
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) + "\n"
    served = subprocess.run(
        [sys.executable, "-P", tmp_path / "bundle" / ENTRY_POINT],
        input=request,
        capture_output=True,
        text=True,
        check=True,
    )

    tools = json.loads(served.stdout)["result"]["tools"]
    assert [tool["name"] for tool in tools] == [tool["name"] for tool in manifest["tools"]]
    assert (ROOT / BUNDLE / ENTRY_POINT).exists()
