"""agentmemory: its hooks run here, its server does not, because it needs an engine that is a download."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.yardstick.adapter import Description, HookCommand, Note, NotOffered, NotRun
from lab.yardstick.processes import McpServer, Processes
from lab.yardstick.systems.peer import McpPeer

ENGINE = (
    "its server needs the iii engine 0.11.2, a download from GitHub or Docker Hub; without it there is only a fallback"
    " of 7 of 54 tools that finds notes which contain every word, and measuring that would not be fair"
)
HOOKS = {"PostToolUse": "post-tool-use", "SessionStart": "session-start", "UserPromptSubmit": "prompt-submit"}


class AgentMemory(McpPeer):
    """What runs without the engine: hooks without a server to talk to."""

    name = "agentmemory"
    needs = ("node", "npm")

    @property
    def _package(self) -> Path:
        return self.peers / "node_modules" / "@agentmemory" / "agentmemory"

    def install(self) -> None:
        """Install the packages."""
        packages = ["@agentmemory/agentmemory@latest", "@agentmemory/mcp@latest"]
        subprocess.run(["npm", "install", "--silent", "--prefix", str(self.peers), *packages], check=True)

    def describe(self) -> Description:
        """Return the version that is installed."""
        if not (self._package / "package.json").exists():
            raise NotRun(f"not installed; python -m lab.yardstick install {self.name}")
        return Description(
            version=json.loads((self._package / "package.json").read_text())["version"], doors="hooks",
            choices=f"only the hooks, without a server, so their cost is a lower bound: {ENGINE}",
            home="https://github.com/rohitg00/agentmemory",
        )  # fmt: skip

    def start(self, folder: Path) -> McpServer:
        """Start the MCP server, which finds no engine here."""
        self.processes = Processes({"HOME": str(folder), "AGENTMEMORY_PROBE_TIMEOUT_MS": "200"})
        argv = [shutil.which("node") or "node", str(self.peers / "node_modules" / "@agentmemory" / "mcp" / "bin.mjs")]
        return McpServer(self.processes, argv, folder, folder / "server.log")

    def remember(self, note: Note) -> str:
        """Say why not."""
        raise NotRun(ENGINE)

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Say why not."""
        raise NotRun(ENGINE)

    def measure_tools(self) -> tuple[int, int]:
        """Say why not."""
        raise NotRun(ENGINE)

    def get_hook(self, event: str, repo: Path) -> HookCommand:
        """Return the hook of its plugin."""
        if event not in HOOKS:
            raise NotOffered("no hook at this event")
        script = self._package / "dist" / "hooks" / f"{HOOKS[event]}.mjs"
        return HookCommand(argv=("node", str(script)), environ={"HOME": str(self.folder)})
