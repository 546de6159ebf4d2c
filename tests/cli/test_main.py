"""The end of a process: quick, but with all of its output and its exit code."""

import subprocess
import sys

END = "import atexit, sys; from hivemind.__main__ import exit_at_once; "


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_output_exit_code_and_exit_functions_survive_a_quick_end() -> None:
    program = "atexit.register(print, 'closed', flush=True); print('x' * 100_000); exit_at_once(3); print('late')"

    process = run_python(END + program)

    assert process.stdout == "x" * 100_000 + "\nclosed\n"
    assert process.returncode == 3


def test_a_process_does_not_end_at_once_while_another_thread_works() -> None:
    program = "import threading; done = threading.Event(); worker = threading.Thread(target=done.wait); "

    process = run_python(
        END + program + "worker.start(); exit_at_once(3); done.set(); worker.join(); print('finished')"
    )

    assert process.stdout == "finished\n"
    assert process.returncode == 0
