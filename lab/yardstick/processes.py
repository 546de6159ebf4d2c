"""Run systems as processes: MCP over standard streams, lines of JSON, and the CPU time of all that was started."""

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MARK = "YARDSTICK_RUN"
"""An environment variable that all processes of a run inherit, so that daemons are counted and ended too."""
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_SECONDS = 120


class Processes:
    """All processes that were started for one opened store."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        self.environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        # Threads that wait for each other on a busy machine cost CPU and bring nothing for single notes.
        self.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", **environ, MARK: self.mark}

    def run(self, argv: Sequence[str | Path], *, stdin: str = "", cwd: Path | None = None, check: bool = True) -> str:
        """Run a command to its end and return what it printed."""
        process = subprocess.run(
            [str(word) for word in argv], input=stdin, cwd=cwd, env=self.environ, capture_output=True, text=True,
            check=False, timeout=15 * PATIENCE_SECONDS,
        )  # fmt: skip
        if check and process.returncode:
            raise RuntimeError(f"{argv[0]} failed with {process.returncode}: {process.stderr[-2000:]}")
        return process.stdout

    def list_pids(self) -> Iterator[int]:
        """Yield the processes of this run that are still there."""
        wanted = f"{MARK}={self.mark}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if int(folder.name) != os.getpid() and wanted in (folder / "environ").read_bytes().split(b"\0"):
                    yield int(folder.name)
            except OSError:
                continue

    def measure_cpu(self) -> float:
        """Return the CPU seconds of this process, of its ended children, and of all that still run for the store."""
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        total = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        for pid in self.list_pids():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            # Fields 14 to 17 of proc(5): own and waited-for children's, in user and in system mode.
            total += sum(map(int, fields[11:15])) / TICKS
        return total

    def measure_resident(self) -> float:
        """Return the megabytes of memory that the processes of the store hold, without our own."""
        pages = 0
        for pid in self.list_pids():
            try:
                pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            except OSError:
                continue
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def end(self) -> None:
        """End all processes of this run, first politely."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in list(self.list_pids()):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
            for _ in range(50):
                if not any(self._is_alive(pid) for pid in self.list_pids()):
                    return
                time.sleep(0.1)

    @staticmethod
    def _is_alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
        except OSError:
            return False


class LineServer:
    """A process that answers lines of JSON-RPC on its standard streams."""

    def __init__(self, processes: Processes, argv: Sequence[str | Path], cwd: Path, log: Path) -> None:
        self._log = log.open("a")
        self._count = 0
        self._process = subprocess.Popen(
            [str(word) for word in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            cwd=cwd, env=processes.environ,
        )  # fmt: skip

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request and return its result."""
        self._count += 1
        self.notify(method, params, number=self._count)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{") and (answer := json.loads(line)).get("id") == self._count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
        raise RuntimeError(f"{method}: the server ended; see {self._log.name}")

    def notify(self, method: str, params: Mapping[str, Any] | None = None, number: int | None = None) -> None:
        """Send a request, or without a number a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}} | ({"id": number} if number else {})
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Close its input, and wait for its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()


class McpServer(LineServer):
    """A server of the Model Context Protocol on standard streams."""

    def __init__(self, processes: Processes, argv: Sequence[str | Path], cwd: Path, log: Path) -> None:
        super().__init__(processes, argv, cwd, log)
        client = {"name": "yardstick", "version": "1"}
        self.call("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client})
        self.notify("notifications/initialized")

    def use(self, tool: str, **arguments: Any) -> str:
        """Call a tool and return the text of its answer."""
        result = self.call("tools/call", {"name": tool, "arguments": arguments})
        text = "\n".join(part.get("text", "") for part in result["content"])
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {text[:500]}")
        return text

    def measure_tools(self) -> tuple[int, int]:
        """Return the number of tools and the bytes of their description."""
        tools = self.call("tools/list")["tools"]
        return len(tools), len(json.dumps(tools, separators=(",", ":")))
