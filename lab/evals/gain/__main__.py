"""Measure the gain of memory with a real model: ``python -m lab.evals.gain --endpoint URL --model NAME``.

``--prepare FILE`` writes what is told, ``--prepared FILE`` reads it, so that the runs can take place where Hivemind is
not installed; ``--report FILE`` prints the figures of earlier runs.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from lab.evals.gain import agent, analysis, models
from lab.evals.gain.tasks import load_tasks


def main() -> None:
    """Prepare, run or report, as the arguments ask."""
    arguments = _parse_arguments()
    if arguments.report:
        records = _read_records(arguments.report, arguments.kept_part)
        sys.stdout.write(analysis.format_report(_select_split(records, arguments.split)) + "\n")
        return
    prepared = _load_prepared(arguments)
    if arguments.prepare:
        arguments.prepare.write_text(json.dumps(prepared, ensure_ascii=False))
        return
    records = _run_in_parts(prepared, _open_model(arguments), arguments)
    sys.stdout.write(analysis.format_report(records) + "\n")


def _run_in_parts(
    prepared: list[dict[str, Any]], model: agent.Model, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run everything and save after each part, so that an interruption loses little."""
    name = arguments.model or arguments.weights.name
    records: list[dict[str, Any]] = []
    for begin in range(0, len(prepared), arguments.part):
        part = prepared[begin : begin + arguments.part]
        part_records = agent.run_all(part, arguments.samples, model, arguments.workers)
        if arguments.transcripts:
            with arguments.transcripts.open("a") as file:
                file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in part_records)
        records += [{key: value for key, value in record.items() if key != "messages"} for record in part_records]
        if arguments.save:
            arguments.save.write_text(json.dumps({"model": name, "samples": arguments.samples, "records": records}))
    return records


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.evals.gain", description=__doc__)
    parser.add_argument("--endpoint", help="an OpenAI-compatible server, for example http://localhost:8080/v1")
    parser.add_argument("--model", default="", help="the model's name at the endpoint")
    parser.add_argument("--weights", type=Path, help="a folder or a GGUF file for transformers on an accelerator")
    parser.add_argument("--batch", type=int, default=400_000, help="tokens at once on an accelerator")
    parser.add_argument("--part", type=int, default=200, help="tasks after which the records are saved")
    parser.add_argument("--shard", type=_parse_shard, default=(0, 1), help="for example 0/3, one third of all tasks")
    parser.add_argument("--samples", type=int, default=5, help="runs of each task in each condition")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8, help="commands, and requests to an endpoint, at once")
    parser.add_argument("--split", choices=("tuning", "held-out"), help="only these repositories")
    parser.add_argument("--forms", action="store_true", help="vary the wrapping instead of the conditions")
    parser.add_argument("--form", help="rewrite what was prepared in one of the forms of wrapping.py")
    parser.add_argument("--only", default="", help="conditions, separated by commas")
    parser.add_argument("--prepare", type=Path, help="write what is told to this file, and stop")
    parser.add_argument("--prepared", type=Path, help="read what is told from this file")
    parser.add_argument("--save", type=Path, help="write the records of all runs to this file")
    parser.add_argument("--transcripts", type=Path, help="add all conversations to this file, one a line")
    parser.add_argument("--report", type=Path, help="print the figures of a file that --save wrote, or of runs.json")
    parser.add_argument("--kept-part", default="held_out", help="which part of runs.json to report; its keys name them")
    arguments = parser.parse_args()
    if not (arguments.report or arguments.prepare or arguments.endpoint or arguments.weights):
        parser.error("name a model: --endpoint URL --model NAME, or --weights FILE")
    return arguments


def _load_prepared(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    if arguments.prepared:
        prepared = json.loads(arguments.prepared.read_text())
    else:
        # Only the preparation needs Hivemind itself.
        from lab.evals.gain import prepare, wrapping

        tasks = [task for task in load_tasks() if arguments.split in (None, task.split)]
        items = wrapping.prepare_forms(tasks) if arguments.forms else prepare.prepare(tasks)
        prepared = prepare.to_plain(items)
    names = set(filter(None, arguments.only.split(",")))
    prepared = _select_split(prepared, arguments.split)
    if arguments.form:
        from lab.evals.gain import wrapping

        prepared = wrapping.rewrite_prepared(prepared, arguments.form)
    number, count = arguments.shard
    return [item for item in prepared if not names or item["condition"] in names][number::count]


def _read_records(file: Path, part: str) -> list[dict[str, Any]]:
    """Read what --save wrote, or a part of the runs that are kept here, a row each."""
    content = json.loads(file.read_text())
    if "columns" not in content:
        return list(content["records"])
    if part not in content:
        sys.exit(f"{file} has no part {part!r}. Name one of: {', '.join(content.keys() - {'model', 'columns'})}.")
    return [dict(zip(content["columns"], row, strict=True)) for row in content[part]]


def _parse_shard(text: str) -> tuple[int, int]:
    number, count = map(int, text.split("/"))
    if not 0 <= number < count:
        raise argparse.ArgumentTypeError(f"{text} is no shard; the first of three is 0/3")
    return number, count


def _select_split(items: list[dict[str, Any]], split: str | None) -> list[dict[str, Any]]:
    splits = {task.id: task.split for task in load_tasks()}
    return [item for item in items if split in (None, splits[item["task"]])]


def _open_model(arguments: argparse.Namespace) -> agent.Model:
    if arguments.weights:
        return models.Transformers(arguments.weights, arguments.batch, arguments.seed)
    key = os.environ.get("OPENAI_API_KEY", "none")
    return models.Endpoint(arguments.endpoint, arguments.model, key, arguments.workers)


if __name__ == "__main__":
    main()
