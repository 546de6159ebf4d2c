"""Measure on a shared machine: CPU time, medians, and ratios to a baseline of the same run."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

BARE = [sys.executable, "-I", "-S", "-c", "pass"]
"""The cheapest Python process; the baseline for everything that starts one."""


def cpu_of(
    command: Sequence[str], *, runs: int = 11, stdin: bytes = b"", environ: dict[str, str] | None = None
) -> float:
    """Return the median CPU milliseconds of a process, after a first one that writes the bytecode."""
    return statistics.median([cpu_once(command, stdin, environ) for _ in range(runs + 1)][1:])


def cpu_once(command: Sequence[str], stdin: bytes, environ: dict[str, str] | None) -> float:
    """Return the CPU milliseconds of one process."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # With this variable every process would compile all that it imports, unlike an installation.
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | (environ or {}),
    )
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def read_cpu_of(process_id: int) -> float:
    """Return the CPU milliseconds that a running process and its ended children have used, to ten; on Linux."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) * 1000 / os.sysconf("SC_CLK_TCK")


def cpu_and_wall(work: Callable[[], object]) -> tuple[float, float]:
    """Return the CPU and wall milliseconds of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    ascending = sorted(values)
    return ascending[len(ascending) // 2], ascending[min(len(ascending) - 1, int(len(ascending) * 0.95))]
