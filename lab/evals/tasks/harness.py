"""Run a task in a condition with an agent, grade the result by running it, and measure what it took."""

import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hivemind.model.recall import Receipt
from lab.evals.tasks import scripted_agent, shop
from lab.evals.tasks.conditions import EARLY, LATE, ConnectedMemory, NoMemory, NotesFile, open_mind, store_notes
from lab.evals.tasks.scripted_agent import AgentTools
from lab.evals.tasks.task import COMMON_NOTES, PLANTED, TASKS, Task

WITHOUT_HIVEMIND = ("none", "file")
CONDITIONS = (*WITHOUT_HIVEMIND, "hivemind", *PLANTED, "broken")
"""``broken`` is Hivemind with an empty memory: if that does as well, the harness measures nothing."""
MEMORY_ID = re.compile(r" \[([0-9a-f]{8}) · [^\]]*\]$", re.MULTILINE)
BYTES_PER_TOKEN = 4
TIMEOUT_SECONDS = 900
AGENTS_BY_PROGRAM = {"claude": "claude-code"} | {
    name: name for name in ("codex", "gemini", "qwen", "opencode", "copilot")
}
"""Programs that ``hivemind install`` can connect."""
NOTES_FILES = {"gemini": "GEMINI.md", "qwen": "QWEN.md"} | dict.fromkeys(("codex", "opencode", "copilot"), "AGENTS.md")
"""The notes file that a program loads, where it is not CLAUDE.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The outcome of one task in one condition."""

    task: str
    condition: str
    success: bool
    reason: str
    """The last line of the check's error, where it failed."""
    reads: tuple[str, ...]
    searches: tuple[str, ...]
    tokens_in: int
    tokens_out: int
    memory_tokens: int
    seconds: float
    stale_mistake: bool
    receipts: bool | None
    """Whether each memory that was shown left a receipt; None where none was shown."""
    deletion_honoured: bool | None
    told: tuple[str, ...] = ()
    """Short ids of the memories with a receipt."""
    repeated_reads: int = 0
    repeated_searches: int = 0
    harm: bool = False
    """Whether it fails with memory and succeeds without."""


def run_all(tasks: Sequence[str], conditions: Sequence[str], agent: str, report: Callable[[Run], None]) -> list[Run]:
    """Run every task in every condition, and report each run when it ends."""
    runs: list[Run] = []
    for name in tasks:
        baseline: Run | None = None
        # CONDITIONS begins with "none", which the others are compared with.
        for condition in sorted(conditions, key=CONDITIONS.index):
            # Agents leave background processes that may still write while we clean up.
            with tempfile.TemporaryDirectory(prefix="hivemind-eval-", ignore_cleanup_errors=True) as directory:
                run = _run_task(TASKS[name], condition, agent, Path(directory).resolve())
            baseline = run if condition == "none" else baseline
            runs.append(_compare(run, baseline) if baseline else run)
            report(runs[-1])
    return runs


