"""Measure memories for coding agents with one yardstick.

python -m lab.yardstick systems                          what can be measured
python -m lab.yardstick install SYSTEM…                  install systems, each into a folder of its own
python -m lab.yardstick fetch FOLDER [--clones CLONES]   fetch public material that is not ours to copy
python -m lab.yardstick check SYSTEM                     check an adapter on a handful of cases
python -m lab.yardstick run SYSTEM… [--material FOLDER]  run all parts, or those of --parts, and save the figures
python -m lab.yardstick table                            print the table from the saved figures
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from lab.yardstick import material, table
from lab.yardstick.adapter import Adapter, Answer, Note, NotOffered, NotRun
from lab.yardstick.parts import PARTS, Figures, Run
from lab.yardstick.systems import SYSTEMS, load_adapter

RESULTS = Path(__file__).parent / "results"
PEERS = Path(os.environ.get("YARDSTICK_PEERS", Path.home() / ".cache" / "yardstick"))
QUICK_CASES = 2
NEED_NAMES = {"fetch": "a folder", **dict.fromkeys(("install", "check", "run"), "at least one system, or `all`")}
"""Commands that do nothing without a name, and of what."""


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="lab.yardstick", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("systems", "install", "fetch", "check", "run", "table"))
    parser.add_argument("names", nargs="*", default=[], metavar="SYSTEM", help="systems, `all`, or for fetch a folder")
    parser.add_argument("--material", type=Path, help="the folder that `fetch` wrote")
    parser.add_argument("--clones", type=Path, help="with fetch: a folder that has the clones already, as OWNER+NAME")
    parser.add_argument("--parts", default=",".join(PARTS), help="the parts to run, separated by commas")
    parser.add_argument("--part", default="test", choices=("test", "development"), help="which cases")
    parser.add_argument("--cases", type=parse_count, help="at most so many cases of each kind")
    parser.add_argument(
        "--sizes",
        type=parse_sizes,
        default=(1_000, 10_000),
        metavar="N,N",
        help="how many notes the stores of `cost` have",
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    names = list(SYSTEMS) if options.names == ["all"] else options.names
    if not names and options.command in NEED_NAMES:
        parser.error(f"{options.command} needs {NEED_NAMES[options.command]}")
    if unknown := set(options.parts.split(",")) - {*PARTS}:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    match options.command:
        case "systems":
            print("\n".join(SYSTEMS))
        case "fetch":
            folder = Path(names[0])
            folder.mkdir(parents=True, exist_ok=True)
            material.fetch(folder, options.clones)
        case "install":
            for name in names:
                install(load_adapter(name, PEERS))
        case "check":
            sys.exit(sum(check(load_adapter(name, PEERS), options.material) for name in names))
        case "run":
            for name in names:
                run_system(name, options)
        case "table":
            print(table.render(table.load(options.results)))


def parse_count(text: str) -> int:
    """Read a number of at least one."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read numbers with commas between them."""
    return tuple(map(parse_count, text.split(",")))


def install(adapter: Adapter) -> None:
    """Install a system, if what its installer needs is here."""
    missing = [program for program in adapter.needs if not shutil.which(program)]
    if missing:
        raise SystemExit(f"{adapter.name} needs {', '.join(missing)} on the path")
    adapter.peers.mkdir(parents=True, exist_ok=True)
    adapter.install()
    print(f"{adapter.name} {adapter.describe().version}")


def check(adapter: Adapter, fetched: Path | None = None) -> bool:
    """Try an adapter on a few cases of each part but cost, and return whether anything is wrong."""
    try:
        description = adapter.describe()
    except NotRun as missing:
        print(f"{adapter.name}: {missing}")
        return True
    print(f"{adapter.name} {description.version}, through {description.doors}")
    problems = [] if adapter.name else ["the class has no name"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        run = Run(adapter=adapter, folder=Path(directory), material=fetched, most_cases=QUICK_CASES)
        for part in ("a note", *PARTS):
            try:
                if part == "a note":
                    problems += try_note(run)
                elif part != "cost":
                    figures = import_module(f"lab.yardstick.parts.{part}").measure(run)
                    print(f"  {part}: {len(figures)} measured")
            except (NotOffered, NotRun) as absent:
                print(f"  {part}: {absent}")
            except Exception as error:  # noqa: BLE001 - what goes wrong in one part must not hide the others
                traceback.print_exc()
                problems.append(f"{part} fails: {type(error).__name__}: {error}")
    print("\n".join(f"  WRONG: {problem}" for problem in problems) or "  nothing is wrong")
    return bool(problems)


def try_note(run: Run) -> list[str]:
    """Store one note and ask for it; return what is wrong."""
    repo = run.make_repo("check")
    with run.open_store("check"):
        note_id = run.adapter.remember(Note(text="Deploys run from the branch main only, never on a Friday", repo=repo))
        problems = [] if isinstance(note_id, str) and note_id else [f"remember returns {note_id!r}, not an id"]
        try:
            answer = run.adapter.recall("Which branch do deploys run from?", repo)
        except (NotOffered, NotRun) as absent:
            print(f"  recall: {type(absent).__name__}, {absent}")
            return problems
    if not isinstance(answer, Answer):
        return [*problems, f"recall returns a {type(answer).__name__}, not an Answer"]
    if [hit.id for hit in answer.hits] != [note_id]:
        problems.append(f"recall does not return the note that was just stored, but {answer.hits}")
    return problems


def run_system(name: str, options: argparse.Namespace) -> None:
    """Run the parts of one system and save what was measured, part by part."""
    adapter = load_adapter(name, PEERS)
    file = options.results / f"{adapter.name}.json"
    record: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    record |= {"system": adapter.name, "machine": describe_machine(), "parts": record.get("parts", {})}
    try:
        record["description"] = asdict(adapter.describe())
    except NotRun as missing:
        record["description"] = {"version": "–", "doors": "", "choices": f"not run here: {missing}", "home": ""}
    for part in options.parts.split(","):
        begin = time.monotonic()
        figures = run_part(adapter, part, options)
        cases = options.part if options.cases is None else f"{options.part}, at most {options.cases} of each kind"
        date = f"{datetime.now(UTC):%Y-%m-%d %H:%M}"
        record["parts"][part] = {"date": date, "cases": cases, "commit": find_commit(), "figures": figures}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
        print(f"{adapter.name} {part}: {time.monotonic() - begin:.0f} s", flush=True)
        for measure, value in figures.items():
            print(f"    {measure}: {table.format_value(value)}", flush=True)


def run_part(adapter: Adapter, part: str, options: argparse.Namespace) -> Figures:
    """Run one part in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="yardstick-", ignore_cleanup_errors=True) as directory:
        run = Run(
            adapter=adapter,
            folder=Path(directory),
            material=options.material,
            part=options.part,
            most_cases=options.cases,
            sizes=options.sizes,
        )
        try:
            figures: Figures = import_module(f"lab.yardstick.parts.{part}").measure(run)
        except NotOffered as absent:
            figures = {"all": {"not offered": str(absent)}}
        except NotRun as missing:
            figures = {"all": {"not run": str(missing)}}
        except Exception:  # noqa: BLE001 - a system that fails must not lose what others did
            traceback.print_exc()
            figures = {"all": {"not run": f"failed: {traceback.format_exc().splitlines()[-1][:200]}"}}
    return figures


def describe_machine() -> str:
    """Return the machine in a line."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def find_commit() -> str:
    """Return the commit of the yardstick."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    main()
