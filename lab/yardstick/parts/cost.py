"""What it costs: CPU of hooks, writes and searches as the store grows, disk, memory, tokens, beside bare Python."""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import HookCommand, Note
from lab.yardstick.parts import Figures, Run, is_absent, list_files, try_out
from lab.yardstick.processes import Processes
from lab.yardstick.texts import count_tokens
from lab.yardstick.transcripts import Message, write_transcript

RUNS, QUESTIONS, WRITES = 7, 30, 20
TRANSCRIPTS, TURNS = 200, 6
SETTLE_SECONDS = 2
MOST_WAITS, QUIET_SECONDS = 300, 0.1
"""Background work is counted with the call that caused it, until it uses hardly any CPU in this time."""
WORDS = {
    "subject": "the importer,our billing job,the search page,every webhook,the nightly report,the mobile client,the cache,"
    "the release script,the audit log,the signup form",
    "verb": "retries,validates,skips,stores,renames,compresses,signs,caches,splits,refuses",
    "object": "empty invoices,old sessions,large uploads,foreign currencies,duplicate orders,expired tokens,broken images,"
    "draft pages,unknown fields,slow queries",
    "reason": "because the bank asked for it,since the outage in {month},as agreed with team {team},until version {number}"
    " is out,to keep responses below {number} ms,for customers in region {team}",
    "month": "January,February,March,April,May,June,July,August,September,October,November,December",
}
"""What notes are made of."""


def measure(run: Run) -> Figures:
    """Measure all costs in one go, with bare Python in between."""
    figures: Figures = {
        "bare Python, CPU ms": measure_process(
            HookCommand(argv=(sys.executable, "-I", "-S", "-c", "pass")), {}, run.folder
        )
    }
    figures |= measure_hooks(run)
    for size in run.sizes if run.most_cases is None else (100,):
        figures |= measure_store(run, size)
    figures |= measure_import(run) if run.most_cases is None else {}
    figures["tools, bytes of their description"] = try_out(measure_tools, run)
    return figures


def make_note(chance: random.Random) -> str:
    """Make a sentence as people write them, out of a few million that are possible."""
    word = {kind: chance.choice(choices.split(",")) for kind, choices in WORDS.items()}
    reason = word["reason"].format(month=word["month"], team=chance.randrange(400), number=chance.randrange(900))
    text = f"{word['subject']} {word['verb']} {word['object']} after {chance.randrange(2, 90)} minutes, {reason}."
    return text[0].upper() + text[1:]


def measure_store(run: Run, size: int) -> Figures:
    """Fill a store, then write and search; CPU is of all processes of the system."""
    chance = random.Random(size)
    repo = run.make_repo(f"cost-{size}")
    notes = [Note(text=make_note(chance), repo=repo) for _ in range(size + WRITES)]
    with run.open_store(f"cost-{size}") as folder:
        processes: Processes = getattr(run.adapter, "processes", None) or Processes({})
        filling = try_out(lambda: measure_cpu(processes, lambda: run.adapter.remember_all(notes[:size])))
        if is_absent(filling):
            return {f"{size:,} notes": filling}
        figures: Figures = {f"{size:,} notes: filling the store, CPU s": round(filling / 1000, 1)}
        writing = measure_cpu(processes, lambda: [run.adapter.remember(note) for note in notes[size:]])
        figures[f"{size:,} notes: one write, CPU ms"] = round(writing / WRITES, 1)
        questions = [make_note(chance).partition(",")[0] for _ in range(QUESTIONS + 3)]
        for question in questions[QUESTIONS:]:
            try_out(run.adapter.recall, question, repo)
        searching = try_out(
            lambda: measure_cpu(processes, lambda: [run.adapter.recall(text, repo) for text in questions[:QUESTIONS]])
        )
        figures[f"{size:,} notes: one search, CPU ms"] = (
            searching if is_absent(searching) else round(searching / QUESTIONS / run.adapter.requests_in_recall, 1)
        )
        waits = try_out(lambda: [measure_wall(run.adapter.recall, text, repo) for text in questions[:QUESTIONS]])
        figures[f"{size:,} notes: one search, wall ms p50 (busy machine)"] = (
            waits if is_absent(waits) else round(statistics.median(waits) / run.adapter.requests_in_recall, 1)
        )
        brief = try_out(lambda: count_tokens(run.adapter.brief(repo)))
        figures[f"{size:,} notes: tokens at the start of a session"] = brief
        resident = processes.measure_resident() or measure_own_memory()
        figures[f"{size:,} notes: memory, MB"] = round(resident)
    figures[f"{size:,} notes: bytes on disk for each"] = round(measure_disk(folder) / size)
    return figures


def measure_cpu(processes: Processes, work: Callable[..., Any], *arguments: Any) -> float:
    """Return the CPU milliseconds of a call in all processes, with what goes on in the background until it is quiet."""
    begin = processes.measure_cpu()
    work(*arguments)
    for _ in range(MOST_WAITS if any(processes.list_pids()) else 0):
        before = processes.measure_cpu()
        time.sleep(SETTLE_SECONDS)
        if processes.measure_cpu() - before < QUIET_SECONDS:
            break
    return 1000 * (processes.measure_cpu() - begin)


