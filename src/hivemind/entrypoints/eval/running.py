"""One task, one condition, one agent: prepared, worked on, graded by running the result, measured."""

import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hivemind.entrypoints.eval import ground, scripted
from hivemind.entrypoints.eval.memory import EARLY, LATE, File, Nothing, Remembered, opened, tell
from hivemind.entrypoints.eval.scripted import ScriptedDesk
from hivemind.entrypoints.eval.tasks import COMMON, PLANTED, TASKS, Task
from hivemind.model.recall import Receipt

CONDITIONS = ("none", "file", "hivemind", *PLANTED, "broken")
"""``broken`` is Hivemind with hooks and server pointed at an empty memory: a harness must be able to tell."""
SHOWN_ID = re.compile(r"^\[([0-9a-f]{8}) · ", re.MULTILINE)
BYTES_PER_TOKEN = 4
PATIENCE_SECONDS = 900
KNOWN_BY_COMMAND = {"claude": "claude-code"} | {
    name: name for name in ("codex", "gemini", "qwen", "opencode", "copilot")
}
NOTES_BY_COMMAND = {"gemini": "GEMINI.md", "qwen": "QWEN.md"} | dict.fromkeys(
    ("codex", "opencode", "copilot"), "AGENTS.md"
)
"""The file of notes that an agent loads, where it is not CLAUDE.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How it went."""

    task: str
    condition: str
    success: bool
    reason: str
    """What the check said, where it failed."""
    reads: tuple[str, ...]
    searches: tuple[str, ...]
    tokens_in: int
    tokens_out: int
    memory_tokens: int
    seconds: float
    stale_mistake: bool
    receipts: bool | None
    """Whether each memory that was shown left a receipt; nothing where none was shown."""
    deletion_honoured: bool | None
    told: tuple[str, ...] = ()
    """Short ids of the memories with a receipt."""
    repeated_reads: int = 0
    repeated_searches: int = 0
    harm: bool = False
    """It fails with memory and succeeds without."""


def run_all(tasks: Sequence[str], conditions: Sequence[str], agent: str, done: Callable[[Run], None]) -> list[Run]:
    """Every task in every condition, the cold one first because the others are compared with it."""
    runs: list[Run] = []
    for name in tasks:
        cold: Run | None = None
        for condition in sorted(conditions, key=CONDITIONS.index):
            with tempfile.TemporaryDirectory(prefix="hivemind-eval-", ignore_cleanup_errors=True) as directory:
                run = _run(TASKS[name], condition, agent, Path(directory).resolve())
            cold = run if condition == "none" else cold
            runs.append(_compared(run, cold))
            done(runs[-1])
    return runs


