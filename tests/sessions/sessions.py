"""Sessions told step by step and kept as Claude Code keeps them, for tests to learn from."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 3, 1, 10, tzinfo=UTC)


@dataclass
class Told:
    """A session on its way into a transcript."""

    directory: Path
    user: Path
    session: str = "s1"
    lines: list[dict[str, Any]] = field(default_factory=list)

    def asked(self, text: str) -> "Told":
        return self._line("user", [{"type": "text", "text": text}], promptId=f"p{len(self.lines)}")

    def said(self, text: str) -> "Told":
        return self._line("assistant", [{"type": "text", "text": text}])

    def ran(self, command: str, output: str = "", *, failed: bool = False) -> "Told":
        came_back = f"Exit code 1\n{output}" if failed else {"stdout": output, "stderr": ""}
        return self.called("Bash", {"command": command}, came_back, failed=failed)

    def edited(self, file: str, old: str, new: str) -> "Told":
        given = {"file_path": str(self.directory / file), "old_string": old, "new_string": new}
        return self.called("Edit", given, {"originalFile": old, "structuredPatch": []})

    def read(self, file: str) -> "Told":
        return self.called("Read", {"file_path": str(self.directory / file)}, "text of it")

    def called(self, tool: str, given: dict[str, Any], came_back: Any = "ok", *, failed: bool = False) -> "Told":
        own_id = f"{self.session}-t{len(self.lines)}"
        self._line("assistant", [{"type": "tool_use", "id": own_id, "name": tool, "input": given}])
        content = came_back if isinstance(came_back, str) else json.dumps(came_back)
        result = {"type": "tool_result", "tool_use_id": own_id, "content": content, "is_error": failed}
        full = {} if failed else {"toolUseResult": came_back}
        return self._line("user", [result], **full)

    def keep(self) -> Path:
        path = self.user / ".claude" / "projects" / "-repo" / f"{self.session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in self.lines))
        return path

    def _line(self, role: str, content: list[dict[str, Any]], **more: Any) -> "Told":
        at = START + timedelta(seconds=len(self.lines))
        common = {"sessionId": self.session, "cwd": str(self.directory), "timestamp": at.isoformat()}
        self.lines.append({"type": role, "message": {"role": role, "content": content}, **common, **more})
        return self


def told(directory: Path, session: str = "s1", user: Path | None = None) -> Told:
    """A session in a directory, of which nothing is told yet."""
    return Told(directory=directory, user=user or directory / "user", session=session)