def measure_wall(work: Callable[..., Any], *arguments: Any) -> float:
    """Return the milliseconds that a call takes."""
    begin = time.perf_counter()
    work(*arguments)
    return 1000 * (time.perf_counter() - begin)


def measure_own_memory() -> float:
    """Return the megabytes of this process, in which systems with a Python API run."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure_disk(folder: Path) -> int:
    """Return the bytes of all files of a store, without logs."""
    return sum(path.stat().st_size for path in list_files(folder) if path.suffix != ".log")


def measure_hooks(run: Run) -> Figures:
    """Run the hooks of an agent as processes, on a store with a few notes."""
    repo = run.make_repo("cost-hooks")
    common = {"cwd": str(repo), "transcript_path": str(run.folder / "none.jsonl"), "permission_mode": "default"}
    output = "tests/test_api.py::test_reads PASSED\n" * 100
    events: dict[str, tuple[str, dict[str, Any]]] = {
        "capture of a tool call of 4 kB": (
            "PostToolUse",
            {"tool_name": "Bash", "tool_input": {"command": "pytest -q"}, "tool_response": {"stdout": output}, "tool_use_id": "t1"},
        ),
        "start of a session": ("SessionStart", {"source": "startup"}),
        "a prompt that needs memory": (
            "UserPromptSubmit",
            {"prompt": "Please change the importer so that empty invoices are validated again after an hour, and tell me what else depends on it."},
        ),
    }  # fmt: skip
    figures: Figures = {}
    with run.open_store("cost-hooks"):
        chance = random.Random(3)
        try_out(lambda: run.adapter.remember_all(Note(text=make_note(chance), repo=repo) for _ in range(30)))
        for name, (event, payload) in events.items():
            costs = try_out(measure_hook, run, event, common | payload, repo)
            figures[f"{name}, CPU ms"] = costs
    return figures


def measure_hook(run: Run, event: str, payload: dict[str, Any], repo: Path) -> float:
    """Return the median CPU of a hook process and of the system's other processes that it sets to work."""
    command = run.adapter.get_hook(event, repo)
    processes: Processes = getattr(run.adapter, "processes", None) or Processes({})
    costs: dict[bool, list[float]] = {True: [], False: []}
    for number in range(RUNS + 1):
        content = {"session_id": f"s{number}", "hook_event_name": event, **payload}
        outputs: list[bytes] = []
        cost = measure_cpu(processes, lambda: outputs.append(run_hook(command, json.dumps(content), repo)))  # noqa: B023
        if number:
            costs[bool(outputs[0])].append(cost)
    # A hook that gives up on a busy machine says nothing and costs less.
    return round(statistics.median(costs[True] or costs[False]), 1)


def run_hook(command: HookCommand, stdin: str, cwd: Path) -> bytes:
    """Run a hook to its end and return what it says."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {**command.environ}
    process = subprocess.run(command.argv, input=stdin.encode(), env=environ, cwd=cwd, capture_output=True, check=True)
    return process.stdout


def measure_process(command: HookCommand, payload: dict[str, Any], cwd: Path) -> float:
    """Return the median CPU of a process."""
    processes = Processes({})
    costs = [measure_cpu(processes, run_hook, command, json.dumps(payload), cwd) for _ in range(RUNS + 1)]
    return round(statistics.median(costs[1:]), 1)


def measure_import(run: Run) -> Figures:
    """Take in transcripts of made-up sessions."""
    chance = random.Random(5)
    repo = run.make_repo("cost-import")
    paths = []
    for number in range(TRANSCRIPTS):
        messages = []
        for _ in range(TURNS):
            messages.append(Message("user", f"Please check whether {make_note(chance)}"))
            messages.append(Message("assistant", " ".join(make_note(chance) for _ in range(5))))
        paths.append(run.folder / "transcripts" / f"session-{number}.jsonl")
        write_transcript(paths[-1], messages, cwd=repo, begin=f"2026-01-{number % 28 + 1:02}T10:00:00Z")
    name = f"import of {TRANSCRIPTS} sessions, CPU s"
    with run.open_store("cost-import") as folder:
        processes: Processes = getattr(run.adapter, "processes", None) or Processes({})
        cpu = try_out(lambda: measure_cpu(processes, lambda: run.adapter.observe(paths, repo)))
    if is_absent(cpu):
        return {name: cpu}
    return {
        name: round(cpu / 1000, 1),
        "import: bytes on disk for each byte": round(measure_disk(folder) / sum(map(get_size, paths)), 1),
    }


def get_size(path: Path) -> int:
    """Return the size of a file."""
    return path.stat().st_size


def measure_tools(run: Run) -> str:
    """Return the number of tools and the size of their description."""
    with run.open_store("cost-tools"):
        number, size = run.adapter.measure_tools()
    return f"{number}, {size / 1000:.1f} kB"
