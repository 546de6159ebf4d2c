"""Measure what whole trees cost, with the commands that people use and a store of their own (Linux only).

python -m lab.benchmarks.code tree TREE             the first index of a working tree, and one when nothing has changed
python -m lab.benchmarks.code switch TREE COMMIT    index, switch the clean tree to a commit, ask, index, switch back
python -m lab.benchmarks.code many COUNT            the commands of a first hour in a made tree of this many small files
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hivemind.code import git
from hivemind.hivemind import Hivemind
from hivemind.settings import Settings
from lab.benchmarks.measure import BARE, cpu_of

COMMANDS = frozenset({"tree", "switch", "many"})
MEMORIES = 30
"""Memories that are linked to functions, before the tree changes."""

QUESTIONS = (("recall", "what does it return?"), ("code", "stale"), ("brief",), ("status",))
_SAMPLE_SECONDS = 0.5

SOURCES = {
    "py": "def count_{0}(rows):\n    return len(rows) + {0}\n",
    "go": "package part\n\nfunc Count{0}(rows []int) int {{\n\treturn len(rows) + {0}\n}}\n",
    "ts": "export function count{0}(rows: string[]): number {{\n  return rows.length + {0};\n}}\n",
    "java": "package part;\n\nclass Count{0} {{\n  int count(int[] rows) {{ return rows.length + {0}; }}\n}}\n",
    "rs": "pub fn count_{0}(rows: &[u32]) -> usize {{\n    rows.len() + {0}\n}}\n",
    "c": "int count_{0}(int rows)\n{{\n\treturn rows + {0};\n}}\n",
    "md": "# Part {0}\n\nCounts rows in steps of {0}.\n",
}
"""A file of each language in a made tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a command took, with its child processes."""

    wall_seconds: float
    cpu_seconds: float
    own_cpu_seconds: float
    """Of the process itself, without its children."""
    peak_mb: float
    """Proportional set size of all processes together, at the worst sample."""
    output: str


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="lab.benchmarks.code", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("tree")
    command.add_argument("tree", type=Path)
    command.set_defaults(run=lambda options: measure_tree(options.tree.resolve()))
    command = commands.add_parser("switch")
    command.add_argument("tree", type=Path)
    command.add_argument("commit")
    command.set_defaults(run=lambda options: measure_switch(options.tree.resolve(), options.commit))
    command = commands.add_parser("many")
    command.add_argument("count", type=int)
    command.set_defaults(run=lambda options: measure_many(options.count))
    options = parser.parse_args(arguments)
    print(f"bare Python takes {cpu_of(BARE):.1f} ms of CPU; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    options.run(options)


def measure_tree(root: Path) -> None:
    """Measure the first index of a tree, and the next one."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        print_cost("first index", run_command(root, home, "code", "index"))
        size = sum(file.stat().st_size for file in (home / "index").iterdir())
        print(f"{'on disk':<18} {size / 1e6:.0f} MB")
        print_cost("nothing changed", run_command(root, home, "code", "index"))


def measure_many(count: int) -> None:
    """Measure the commands of a first hour in a tree of small files, from the first memory on."""
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder, "tree"), Path(folder, "home")
        make_tree(root, count)
        # Numbers of two files in Python, which is the first of the languages.
        early, late = (len(SOURCES) * (count * share // 100 // len(SOURCES)) for share in (30, 70))
        print_cost("remember, first", run_command(root, home, "remember", f"`count_{early}` is slow for many rows"))
        print_cost("recall, first", run_command(root, home, "recall", "what is slow?"))
        stop_processes(home)
        print_cost("first index", run_command(root, home, "code", "index"))
        size = sum(file.stat().st_size for file in (home / "index").iterdir())
        print(f"{'on disk':<18} {size / 1e6:.0f} MB")
        print_cost("remember", run_command(root, home, "remember", f"`count_{late}` is fast for many rows"))
        (root / f"part{early // 1000}" / f"m{early}.py").write_text("def count(rows):\n    return 0\n")
        for question in (*QUESTIONS, ("doctor",), ("code", "index")):
            print_cost(" ".join(question)[:18], run_command(root, home, *question))
            stop_processes(home)


def make_tree(root: Path, count: int) -> None:
    """Write and commit this many small files in several languages."""
    sources = list(SOURCES.items())
    for number in range(count):
        suffix, source = sources[number % len(sources)]
        folder = root / f"part{number // 1000}"
        if number % 1000 == 0:
            folder.mkdir(parents=True)
        (folder / f"m{number}.{suffix}").write_text(source.format(number))
    for arguments in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "Add files")):
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


