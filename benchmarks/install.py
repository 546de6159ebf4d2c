"""What an installation takes: megabytes, packages, seconds; and the server's memory once it has answered a question.

python -m benchmarks.install [--save]
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import results

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Install into an empty environment and look."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(top / "venv")], check=True)
        python = str(top / "venv" / "bin" / "python")
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", str(ROOT)], check=True)
        seconds = time.perf_counter() - start
        packages = next((top / "venv").glob("lib/*/site-packages"))
        figures = {
            "MB": _bytes(packages) / 1e6,
            "packages": len(list(packages.glob("*.dist-info"))),
            "seconds": seconds,
            "server resident MB": _resident(python, top),
            "tools": _schema(python, top)[0],
            "schema bytes": _schema(python, top)[1],
        }
    for what, value in figures.items():
        print(f"{what:<20}{value:>10,.1f}")
    if "--save" in sys.argv:
        results.save(
            "install", data="this source tree", configuration="pip install into an empty venv", figures=figures
        )


def _bytes(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sum(path.stat().st_size for path in files)


def _schema(python: str, home: Path) -> tuple[int, int]:
    """How many tools a client has to read about, and in how many bytes."""
    with _served(python, home) as server:
        tools = _asked(server, "tools/list")["tools"]
    return len(tools), len(json.dumps(tools, separators=(",", ":")))


def _resident(python: str, home: Path) -> float:
    """Megabytes of a server that has loaded its model."""
    with _served(python, home) as server:
        for name, given in (("remember", {"text": "Deploys run on Fridays"}), ("recall", {"query": "deploys"})):
            _asked(server, "tools/call", name=name, arguments=given)
        status = Path(f"/proc/{server.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1000


def _served(python: str, home: Path) -> "subprocess.Popen[str]":
    environ = os.environ | {"HIVEMIND_HOME": str(home / "memory")}
    command = [python, "-P", "-m", "hivemind", "mcp"]
    server = subprocess.Popen(command, cwd=home, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client = {"name": "bench", "version": "1"}
    _asked(server, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
    return server


def _asked(server: "subprocess.Popen[str]", method: str, **params: object) -> dict[str, list[object]]:
    assert server.stdin
    assert server.stdout
    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
    server.stdin.flush()
    result: dict[str, list[object]] = json.loads(server.stdout.readline())["result"]
    return result


if __name__ == "__main__":
    main()
