"""What an installation takes: room on disk, memory of a server, and what importing costs beside bare Python.

python -m benchmarks.install [--save]
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from importlib.metadata import distributions
from pathlib import Path

from benchmarks import results
from benchmarks.measure import BARE, cpu_of

ROOT = Path(__file__).parents[1]
BUDGET_MEGABYTES = 250
IMPORTS = (
    "hivemind",
    "hivemind.errors",
    "click",
    "hivemind.entrypoints.cli",
    "apsw",
    "hivemind.app",
    "numpy",
    "rich.table",
)


def main() -> None:
    """Print sizes and CPU milliseconds."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        empty = Counter(_sizes(Path(place)))
        install = [f"{place}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT)]
        subprocess.run(install, check=True)
        sizes = Counter(_sizes(Path(place))) - empty
        tools, schema, resident = _served(f"{place}/bin/python", Path(place))
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


def _served(python: str, home: Path) -> tuple[int, int, float]:
    """How many tools a server has, the bytes that describe them, and its megabytes once it has answered a question."""
    asked: list[tuple[str, dict[str, object]]] = [
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
        for method, params in asked:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            server.stdin.flush()
            reply = json.loads(server.stdout.readline())
        status = Path(f"/proc/{server.pid}/status").read_text()
        server.stdin.close()
    tools = reply["result"]["tools"]
    size = len(json.dumps(tools, separators=(",", ":")))
    return len(tools), size, int(status.partition("VmRSS:")[2].split()[0]) / 1000


def _sizes(place: Path) -> dict[str, int]:
    """Bytes by distribution, compiled files included; what belongs to none is not ours."""
    libraries = [str(one) for one in place.glob("lib*/python*/site-packages")]
    return {
        one.name: sum(_size(Path(str(file.locate()))) for file in one.files or ())
        for one in distributions(path=libraries)
    }


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


if __name__ == "__main__":
    main()