def measure_switch(root: Path, commit: str) -> None:
    """Measure what a switch to another commit costs whoever asks next, and what the index costs then."""
    here = git.run(root, "rev-parse", "--abbrev-ref", "HEAD").decode().strip()
    with tempfile.TemporaryDirectory() as folder:
        home, asked_home, plain_home = (Path(folder, name) for name in ("home", "asked", "plain"))
        print_cost("first index", run_command(root, home, "code", "index"))
        remember_functions(root, home)
        # As a session before the switch: the next brief looks at the commits since.
        run_command(root, home, "brief")
        stop_processes(home)
        shutil.copytree(home, asked_home)
        plain_root = Path(folder, "tree")
        plain_root.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=plain_root, check=True)
        with Hivemind.open(directory=plain_root, settings=Settings(home=plain_home, person="ada")) as mind:
            for number in range(MEMORIES):
                mind.remember(f"Rule {number}: what it returns is counted in steps of {number}")
        with switch(root, commit, here):
            for question in QUESTIONS:
                cost, plain_cost = (
                    run_command(root, asked_home, *question),
                    run_command(plain_root, plain_home, *question),
                )
                extra_ms = (cost.cpu_seconds - plain_cost.cpu_seconds) * 1000
                print(f"{' '.join(question[:2]):<32} {cost.cpu_seconds * 1000:.0f} ms of CPU, {extra_ms:+.0f} by code")
            # The questions started an index in the background, which would go on after the measurement.
            stop_processes(asked_home)
            print_cost("after the switch", run_command(root, home, "code", "index"))


@contextmanager
def switch(root: Path, commit: str, here: str) -> Iterator[None]:
    """Check out a commit in the block."""
    subprocess.run(["git", "checkout", "-q", commit], cwd=root, check=True)
    try:
        yield
    finally:
        subprocess.run(["git", "checkout", "-q", here], cwd=root, check=True)


def remember_functions(root: Path, home: Path) -> None:
    """Store memories that are linked to functions of the tree."""
    with Hivemind.open(directory=root, settings=Settings(home=home, person="ada")) as mind:
        index = mind.checkout.index
        draw, paths, count = random.Random(8), index.list_paths(), 0
        while count < MEMORIES:
            symbols = [symbol for symbol in index.read_symbols(draw.choice(paths)) if symbol.kind == "function"]
            if symbols:
                text = f"Rule {count}: what {symbols[0].name} returns is counted in steps of {count}"
                mind.remember(text, links=[f"{symbols[0].path}::{symbols[0].qualified}"])
                count += 1


def run_command(root: Path, home: Path, *arguments: str) -> Cost:
    """Run a command in a tree and measure it."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "hivemind", *arguments],
        cwd=root,
        env=os.environ | {"HIVEMIND_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    peak_kb = 0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        peak_kb = max(peak_kb, sum(read_pss_kb(pid) for pid in list_family(process.pid)))
        time.sleep(min(_SAMPLE_SECONDS, 0.01 + (time.perf_counter() - start) / 20))
    wall_seconds = time.perf_counter() - start
    own_cpu_seconds = read_cpu_seconds(process.pid)  # while it is a zombie, its times are still there
    assert process.stdout is not None
    output = process.stdout.read().strip()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # 1 means that something is stale.
    if process.returncode not in (0, 1):
        raise SystemExit(f"hivemind {' '.join(arguments)} failed with exit code {process.returncode}: {output}")
    return Cost(
        wall_seconds=wall_seconds, cpu_seconds=usage.ru_utime + usage.ru_stime, own_cpu_seconds=own_cpu_seconds,
        peak_mb=peak_kb / 1000, output=output,
    )  # fmt: skip


def print_cost(what: str, cost: Cost) -> None:
    print(
        f"{what:<18} {cost.cpu_seconds:.1f} s of CPU, {cost.own_cpu_seconds:.1f} of it in the process that writes;"
        f" {cost.wall_seconds:.1f} s, {cost.peak_mb:.0f} MB\n{'':<18} {cost.output}"
    )


def list_family(pid: int) -> list[int]:
    """The ids of a process and its children."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *map(int, children)]


def read_pss_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def read_cpu_seconds(pid: int) -> float:
    # The name in the second field may have spaces; the times are the 14th and 15th field.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stop_processes(home: Path) -> None:
    """End the background processes of a store."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_ours = f"HIVEMIND_HOME={home}\0".encode() in (folder / "environ").read_bytes()
        except OSError:  # of somebody else, or ended
            continue
        if is_ours:
            os.kill(int(folder.name), signal.SIGTERM)
