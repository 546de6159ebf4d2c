"""Save results: figures with the data, version, configuration, machine and command that produced them."""

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hivemind import __version__
from lab.evals.tasks.harness import describe_machine

FOLDER = Path(__file__).parents[1] / "evals" / "results"


def save(name: str, *, data: str, configuration: str, figures: Any, made_by: str = "") -> Path:
    """Write ``lab/evals/results/NAME.json``, from which ``python -m lab.evals.scorecard`` makes its page."""
    file = FOLDER / f"{name}.json"
    record = {
        "data": data,
        "version": f"{__version__} at {_commit()}",
        "configuration": configuration,
        "machine": describe_machine(),
        "command": made_by or command(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "figures": figures,
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return file


def _commit() -> str:
    process = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=FOLDER.parent, capture_output=True, text=True, check=True
    )
    return process.stdout.strip()


def command() -> str:
    """Return the command line, without paths of this machine."""
    module = getattr(sys.modules["__main__"].__spec__, "name", "").removesuffix(".__main__")
    arguments = [argument if not Path(argument).is_absolute() else "DATA" for argument in sys.argv[1:]]
    return shlex.join(["python", "-m", module, *arguments])
