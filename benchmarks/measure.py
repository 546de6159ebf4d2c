"""Ways to measure on a shared machine: CPU time, medians, and ratios to an anchor of the same run."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

BARE = [sys.executable, "-I", "-S", "-c", "pass"]
"""The least a Python process can cost; everything that starts one is compared with it."""


def cpu_of(
    command: Sequence[str], *, runs: int = 11, stdin: bytes = b"", environ: dict[str, str] | None = None
) -> float:
    """Median CPU milliseconds of a whole process, after a first one that compiles what was never run."""
    return statistics.median([cpu_once(command, stdin, environ) for _ in range(runs + 1)][1:])


def cpu_once(command: Sequence[str], stdin: bytes, environ: dict[str, str] | None) -> float:
    """CPU milliseconds of one process."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Where bytecode may not be kept, every process compiles all that it imports; an installation has it.
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | (environ or {}),
    )
    assert process.stdin is not None
    process.stdin.write(stdin)
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def cpu_and_wall(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall milliseconds of a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return (time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000


def quantiles(values: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
