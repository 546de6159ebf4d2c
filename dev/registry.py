"""Write what MCP's registry and desktop clients need: ``server.json``, and the sources of an ``.mcpb`` bundle.

python dev/registry.py                write packaging/registry and packaging/mcpb
python dev/registry.py --check        fail if what is written differs, or breaks a rule of the registry or of bundles
python dev/registry.py --pack FOLDER  write the bundle too: FOLDER/hivemind-VERSION.mcpb

``python -m lab.evals.conformance bundle`` has the official tool validate and pack it.
"""

import argparse
import json
import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import hivemind
from hivemind.mcp.tools import TOOLS

ROOT = Path(__file__).parents[1]
SERVER, BUNDLE = "packaging/registry/server.json", "packaging/mcpb"
NAME = "io.github.hivemind-memory/hivemind"
"""Its first part is the owner of the repository: the registry lets only them publish it."""
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
LONGEST = 100
"""Characters of the title and of the description in the registry."""
PINNED = re.compile(r"\d+(\.\d+)*([-.+]?[a-z0-9]+)*")
ENTRY_POINT = "src/server.py"
PROGRAM = '''\
"""Starts Hivemind's MCP server; written by dev/registry.py."""

from hivemind.mcp import main

main()
'''
PROJECT = """\
# Written by dev/registry.py; do not edit.
[project]
name = "hivemind-bundle"
version = "{version}"
requires-python = "{python}"
dependencies = ["{package}=={version}"]
"""

Json = dict[str, Any]


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(prog="python dev/registry.py")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--pack", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    files = render_files()
    problems = find_problems(files, (ROOT / "README.md").read_text("utf-8"))
    if options.check:
        problems += [f"{path}: not up to date" for path, text in files.items() if _read(ROOT / path) != text]
    if problems:
        sys.exit("\n".join([*problems, "run python dev/registry.py"]))
    if options.check:
        return
    for path, text in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, "utf-8")
    if options.pack:
        print(pack(options.pack))


def render_files() -> dict[str, str]:
    """Return every file by its path, for the present version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version, package, python = hivemind.__version__, project["name"], project["requires-python"]
    return {
        SERVER: _format(_make_server(project, version)),
        f"{BUNDLE}/manifest.json": _format(_make_manifest(project, version)),
        f"{BUNDLE}/pyproject.toml": PROJECT.format(version=version, package=package, python=python),
        f"{BUNDLE}/{ENTRY_POINT}": PROGRAM,
    }


def _make_server(project: Json, version: str) -> Json:
    package = {
        "registryType": "pypi",
        "identifier": project["name"],
        "version": version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}],
    }
    return {
        "$schema": SCHEMA,
        "name": NAME,
        "title": "Hivemind",
        "description": project["description"],
        "version": version,
        "websiteUrl": project["urls"]["Documentation"],
        "repository": {"url": project["urls"]["Homepage"], "source": "github"},
        "packages": [package],
    }


def _make_manifest(project: Json, version: str) -> Json:
    return {
        "manifest_version": "0.4",
        "name": "hivemind",
        "display_name": "Hivemind",
        "version": version,
        "description": project["description"],
        "author": {"name": "The Hivemind authors", "url": project["urls"]["Homepage"]},
        "repository": {"type": "git", "url": project["urls"]["Homepage"]},
        "homepage": project["urls"]["Homepage"],
        "documentation": project["urls"]["Documentation"],
        "support": project["urls"]["Issues"],
        "license": project["license"],
        "keywords": project["keywords"],
        # The client has uv install the package, so one small bundle serves every platform.
        "server": {
            "type": "uv",
            "entry_point": ENTRY_POINT,
            "mcp_config": {"command": "uv", "args": ["run", "--directory", "${__dirname}", ENTRY_POINT]},
        },
        "tools": [{"name": tool["name"], "description": tool["description"]} for tool in TOOLS],
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": project["requires-python"]}},
    }


def find_problems(files: dict[str, str], readme: str) -> list[str]:
    """Return what the registry or a client would refuse; the rules are those of the published schemas."""
    server, manifest = json.loads(files[SERVER]), json.loads(files[f"{BUNDLE}/manifest.json"])
    package, program = server["packages"][0], manifest["server"]["entry_point"]
    rules = {
        "the name is an owner in reverse DNS, a slash and a name": re.fullmatch(
            r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]
        ),
        f"title and description have at most {LONGEST} characters": all(
            0 < len(server[field]) <= LONGEST for field in ("title", "description")
        ),
        "versions are the same, and no ranges": {server["version"], package["version"], manifest["version"]}
        == {hivemind.__version__} and PINNED.fullmatch(server["version"]),
        "README.md has the line by which the registry knows the owner": f"mcp-name: {server['name']} " in readme,
        "a bundle has a name, a version, a description, an author and a server": all(
            manifest.get(field) for field in ("name", "version", "description", "author", "server")
        ),
        "the program of the bundle is in it": f"{BUNDLE}/{program}" in files,
        "the bundle names the package in this version": f'"{package["identifier"]}=={package["version"]}"'
        in files[f"{BUNDLE}/pyproject.toml"],
    }  # fmt: skip
    return [f"not so: {rule}" for rule, holds in rules.items() if not holds]


def pack(folder: Path) -> Path:
    """Write the bundle, a zip archive, and return its path; the same sources give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"hivemind-{hivemind.__version__}.mcpb"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in sorted(render_files().items()):
            if path.startswith(BUNDLE):
                archive.writestr(zipfile.ZipInfo(path.removeprefix(f"{BUNDLE}/")), text)
    return file


def _format(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


if __name__ == "__main__":
    main()
