"""Measure an installation: disk space, memory of a server, and CPU time of imports compared with bare Python.

python -m lab.benchmarks.install [--save]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

from lab.benchmarks import results
from lab.benchmarks.measure import BARE, cpu_of

ROOT = Path(__file__).parents[2]
BUDGET_MEGABYTES = 180
IMPORTS = (
    "hivemind",
    "hivemind.errors",
    "click",
    "hivemind.cli",
    "apsw",
    "hivemind.sql",
    "numpy",
    "rich.table",
)


def main() -> None:
    """Print sizes and CPU milliseconds."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        empty = Counter(_measure_packages(Path(place)))
        install = [f"{place}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
        subprocess.run(install, check=True)
        sizes = Counter(_measure_packages(Path(place))) - empty
        tools, schema, resident = _measure_server(f"{place}/bin/python", Path(place))
    print(f"{'on disk':<38}{'MB':>8}  budget")
    print(f"{'all':<38}{sizes.total() / 1e6:>8.1f}  {BUDGET_MEGABYTES} MB")
    for name, size in sizes.most_common(8):
        print(f"  {name:<36}{size / 1e6:>8.1f}")
    print(f"\nserver, model loaded: {resident:.0f} MB resident; {tools} tools in {schema / 1000:.1f} kB of schema")
    if "--save" in sys.argv:
        figures = {"MB": sizes.total() / 1e6, "packages": len(sizes)}
        figures |= {"server resident MB": resident, "tools": tools, "schema bytes": schema}
        results.save(
            "install", data="this source tree", configuration="pip install into an empty venv", figures=figures
        )
    bare = cpu_of(BARE)
    print(f"\n{'import':<38}{'CPU ms':>8}{'x bare':>8}")
    print(f"{'nothing':<38}{bare:>8.1f}{1:>8.1f}")
    for module in IMPORTS:
        cost = cpu_of([sys.executable, "-c", f"import {module}"])
        print(f"{module:<38}{cost:>8.1f}{cost / bare:>8.1f}")


def _measure_server(python: str, home: Path) -> tuple[int, int, float]:
    """Return the number of a server's tools, the bytes of their schema, and its MB of memory after a question."""
    requests: list[tuple[str, dict[str, object]]] = [
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench"}}),
        ("tools/call", {"name": "remember", "arguments": {"text": "Deploys run on Fridays"}}),
        ("tools/call", {"name": "recall", "arguments": {"query": "when do deploys run?"}}),
        ("tools/list", {}),
    ]
    command = [python, "-P", "-m", "hivemind", "mcp", "--home", str(home / "memory")]
    server = subprocess.Popen(
        command, cwd=home, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdin
        assert server.stdout
        for method, params in requests:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            server.stdin.flush()
            reply = json.loads(server.stdout.readline())
        status = Path(f"/proc/{server.pid}/status").read_text()
        server.stdin.close()
    tools = reply["result"]["tools"]
    size = len(json.dumps(tools, separators=(",", ":")))
    return len(tools), size, int(status.partition("VmRSS:")[2].split()[0]) / 1000


def measure_dependencies(name: str) -> dict[str, int]:
    """Return the bytes of what a distribution needs in this environment, without its extras and without itself."""
    sizes: dict[str, int] = {}
    waiting = [name]
    while waiting:
        for requirement in distribution(waiting.pop()).requires or ():
            required_name, marker = re.split(r"[^\w.-]", requirement, maxsplit=1)[0], requirement.partition(";")[2]
            # What is for another platform or version of Python is not installed.
            with suppress(PackageNotFoundError):
                if "extra" not in marker and required_name not in sizes:
                    sizes[required_name] = _measure_distribution(distribution(required_name))
                    waiting.append(required_name)
    return sizes


def _measure_packages(place: Path) -> dict[str, int]:
    """Return bytes by distribution, compiled files included; other files are not part of the installation."""
    libraries = [str(folder) for folder in place.glob("lib*/python*/site-packages")]
    return {package.name: _measure_distribution(package) for package in distributions(path=libraries)}


def _measure_distribution(package: Distribution) -> int:
    return sum(_file_size(Path(str(file.locate()))) for file in package.files or ())


def _file_size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


if __name__ == "__main__":
    main()