def machine() -> str:
    """The kind of machine, not which one."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def totals(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """The sums for each condition."""
    by_condition = {one: [run for run in runs if run.condition == one] for one in CONDITIONS}
    return {condition: _total(ran) for condition, ran in by_condition.items() if ran}


def _total(runs: Sequence[Run]) -> dict[str, Any]:
    summed = ("success", "repeated_reads", "repeated_searches", "tokens_in", "tokens_out", "memory_tokens", "harm")
    return {
        "tasks": len(runs),
        **{name: sum(getattr(run, name) for run in runs) for name in summed},
        "reads": sum(len(run.reads) for run in runs),
        "searches": sum(len(run.searches) for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 2),
        "stale_mistakes": sum(run.stale_mistake for run in runs),
        "without_receipt": sum(run.receipts is False for run in runs),
        "deletions_broken": sum(run.deletion_honoured is False for run in runs),
    }


def _run(task: Task, condition: str, agent: str, top: Path) -> Run:
    root, other, home = top / "shop", top / "garden", top / "memory"
    ground.build(root, other)
    notes = task.told(condition)
    has_memory = condition not in ("none", "file")
    if has_memory:
        tell(home, root, other, (*COMMON, *(note for note in notes if not note.late)), EARLY)
    ground.move_on(root)
    if has_memory:
        tell(home, root, other, (note for note in notes if note.late), LATE)
    memory = _memory(condition, task, root, home, agent)
    desk = ScriptedDesk(root=root, memory=memory)
    begin = time.perf_counter()
    if agent:
        _work(agent, desk, task.prompt)
    else:
        scripted.work(desk, task.prompt)
    seconds = time.perf_counter() - begin
    memory.close()
    return _graded(task, condition, desk, home, seconds)


def _memory(condition: str, task: Task, root: Path, home: Path, agent: str) -> Nothing:
    match condition:
        case "none":
            return Nothing()
        case "file":
            return File(root / NOTES_BY_COMMAND.get(_program(agent), "CLAUDE.md"), task.told(condition))
        case "broken":
            return Remembered(home / "empty", root)
        case _:
            return Remembered(home, root)


def _program(agent: str) -> str:
    return Path(shlex.split(agent)[0]).name if agent else ""


def _work(agent: str, desk: ScriptedDesk, prompt: str) -> None:
    """Let a real agent do it: connected where we know how, else told in its prompt what our hooks would tell it."""
    words = shlex.split(agent)
    known = KNOWN_BY_COMMAND.get(_program(agent))
    environ = None
    desk.given.append(prompt)
    if isinstance(desk.memory, Remembered):
        environ = {name: value for name, value in desk.memory.environ().items() if not name.startswith("CLAUDE")}
        if known:
            install = [sys.executable, "-m", "hivemind", "install", known, "--project", str(desk.root), "--yes"]
            subprocess.run(install, cwd=desk.root, env=environ, check=True, capture_output=True)
        else:
            context = desk.memory.begin(prompt)
            desk.given.append(context)
            prompt = f"{context}\n\n{prompt}"
    command = [word.replace("{prompt}", prompt) for word in words]
    try:
        done = subprocess.run(
            command, cwd=desk.root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE_SECONDS, check=False,
        )  # fmt: skip
        desk.written.append(done.stdout)
    except subprocess.TimeoutExpired:
        desk.written.append("")


def _graded(task: Task, condition: str, desk: ScriptedDesk, home: Path, seconds: float) -> Run:
    check = [sys.executable, "-c", f"import sys; sys.path.insert(0, '.')\n{task.check}"]
    graded = subprocess.run(check, cwd=desk.root, capture_output=True, text=True, check=False)
    shown = {one for text in desk.given for one in SHOWN_ID.findall(text)}
    receipts = _receipts(home, desk.root)
    told = {receipt.memory_id[:8] for receipt in receipts}
    changed = ground.git(desk.root, "diff", "--name-only").split()
    said = [text for text in desk.given if "<hivemind-memory" in text or text.startswith("# Notes")]
    return Run(
        task=task.name,
        condition=condition,
        success=graded.returncode == 0,
        reason=graded.stderr.strip().rpartition("\n")[2],
        reads=tuple(desk.reads),
        searches=tuple(desk.searches),
        tokens_in=_tokens(desk.given),
        tokens_out=_tokens(desk.written),
        memory_tokens=_tokens(said) or sum(receipt.tokens for receipt in receipts),
        seconds=round(seconds, 2),
        stale_mistake=bool(task.stale_path) and task.stale_path in changed,
        receipts=shown <= told if shown or told else None,
        told=tuple(sorted(told)),
        deletion_honoured=_is_gone(task.erased_value, desk, home) if task.erased_value else None,
    )


def _compared(run: Run, cold: Run | None) -> Run:
    """Beside the cold run of the same task: what was looked at again, and whether memory did harm."""
    if cold is None:
        return run
    again = sum(path in cold.reads for path in run.reads)
    searched = sum(pattern in cold.searches for pattern in run.searches)
    harm = cold.success and not run.success
    return replace(run, repeated_reads=again, repeated_searches=searched, harm=harm)


def _tokens(texts: Sequence[str]) -> int:
    return sum(len(text.encode()) for text in texts) // BYTES_PER_TOKEN


def _receipts(home: Path, root: Path) -> tuple[Receipt, ...]:
    if not home.exists():
        return ()
    with opened(home, root, LATE) as mind:
        return mind.history.receipts(limit=1000)


def _is_gone(value: str, desk: ScriptedDesk, home: Path) -> bool:
    """Whether an erased value reached neither the agent nor its work, and lies in no file of the memory."""
    files = [path for top in (desk.root, home) for path in top.rglob("*") if path.is_file()]
    return not any(value in text for text in desk.given) and not any(
        value.encode() in file.read_bytes() for file in files
    )