def describe_machine() -> str:
    """Describe the kind of machine, without its name."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def totals(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """Return the sums for each condition."""
    by_condition = {name: [run for run in runs if run.condition == name] for name in CONDITIONS}
    return {name: _sum_up(group) for name, group in by_condition.items() if group}


def _sum_up(runs: Sequence[Run]) -> dict[str, Any]:
    fields = ("success", "repeated_reads", "repeated_searches", "tokens_in", "tokens_out", "memory_tokens", "harm")
    return {
        "tasks": len(runs),
        **{name: sum(getattr(run, name) for run in runs) for name in fields},
        "reads": sum(len(run.reads) for run in runs),
        "searches": sum(len(run.searches) for run in runs),
        "seconds": round(sum(run.seconds for run in runs), 2),
        "stale_mistakes": sum(run.stale_mistake for run in runs),
        "without_receipt": sum(run.receipts is False for run in runs),
        "deletions_broken": sum(run.deletion_honoured is False for run in runs),
    }


def prepare(task: Task, condition: str, top: Path, agent: str = "") -> AgentTools:
    """Build the repository and the memory of a task, and return the tools that an agent works with."""
    root, other, home = top / "shop", top / "garden", top / "memory"
    shop.build(root, other)
    notes = task.select_notes(condition)
    has_hivemind = condition not in WITHOUT_HIVEMIND
    if has_hivemind:
        store_notes(home, root, other, (*COMMON_NOTES, *(note for note in notes if not note.is_late)), EARLY)
    shop.change_code(root)
    if has_hivemind:
        store_notes(home, root, other, (note for note in notes if note.is_late), LATE)
    return AgentTools(root=root, memory=_open_memory(condition, task, root, home, agent))


def check(task: Task, root: Path) -> "subprocess.CompletedProcess[str]":
    """Run the check of a task, which the agent never sees, on what the agent left."""
    program = [sys.executable, "-c", f"import sys; sys.path.insert(0, '.')\n{task.check}"]
    return subprocess.run(program, cwd=root, capture_output=True, encoding="utf-8", check=False)


def _run_task(task: Task, condition: str, agent: str, top: Path) -> Run:
    tools = prepare(task, condition, top, agent)
    begin = time.perf_counter()
    if agent:
        _run_agent(agent, tools, task.prompt)
    else:
        scripted_agent.work(tools, task.prompt)
    seconds = time.perf_counter() - begin
    tools.memory.close()
    return _grade(task, condition, tools, top / "memory", seconds)


def _open_memory(condition: str, task: Task, root: Path, home: Path, agent: str) -> NoMemory:
    match condition:
        case "none":
            return NoMemory()
        case "file":
            return NotesFile(root / NOTES_FILES.get(_program(agent), "CLAUDE.md"), task.select_notes(condition))
        case "broken":
            return ConnectedMemory(home / "empty", root)
        case _:
            return ConnectedMemory(home, root)


def _program(agent: str) -> str:
    return Path(shlex.split(agent)[0]).name if agent else ""


def _run_agent(agent: str, tools: AgentTools, prompt: str) -> None:
    """Run a real agent: connected where we can, else with the output of our hooks in front of its prompt."""
    name = AGENTS_BY_PROGRAM.get(_program(agent))
    environ = None
    tools.inputs.append(prompt)
    if isinstance(tools.memory, ConnectedMemory):
        # An agent must not take itself for a session of Claude Code, which these variables announce.
        environ = {key: value for key, value in tools.memory.environ().items() if not key.startswith("CLAUDE")}
        if name:
            install = [sys.executable, "-m", "hivemind", "install", name, "--project", str(tools.root), "--yes"]
            subprocess.run(install, cwd=tools.root, env=environ, check=True, capture_output=True)
        else:
            context = tools.memory.begin(prompt)
            tools.inputs.append(context)
            prompt = f"{context}\n\n{prompt}"
    command = [word.replace("{prompt}", prompt) for word in shlex.split(agent)]
    # An agent that takes too long is graded by what it has done so far.
    with suppress(subprocess.TimeoutExpired):
        process = subprocess.run(
            command, cwd=tools.root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
            timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        tools.outputs.append(process.stdout)


def _grade(task: Task, condition: str, tools: AgentTools, home: Path, seconds: float) -> Run:
    graded = check(task, tools.root)
    ids_shown = {memory_id for text in tools.inputs for memory_id in MEMORY_ID.findall(text)}
    receipts = _load_receipts(home, tools.root)
    ids_receipted = {receipt.memory_id[:8] for receipt in receipts}
    paths = shop.git(tools.root, "diff", "--name-only").split()
    from_memory = [text for text in tools.inputs if "<hivemind-memory" in text or text.startswith("# Notes")]
    return Run(
        task=task.name,
        condition=condition,
        success=graded.returncode == 0,
        reason=graded.stderr.strip().rpartition("\n")[2],
        reads=tuple(tools.reads),
        searches=tuple(tools.searches),
        tokens_in=_count_tokens(tools.inputs),
        tokens_out=_count_tokens(tools.outputs),
        # What a connected agent read is known from the receipts alone.
        memory_tokens=_count_tokens(from_memory) or sum(receipt.tokens for receipt in receipts),
        seconds=round(seconds, 2),
        stale_mistake=bool(task.stale_path) and task.stale_path in paths,
        receipts=ids_shown <= ids_receipted if ids_shown or ids_receipted else None,
        told=tuple(sorted(ids_receipted)),
        deletion_honoured=_is_gone(task.erased_value, tools, home) if task.erased_value else None,
    )


def _compare(run: Run, baseline: Run) -> Run:
    """Add what the run without memory did too, and whether memory did harm."""
    return replace(
        run,
        repeated_reads=sum(path in baseline.reads for path in run.reads),
        repeated_searches=sum(pattern in baseline.searches for pattern in run.searches),
        harm=baseline.success and not run.success,
    )


def _count_tokens(texts: Sequence[str]) -> int:
    return sum(len(text.encode()) for text in texts) // BYTES_PER_TOKEN


def _load_receipts(home: Path, root: Path) -> tuple[Receipt, ...]:
    if not home.exists():
        return ()
    with open_mind(home, root, LATE) as mind:
        return mind.history.receipts(limit=1000)


def _is_gone(value: str, tools: AgentTools, home: Path) -> bool:
    """Return whether an erased value is in no text the agent got, no file it wrote and no file of the memory."""
    files = [path for top in (tools.root, home) for path in top.rglob("*") if path.is_file()]
    return not any(value in text for text in tools.inputs) and not any(
        value.encode() in file.read_bytes() for file in files
    )
